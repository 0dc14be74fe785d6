/** Proves that a failure inside the extension host reaches the outside. */

import assert from 'node:assert/strict';

describe('a suite that fails', () => {
  it('fails on purpose', () => { assert.equal(1, 2); });
});

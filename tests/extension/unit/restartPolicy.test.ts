import assert from 'node:assert/strict';
import test from 'node:test';
import { LastLines, RestartPolicy, UNUSABLE_PYTHON } from '../../../extension/src/restartPolicy';

test('three restarts within three minutes, then no more', () => {
  let now = 0;
  const policy = new RestartPolicy(() => now);
  assert.deepEqual([1, 1, 1, 1].map((code) => policy.allows(code)), [true, true, true, false]);
  now += 180_001;
  assert.equal(policy.allows(1), true);
});

test('a restart by hand forgets the past', () => {
  const policy = new RestartPolicy(() => 0);
  for (let crash = 0; crash < 4; crash++) policy.allows(null);
  policy.reset();
  assert.equal(policy.allows(null), true);
});

test('a Python that cannot run the server is not tried again', () => {
  assert.equal(new RestartPolicy().allows(UNUSABLE_PYTHON), false);
});

test('the last lines survive however the text is cut', () => {
  const lines = new LastLines(2);
  for (const text of ['one\ntw', 'o\n\nthree\n', 'fo', 'ur']) lines.append(text);
  assert.deepEqual(lines.all(), ['two', 'three', 'four']);
});

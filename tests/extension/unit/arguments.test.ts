import assert from 'node:assert/strict';
import test from 'node:test';
import { splitArguments } from '../../../extension/src/arguments';

test('a line of arguments is split as a shell would', () => {
  const cases: [string, string[]][] = [
    ['', []],
    ['  --steps 4\t--name x ', ['--steps', '4', '--name', 'x']],
    ['--name "two words" --empty \'\'', ['--name', 'two words', '--empty', '']],
    ['a\\ b "say \\"hi\\"" \'back\\slash\'', ['a b', 'say "hi"', 'back\\slash']],
    ['--path="/a b"/c', ['--path=/a b/c']],
    ['"open end', ['open end']],
  ];
  for (const [line, words] of cases) assert.deepEqual(splitArguments(line), words, line);
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import test, { afterEach, beforeEach } from 'node:test';
import { UNUSABLE_PYTHON } from '../../../extension/src/restartPolicy';

const root = path.resolve(__dirname, '../../..');
const python = process.env.COMPILE_LENS_PYTHON ?? path.join(root, '.venv/bin/python');
let bundle: string;

beforeEach(() => {
  bundle = fs.mkdtempSync(path.join(os.tmpdir(), 'compile-lens-'));
  fs.copyFileSync(path.join(root, 'extension/scripts/start_server.py'), path.join(bundle, 'start_server.py'));
});
afterEach(() => { fs.rmSync(bundle, { recursive: true }); });

function write(file: string, text: string): void {
  fs.mkdirSync(path.dirname(path.join(bundle, file)), { recursive: true });
  fs.writeFileSync(path.join(bundle, file), text);
}

function start(env: NodeJS.ProcessEnv = {}): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(python, ['-I', path.join(bundle, 'start_server.py')], { encoding: 'utf8', env });
}

test('the server starts with the bundle in front of everything else, and its exit code is kept', () => {
  write('libs/libcst/__init__.py', '');
  write('libs/libcst/native.py', '');
  write('compile_lens/__init__.py', '');
  write('compile_lens/cli.py', 'import libcst\ndef main(argv):\n    print(argv, libcst.__file__)\n    return 7\n');
  const { status, stdout, stderr } = start();
  assert.equal(status, 7, stderr);
  assert.equal(stdout.trim(), `['server'] ${bundle}/libs/libcst/__init__.py`);
});

test('a Python for which there is no native module gets one sentence with its version and the remedy', () => {
  write('libs/libcst/__init__.py', '');
  const { status, stderr } = start();
  assert.equal(status, UNUSABLE_PYTHON);
  assert.match(stderr, /^Python 3\.\d+ \(.+\) cannot run Compile Lens: .*Select Interpreter"\.\n$/);
});

test('a Python that is too old gets a sentence and no traceback', () => {
  const program = `import sys; sys.version_info = (3, 8, 1); sys.argv = ['x']; import runpy; runpy.run_path(${JSON.stringify(path.join(bundle, 'start_server.py'))}, run_name='__main__')`;
  const { status, stderr } = spawnSync(python, ['-I', '-c', program], { encoding: 'utf8' });
  assert.equal(status, UNUSABLE_PYTHON);
  assert.match(stderr, /^Python 3\.8 \(.+\) cannot run Compile Lens: it is older than 3\.9\..*\n$/);
});

test('an error of the server itself is a traceback, not a wrong remedy', () => {
  write('libs/libcst/__init__.py', '');
  write('libs/libcst/native.py', '');
  write('compile_lens/__init__.py', '');
  write('compile_lens/cli.py', 'import nowhere\n');
  const { status, stderr } = start();
  assert.equal(status, 1);
  assert.match(stderr, /ModuleNotFoundError: No module named 'nowhere'\n$/);
});

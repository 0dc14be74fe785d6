import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import test, { afterEach, beforeEach } from 'node:test';
import { chooseInterpreter, describeSearch, searchInterpreters, type Surroundings } from '../../../extension/src/interpreter';

let root: string;
let workspace: string;

beforeEach(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'compile-lens-'));
  workspace = path.join(root, 'workspace');
  fs.mkdirSync(workspace);
});
afterEach(() => { fs.rmSync(root, { recursive: true }); });

/** Makes an executable file below the temporary folder. */
function python(...parts: string[]): string {
  const file = path.join(root, ...parts);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, '', { mode: 0o755 });
  return file;
}

function search(changes: Partial<Surroundings>): { chosen: ReturnType<typeof chooseInterpreter>; log: string[]; looked: string[] } {
  const looked: string[] = [];
  const candidates = searchInterpreters({
    platform: 'linux', env: {}, home: root, folders: [workspace], trusted: true, setting: [], msPython: undefined, defaultInterpreterPath: undefined,
    isFile: (file) => {
      looked.push(file);
      return fs.statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
    },
    realDirectory: (directory) => (fs.existsSync(directory) ? fs.realpathSync(directory) : directory),
    ...changes,
  });
  return { chosen: chooseInterpreter(candidates), log: describeSearch(candidates), looked };
}

test('the places are asked in order, each before the ones below it', () => {
  const files = {
    setting: python('setting'), msPython: python('ms'), configured: python('configured'), dotVenv: python('workspace/.venv/bin/python'),
    venv: python('workspace/venv/bin/python'), active: python('active/bin/python'), onPath: python('bin/python3'),
  };
  const all: Partial<Surroundings> = {
    setting: [files.setting], msPython: files.msPython, defaultInterpreterPath: files.configured,
    env: { VIRTUAL_ENV: path.join(root, 'active'), PATH: path.join(root, 'bin') },
  };
  const expectFrom = (source: string, file: string): void => {
    assert.deepEqual(search(all).chosen, { interpreter: { source, argv: [file] } });
  };
  expectFrom('compileLens.interpreter', files.setting);
  all.setting = [];
  expectFrom('ms-python', files.msPython);
  all.msPython = undefined;
  expectFrom('python.defaultInterpreterPath', files.configured);
  all.defaultInterpreterPath = 'python'; // the default of that setting names nothing
  expectFrom('workspace .venv', files.dotVenv);
  fs.rmSync(path.join(workspace, '.venv'), { recursive: true });
  expectFrom('workspace venv', files.venv);
  fs.rmSync(path.join(workspace, 'venv'), { recursive: true });
  expectFrom('VIRTUAL_ENV', files.active);
  all.env = { PATH: path.join(root, 'bin') };
  expectFrom('PATH', files.onPath);
  all.env = {};
  assert.deepEqual(search(all).chosen, { missing: [] });
});

test('variables, the home folder and relative paths are understood', () => {
  const file = python('workspace/env/bin/python');
  for (const word of ['${workspaceFolder}/env/bin/python', '~/workspace/env/bin/python', '${userHome}/workspace/env/bin/python', '${env:HERE}/env/bin/python', 'env/bin/python']) {
    const { chosen } = search({ setting: [word], env: { HERE: workspace } });
    assert.deepEqual(chosen, { interpreter: { source: 'compileLens.interpreter', argv: [file] } }, word);
  }
});

test('a bare name is looked for on PATH, and its words stay', () => {
  const uv = python('bin/uv');
  const { chosen } = search({ setting: ['uv', 'run', 'python'], env: { PATH: path.join(root, 'bin') } });
  assert.deepEqual(chosen, { interpreter: { source: 'compileLens.interpreter', argv: [uv, 'run', 'python'] } });
});

test('a setting that names a missing Python is an error, not a reason to take another', () => {
  python('workspace/.venv/bin/python');
  assert.deepEqual(search({ setting: ['/nowhere/python'] }).chosen, { missing: ['/nowhere/python'] });
});

test('relative entries of PATH are never used', () => {
  const folder = path.dirname(python('workspace/bin/python3'));
  assert.deepEqual(search({ env: { PATH: path.relative(process.cwd(), folder) } }).chosen, { missing: [] });
});

test('an untrusted workspace: no place that points inside is used, and no file inside is looked at', () => {
  const inside = python('workspace/.venv/bin/python');
  const outside = python('bin/python3');
  const { chosen, log, looked } = search({
    trusted: false, setting: ['${workspaceFolder}/.venv/bin/python'], msPython: inside, defaultInterpreterPath: inside,
    env: { VIRTUAL_ENV: path.join(workspace, '.venv'), PATH: `${path.join(workspace, '.venv/bin')}:${path.join(root, 'bin')}` },
  });
  assert.deepEqual(chosen, { interpreter: { source: 'PATH', argv: [outside] } });
  assert.deepEqual(looked.filter((file) => file.startsWith(workspace)), []);
  assert.equal(log.filter((line) => line.includes('not trusted')).length, 9, log.join('\n'));
});

test('an untrusted workspace: a link inside that leads outside is inside', () => {
  const outside = python('safe/python');
  fs.mkdirSync(path.join(workspace, '.venv/bin'), { recursive: true });
  fs.symlinkSync(outside, path.join(workspace, '.venv/bin/python'));
  assert.deepEqual(search({ trusted: false }).chosen, { missing: [] });
});

test('an untrusted workspace: a link outside that leads inside is inside, by whichever name the folder was opened', () => {
  python('workspace/.venv/bin/python');
  const link = path.join(root, 'link');
  fs.symlinkSync(workspace, link);
  assert.deepEqual(search({ trusted: false, msPython: path.join(link, '.venv/bin/python') }).chosen, { missing: [] });
  assert.deepEqual(search({ trusted: false, folders: [link], msPython: path.join(workspace, '.venv/bin/python') }).chosen, { missing: [] });
});

test('an untrusted workspace: every folder of it counts', () => {
  const second = python('second/.venv/bin/python');
  assert.deepEqual(search({ trusted: false, folders: [workspace, path.join(root, 'second')], msPython: second }).chosen, { missing: [] });
});

test('an untrusted workspace: a launcher could start what lies inside', () => {
  python('bin/uv');
  const { chosen, log } = search({ trusted: false, setting: ['uv', 'run', 'python'], env: { PATH: path.join(root, 'bin') } });
  assert.deepEqual(chosen, { missing: [] });
  assert.match(log[0] ?? '', /several words/);
});

test('a folder beside the workspace whose name begins alike is outside', () => {
  const file = python('workspace-tools/python');
  assert.deepEqual(search({ trusted: false, setting: [file] }).chosen, { interpreter: { source: 'compileLens.interpreter', argv: [file] } });
});

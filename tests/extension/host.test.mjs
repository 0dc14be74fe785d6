// Runs the suites of tests/extension/host in VS Code's extension host, on the packaged extension, as VS Code's own
// integration tests for the web do: two functions on the page take the log and the exit code.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import test, { before } from 'node:test';
import { PYTHON, ROOT, VSIX, startEditor } from '../e2e/vscode.mjs';

const FIXTURES = path.join(import.meta.dirname, 'fixtures');
const STUB = path.join(ROOT, 'dist/test/python-extension.vsix');
const sample = fs.readFileSync(path.join(FIXTURES, 'sample.py'), 'utf8');
const dropped = fs.readFileSync(path.join(FIXTURES, 'dropped.py'), 'utf8');
const bare = fs.readFileSync(path.join(FIXTURES, 'bare.py'), 'utf8');

async function runSuite(suite, { prepare, ...options }) {
  const results = path.join(ROOT, 'dist/test', `${suite}.json`);
  fs.rmSync(results, { force: true });
  const editor = await startEditor({
    ...options,
    args: ['--vscode-option', 'enable-smoke-test-driver'], // without it a built VS Code ignores extensionTestsPath
    env: { COMPILE_LENS_SUITE: suite, COMPILE_LENS_RESULTS: results, COMPILE_LENS_PYTHON: PYTHON },
  });
  try {
    prepare?.(editor);
    const { page, base, folder } = editor;
    const log = [];
    let finish;
    const exit = new Promise((resolve) => { finish = resolve; });
    await page.exposeFunction('codeAutomationLog', (type, words) => log.push(`${type}: ${words.join(' ')}`));
    await page.exposeFunction('codeAutomationExit', (code) => finish(code));
    const remote = (file) => `vscode-remote://${new URL(base).host}${file}`;
    const payload = JSON.stringify([
      ['extensionDevelopmentPath', remote(path.join(import.meta.dirname, 'host'))],
      ['extensionTestsPath', remote(path.join(ROOT, 'dist/test/host/index.js'))],
    ]);
    await page.goto(`${base}/?${new URLSearchParams({ folder, payload })}`, { waitUntil: 'domcontentloaded' });
    const timer = setTimeout(() => finish('no exit code within five minutes'), 300_000);
    const code = await exit;
    clearTimeout(timer);
    assert.ok(fs.existsSync(results), `no results; exit ${code}\n${log.slice(-20).join('\n')}`);
    const { stats, passes, failures } = JSON.parse(fs.readFileSync(results, 'utf8'));
    for (const { fullTitle, duration } of passes) console.log(`  ok ${fullTitle} (${duration ?? 0} ms)`);
    for (const { fullTitle, err } of failures) console.log(`  FAILED ${fullTitle}: ${err.message}`);
    return { code, stats };
  } finally {
    await editor.close();
  }
}

/** All tests of a suite ran and passed; a suite of which half was never reached does not count as passed. */
function assertPassed({ code, stats }) {
  assert.equal(code, 0);
  assert.equal(stats.failures, 0);
  assert.equal(stats.pending, 0);
  assert.equal(stats.passes, stats.tests);
  assert.ok(stats.tests > 0);
}

before(() => {
  const vsce = path.join(ROOT, 'node_modules/.bin/vsce');
  const made = spawnSync(vsce, ['package', '--no-dependencies', '--allow-missing-repository', '--skip-license', '--out', STUB], {
    cwd: path.join(FIXTURES, 'python-extension'), encoding: 'utf8',
  });
  assert.equal(made.status, 0, made.stdout + made.stderr);
});

test('a trusted workspace', { timeout: 400_000 }, async () => {
  assertPassed(await runSuite('trusted', { vsix: [VSIX, STUB], files: { 'sample.py': sample, 'other.py': sample, 'bare.py': bare, 'dropped.py': dropped }, settings: { 'compileLens.interpreter': [PYTHON] } }));
});

test('an untrusted workspace', { timeout: 400_000 }, async () => {
  assertPassed(await runSuite('untrusted', {
    trust: true,
    files: {
      'sample.py': sample,
      '.venv/bin/python': '#!/bin/sh\ntouch "$(dirname "$0")/../../trap-was-started"\nexit 1\n',
      '.vscode/settings.json': JSON.stringify({
        'compileLens.interpreter': ['${workspaceFolder}/.venv/bin/python'],
        'python.defaultInterpreterPath': '${workspaceFolder}/.venv/bin/python',
      }),
    },
    prepare: ({ folder }) => fs.chmodSync(path.join(folder, '.venv/bin/python'), 0o755),
  }));
});

test('a failure inside the extension host is a failure outside', { timeout: 400_000 }, async () => {
  const { code, stats } = await runSuite('failing', { files: { 'sample.py': sample } });
  assert.equal(code, 1);
  assert.equal(stats.failures, 1);
});

// What is left when something dies: the editor, or the server.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import test from 'node:test';
import { PYTHON, ROOT, openFile, signal, startEditor, until } from './vscode.mjs';
import { codeLens, screenshot, speedUp, toast } from './window.mjs';

const slow = fs.readFileSync(path.join(ROOT, 'tests/extension/fixtures/slow.py'), 'utf8');
const settings = { 'compileLens.interpreter': [PYTHON] };
const isServer = ({ command }) => command.includes('start_server.py');
const isProbe = ({ command }) => command.includes('compile_probe');
const isPython = ({ command }) => /^\S*python/.test(command);

test('an editor that is killed while a probe runs leaves no server, supervisor or worker', { timeout: 300_000 }, async () => {
  const editor = await startEditor({ files: { 'slow.py': slow }, settings });
  try {
    await openFile(editor, 'slow.py');
    await codeLens(editor.page, /probe/i).click();
    await speedUp(editor.page).filter({ hasText: 'probing' }).waitFor();
    const python = await until('server and probe at work', () => {
      const all = editor.processes();
      return all.some(isServer) && all.some(isProbe) && all.filter(isPython);
    });
    await screenshot(editor.page, 'probing');
    signal(editor.processes().filter((one) => !isPython(one)), 'SIGKILL'); // the editor alone; its children must notice
    await until(`the end of ${python.length} processes`, () => editor.processes().length === 0, 20_000)
      .catch((error) => { throw new Error(`${error.message}\n${editor.processes().map(({ pid, command }) => `${pid} ${command}`).join('\n')}`); });
  } finally {
    await editor.close();
  }
});

test('a server that keeps dying is explained once, with three ways on, and restarts when asked', { timeout: 300_000 }, async () => {
  const editor = await startEditor({ files: { 'slow.py': slow }, settings });
  const server = () => editor.processes().filter(isServer);
  try {
    await openFile(editor, 'slow.py');
    await codeLens(editor.page, /probe/i).waitFor();
    for (let crash = 1; crash <= 4; crash++) {
      const [{ pid }] = await until('a server', () => server().length > 0 && server());
      signal([{ pid }], 'SIGKILL');
      await until('its end', () => !server().some((one) => one.pid === pid));
    }
    const message = toast(editor.page, 'stopped several times');
    await message.waitFor();
    await screenshot(editor.page, 'crashed');
    for (const name of ['Show Logs', 'Select Interpreter', 'Restart']) assert.equal(await message.getByRole('button', { name, exact: true }).count(), 1, name);
    assert.deepEqual(server(), []);
    await message.getByRole('button', { name: 'Restart', exact: true }).click();
    await codeLens(editor.page, /probe/i).waitFor();
    assert.equal(server().length, 1);
  } finally {
    await editor.close();
  }
});

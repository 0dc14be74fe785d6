// Restricted Mode: a click on "Probe" asks for trust, and after it was granted the same click measures.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import test, { after, before } from 'node:test';
import { PYTHON, openFile, plain, startEditor, until } from './vscode.mjs';
import { TRACED, codeLens, example, finished, received, screenshot, speedUp, toast } from './window.mjs';

let editor;
let page;

before(async () => {
  editor = await startEditor({ trust: true, files: { 'clean.py': example('clean.py') }, settings: TRACED });
  page = editor.page;
  fs.symlinkSync(path.resolve(PYTHON, '../..'), path.join(editor.folder, '.venv'));
  await openFile(editor, 'clean.py');
}, { timeout: 180_000 });
after(() => editor?.close());

test('without trust a click on the code lens runs nothing and offers to manage trust', async () => {
  await codeLens(page, /probe/i).click();
  await toast(page, 'not trusted').waitFor();
  await screenshot(page, 'untrusted');
  assert.equal(await speedUp(page).count(), 0);
  assert.deepEqual(received(editor, 'compileLens/probe').filter(({ state }) => state === 'running'), []);
});

test('trust, once granted, reaches the running server: the same click measures with the workspace\'s own Python', async () => {
  const server = () => editor.processes().filter(({ command }) => command.includes('start_server.py')).map(({ pid }) => pid);
  const before = server();
  await toast(page, 'not trusted').getByRole('button', { name: 'Manage Workspace Trust' }).click();
  await page.getByRole('button', { name: 'Trust', exact: true }).first().click();
  await until('no Restricted Mode', async () => (await page.locator('.statusbar-item', { hasText: 'Restricted Mode' }).count()) === 0);
  await page.locator('.tab', { hasText: 'clean.py' }).click();
  await codeLens(page, /probe/i).click();
  const state = await finished(editor, 'GatedNorm');
  assert.equal(state.status, 'ok', state.message);
  await until('the server\'s text', async () => plain(await speedUp(page).innerText()).trim() === state.text);
  assert.deepEqual(server(), before);
  await screenshot(page, 'trusted');
});

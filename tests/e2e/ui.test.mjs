// The first minutes of a user: see a graph break, read why, fix it, probe, read the speed-up.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import test, { after, before } from 'node:test';
import { PYTHON, ROOT, openFile, plain, startEditor, until } from './vscode.mjs';
import { TRACED, codeLens, example, finished, lineWith, screenshot, speedUp, underlinedLines } from './window.mjs';

const text = example('breaks.py');
const breaking = text.split('\n').find((line) => line.includes('print(')).trim();
let editor;
let page;

before(async () => {
  editor = await startEditor({
    files: { 'breaks.py': text, 'clean.py': example('clean.py') },
    settings: { ...TRACED, 'compileLens.interpreter': [PYTHON] },
  });
  page = editor.page;
  await openFile(editor, 'breaks.py');
}, { timeout: 180_000 });
after(() => editor?.close());

test('the line that breaks the graph is underlined, the line above is not', async () => {
  await page.locator('.view-overlays .cdr[class*="squiggly-"]').first().waitFor();
  const lines = await until('the breaking line underlined', async () => {
    const all = await underlinedLines(page);
    return all.includes(breaking) && all;
  });
  assert.equal(lines.some((line) => line.startsWith('def ')), false, lines.join('\n'));
  await screenshot(page, 'findings');
});

test('the hover says why', async () => {
  await lineWith(page, breaking).locator('span', { hasText: 'print' }).last().hover();
  const hover = page.locator('.monaco-hover:visible').filter({ hasText: /graph break|breaks the graph|splits? the graph/i });
  await hover.waitFor();
  assert.match(plain(await hover.innerText()), /print/);
  await screenshot(page, 'hover');
  await page.keyboard.press('Escape');
});

test('a probe, started from the code lens, ends in the status bar with its own device and number', { timeout: 400_000 }, async () => {
  await openBeside('clean.py');
  await codeLens(page, /probe/i).click();
  await speedUp(page).filter({ hasText: 'probing' }).waitFor();
  const state = await finished(editor, 'GatedNorm');
  assert.equal(state.status, 'ok', state.message);
  await until('the server\'s text', async () => plain(await speedUp(page).innerText()).trim() === state.text);
  assertSays(state.text, state.result);
  await codeLens(page, /CPU: eager/).waitFor(); // it follows a little later
  await screenshot(page, 'probed');
  if (process.env.README_SHOT) await readmePicture(state.text);
});

test('after an edit the number is marked as old', async () => {
  await lineWith(page, 'bounded = torch.tanh').click();
  await page.keyboard.press('End');
  await page.keyboard.type(' ');
  await until('an old number', async () => (await speedUp(page).locator('.codicon-history').count()) === 1);
});

test('a fix, chosen by keyboard, is in the saved file', async () => {
  await lineWith(page, breaking).locator('span', { hasText: 'print' }).last().click();
  await page.keyboard.press('Control+.');
  await page.locator('.action-widget .monaco-list-row.focused').waitFor();
  await screenshot(page, 'fixes');
  await page.waitForTimeout(300); // the menu takes Enter only once it stands still
  await page.keyboard.press('Enter');
  await until('the line mended', async () => !(await underlinedLines(page)).includes(breaking));
  await page.keyboard.press('Control+S');
  const file = path.join(editor.folder, 'breaks.py');
  const saved = await until('a saved file', () => fs.readFileSync(file, 'utf8') !== text && fs.readFileSync(file, 'utf8'));
  assert.match(saved, /is_compiling/);
  await screenshot(page, 'fixed');
});

async function openBeside(name) {
  await page.keyboard.press('Control+P');
  await page.locator('.quick-input-widget input.input').fill(name);
  await page.locator('.quick-input-list .monaco-list-row.focused', { hasText: name }).waitFor();
  await page.keyboard.press('Control+Enter');
  await page.locator('.editor-group-container.active .tab', { hasText: name }).waitFor();
}

/** The text names the device of the result, and its number (or, where that is too uncertain, its interval) is one that was measured. */
function assertSays(shown, { device, measurements }) {
  assert.ok(shown.toUpperCase().startsWith(device.toUpperCase().split(':')[0]), `${shown} is about ${device}`);
  const said = /(\d+\.\d+(?:-\d+\.\d+)?)x/.exec(shown)?.[1];
  const decided = measurements.filter(({ verdict }) => verdict === 'faster' || verdict === 'slower');
  const numbers = decided.flatMap(({ ratio, low, high }) => [ratio.toFixed(2), `${low.toFixed(1)}-${high.toFixed(1)}`]);
  if (said) assert.ok(numbers.includes(said), `${shown} is none of ${numbers.join()}`);
  else assert.deepEqual(numbers, [], shown);
}

/** The picture of the README: finding, code lens and measured speed-up in one window. */
async function readmePicture(shown) {
  assert.match(shown, /^CPU \d+\.\d+x$/, 'the machine is too noisy for the picture: run the test again');
  await page.keyboard.press('Control+B'); // the side bar
  await page.locator('.part.sidebar').waitFor({ state: 'hidden' });
  await lineWith(page, breaking).locator('span', { hasText: 'print' }).last().hover();
  const hover = page.locator('.monaco-hover:visible').first();
  await until('the hover fully drawn', async () => (await hover.count()) === 1 && hover.evaluate((node) => globalThis.getComputedStyle(node).opacity === '1' && node.getAnimations({ subtree: true }).length === 0));
  fs.mkdirSync(path.join(ROOT, 'docs/images'), { recursive: true });
  await page.screenshot({ path: path.join(ROOT, 'docs/images/editor.png') });
  await page.mouse.move(5, 5);
  await hover.waitFor({ state: 'detached' });
}

// What a user sees and does in the window, and what the server said meanwhile.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { ROOT, plain, until } from './vscode.mjs';

const SCREENSHOTS = path.join(import.meta.dirname, 'screenshots');

/** Settings under which the log holds every message of the server, for tests that compare the window with it. */
export const TRACED = { 'compileLens.trace.server': 'verbose' };

export async function screenshot(page, name) {
  fs.mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: path.join(SCREENSHOTS, `${name}.png`) });
}

/** The drawn line that holds this text. */
export const lineWith = (page, text) => page.locator('.view-lines .view-line', { hasText: text }).first();

/** The texts of the drawn lines that are underlined, taken at one moment: marks come and go. */
export async function underlinedLines(page) {
  const lines = await page.evaluate(() => {
    const boxes = (selector) => [...globalThis.document.querySelectorAll(selector)].map((node) => ({ box: node.getBoundingClientRect(), text: node.textContent }));
    const marks = boxes('.view-overlays .cdr[class*="squiggly-"]');
    const covers = (line, mark) => mark.y >= line.y - 1 && mark.bottom <= line.bottom + 1 && mark.x >= line.x - 1 && mark.x <= line.right;
    return boxes('.view-lines .view-line').filter((line) => marks.some((mark) => covers(line.box, mark.box))).map(({ text }) => text);
  });
  return lines.map((line) => plain(line).trim());
}

/** The status bar item with the measured speed-up. */
export const speedUp = (page) => page.locator('[id="compile-lens.compile-lens.compileLens.speedUp"]');

/** A code lens of the active editor. */
export const codeLens = (page, text) => page.locator('.editor-group-container.active .codelens-decoration a', { hasText: text }).first();

export const toast = (page, text) => page.locator('.notification-toast', { hasText: text }).first();

/** The payloads of a message that the server sent, oldest first, out of the traced log. */
export function received(editor, message) {
  const logs = fs.readdirSync(path.join(editor.root, 'data/logs'), { recursive: true }).filter((name) => name.endsWith('Compile Lens.log'));
  const text = logs.map((name) => fs.readFileSync(path.join(editor.root, 'data/logs', name), 'utf8')).join('\n');
  const lines = text.split('\n');
  const found = [];
  lines.forEach((line, start) => {
    if (!line.includes(`Received notification '${message}'`)) return;
    const end = lines.findIndex((other, index) => index > start && other.endsWith('}') && !/^\s/.test(other));
    const block = lines.slice(start + 1, end + 1).join('\n');
    found.push(JSON.parse(block.slice(block.indexOf('{'))));
  });
  return found;
}

/** The probe state with which the probe of a target ended; a cold compilation takes its time. */
export function finished(editor, target) {
  const last = () => received(editor, 'compileLens/probe').filter((state) => state.state === 'done' && state.target === target).at(-1);
  return until(`the end of the probe of ${target}`, last, 300_000);
}

/** Examples as a newcomer finds them, to be written into a throw-away workspace. */
export function example(name) {
  return fs.readFileSync(path.join(ROOT, 'examples', name), 'utf8');
}

// A throw-away VS Code (code-server) and a Chromium page on it; nothing outside its own folder is written.
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { chromium } from 'playwright-core';

export const ROOT = path.resolve(import.meta.dirname, '../..');
export const PYTHON = process.env.COMPILE_LENS_PYTHON ?? path.join(ROOT, '.venv/bin/python');
const TARGET = process.arch === 'arm64' ? 'linux-arm64' : 'linux-x64';
export const VSIX = process.env.COMPILE_LENS_VSIX ?? path.join(ROOT, `compile-lens-${TARGET}.vsix`);
const MODULES = path.join(import.meta.dirname, 'node_modules');
const NODE = path.join(MODULES, `node-${TARGET}`, 'bin/node'); // code-server wants its own version of node
const ENTRY = path.join(MODULES, 'code-server/out/node/entry.js');
const MARKER = 'COMPILE_LENS_E2E';
const NOWHERE = 'http://127.0.0.1:9/none';

/** Quiet, still and offline: whatever could cover the editor or change by itself is off. */
const SETTINGS = {
  'security.workspace.trust.enabled': false,
  'security.workspace.trust.startupPrompt': 'never',
  'workbench.editor.useModal': 'off',
  'workbench.startupEditor': 'none',
  'workbench.welcomePage.walkthroughs.openOnInstall': false,
  'workbench.tips.enabled': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.reduceMotion': 'on',
  'workbench.enableExperiments': false,
  'chat.disableAIFeatures': true,
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'extensions.autoUpdate': false,
  'extensions.autoCheckUpdates': false,
  'extensions.ignoreRecommendations': true,
  'git.enabled': false,
  'files.autoSave': 'off',
  'editor.minimap.enabled': false,
  'editor.hover.delay': 100,
  'editor.accessibilitySupport': 'off',
  'window.commandCenter': false,
  'window.menuBarVisibility': 'classic',
};

/**
 * Starts the server part of VS Code on a free port, with the extensions installed and the files in its workspace.
 * `trust: true` turns Workspace Trust on, so that the folder opens in Restricted Mode.
 */
export async function startServer({ vsix = [VSIX], files = {}, settings = {}, env = {}, args = [], trust = false, port = 0, workspace } = {}) {
  for (const file of [NODE, ENTRY, ...vsix]) {
    if (!fs.existsSync(file)) throw new Error(`${file} is missing: run tests/e2e/setup.sh and "npm run package"`);
  }
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'compile-lens-e2e-'));
  const at = (...parts) => path.join(root, ...parts);
  const folder = workspace ?? at('workspace');
  for (const directory of [at('workspace'), at('data/User'), at('data/Machine'), at('extensions'), at('home'), at('tmp')]) fs.mkdirSync(directory, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), text);
  }
  const userSettings = { ...SETTINGS, 'security.workspace.trust.enabled': trust, ...settings };
  fs.writeFileSync(at('data/User/settings.json'), JSON.stringify(userSettings, null, 2));
  fs.writeFileSync(at('data/Machine/settings.json'), JSON.stringify(settings, null, 2)); // where a remote VS Code reads what belongs to a machine
  fs.writeFileSync(at('config.yaml'), 'auth: none\n');

  const marker = randomUUID();
  const environment = { ...ownEnvironment(root), [MARKER]: marker, ...env };
  const common = [ENTRY, '--config', at('config.yaml'), '--user-data-dir', at('data'), '--extensions-dir', at('extensions')];
  for (const file of vsix) {
    const installed = spawnSync(NODE, [...common, '--install-extension', file, '--force'], { env: environment, encoding: 'utf8' });
    if (installed.status !== 0) throw new Error(`${file} could not be installed: ${installed.stdout}${installed.stderr}`);
  }
  const log = fs.openSync(at('server.log'), 'w');
  const quiet = ['--disable-telemetry', '--disable-update-check', '--disable-getting-started-override', '--disable-proxy'];
  const process_ = spawn(NODE, [...common, '--bind-addr', `127.0.0.1:${port}`, '--auth', 'none', ...quiet, ...(trust ? [] : ['--disable-workspace-trust']), ...args], {
    env: environment, stdio: ['ignore', log, log], detached: true,
  });
  const output = () => fs.readFileSync(at('server.log'), 'utf8');
  const base = await until('the editor listens', () => {
    if (process_.exitCode !== null) throw new Error(`the editor ended: ${output()}`);
    return /HTTP server listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(output())?.[1];
  });

  /** Processes of this editor, the extension's included, wherever they put themselves. */
  const processes = () => processesWith(`${MARKER}=${marker}`);
  const stop = async () => {
    signal(processes(), 'SIGTERM');
    await until('the editor ends', () => processes().length === 0, 5_000).catch(() => signal(processes(), 'SIGKILL'));
    if (!process.env.KEEP) fs.rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.once(name, () => void stop().finally(() => process.exit(1))); // the editor is no part of our process group
  }
  return { root, folder, base, processes, stop };
}

/** A server and a page; `close` ends both. */
export async function startEditor(options) {
  const server = await startServer(options);
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'],
  });
  const context = await browser.newContext({ reducedMotion: 'reduce', viewport: { width: 1280, height: 800 }, permissions: ['clipboard-read', 'clipboard-write'] });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const close = async () => {
    await browser.close();
    await server.stop();
  };
  return { ...server, browser, page, close };
}

/** Opens the folder with a file in an editor, by address: no typing that could race with the drawing of the window. */
export async function openFile(editor, file) {
  const host = new URL(editor.base).host;
  const payload = JSON.stringify([['openFile', `vscode-remote://${host}${path.join(editor.folder, file)}`]]);
  await editor.page.goto(`${editor.base}/?${new URLSearchParams({ folder: editor.folder, payload })}`, { waitUntil: 'domcontentloaded' });
  await editor.page.locator('.monaco-workbench .part.statusbar').waitFor();
}

/** Runs a command by its title in the palette. */
export async function runCommand(page, title) {
  await page.keyboard.press('F1');
  await page.locator('.quick-input-widget input.input').fill(`>${title}`);
  await page.locator('.quick-input-list .monaco-list-row').filter({ hasText: title }).first().waitFor();
  await page.keyboard.press('Enter');
}

/** The text as its author wrote it: VS Code draws spaces as no-break spaces. */
export const plain = (text) => text.replace(/\u00a0/g, ' ').replace(/[\u200b\u200e\u00b7]/g, '');

/** Asks until the answer is truthy, and says what was waited for when it never is. */
export async function until(what, ask, timeout = 60_000) {
  for (const end = Date.now() + timeout; Date.now() < end;) {
    const answer = await ask();
    if (answer) return answer;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`waited ${timeout / 1000} s in vain: ${what}`);
}

export function signal(processes, name) {
  for (const { pid } of processes) {
    try {
      process.kill(pid, name);
    } catch (error) {
      if (error.code !== 'ESRCH') throw error; // it ended by itself in between
    }
  }
}

function processesWith(variable) {
  const found = [];
  for (const pid of fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (!fs.readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(variable)) continue;
      found.push({ pid: Number(pid), command: fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() });
    } catch {
      // The process ended while we looked, or belongs to another user.
    }
  }
  return found;
}

/** The user's environment without what would lead to another editor, another Python or outside this folder. */
function ownEnvironment(root) {
  const home = path.join(root, 'home');
  const kept = Object.entries(process.env).filter(([name]) => !/^(VSCODE_|ELECTRON_|PASSWORD$|PORT$|VIRTUAL_ENV$|PYTHON)/.test(name));
  return {
    ...Object.fromEntries(kept),
    HOME: home,
    XDG_CONFIG_HOME: path.join(home, '.config'),
    XDG_DATA_HOME: path.join(home, '.local/share'),
    XDG_CACHE_HOME: path.join(home, '.cache'),
    TMPDIR: path.join(root, 'tmp'),
    EXTENSIONS_GALLERY: JSON.stringify({ serviceUrl: NOWHERE, itemUrl: NOWHERE, resourceUrlTemplate: NOWHERE }),
  };
}

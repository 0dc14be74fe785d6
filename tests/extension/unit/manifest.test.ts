import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import test from 'node:test';
import * as protocol from '../../../extension/src/protocol';

const root = path.resolve(__dirname, '../../..'); // from dist/test/unit
const read = (file: string): string => fs.readFileSync(path.join(root, file), 'utf8');
const json = (file: string): Record<string, string> => JSON.parse(read(file)) as Record<string, string>;

interface Manifest {
  version: string;
  capabilities: { untrustedWorkspaces: { restrictedConfigurations: string[] } };
  contributes: { commands: { command: string; enablement?: string }[]; configuration: { properties: Record<string, { scope?: string }> } };
}

const manifest = JSON.parse(read('package.json')) as Manifest;
const settings = Object.keys(manifest.contributes.configuration.properties);
const page = read('docs/protocol.md').split('\n## 2.')[0] ?? '';
const section = (number: string): string => page.split(`### ${number} `)[1]?.split('\n### ')[0] ?? '';

function sources(): string {
  const folder = path.join(root, 'extension/src');
  return fs.readdirSync(folder).map((name) => fs.readFileSync(path.join(folder, name), 'utf8')).join('\n');
}

test('English and Chinese texts have the same keys, and the manifest uses each of them', () => {
  const english = Object.keys(json('package.nls.json')).sort();
  assert.deepEqual(Object.keys(json('package.nls.zh-cn.json')).sort(), english);
  const used = new Set([...read('package.json').matchAll(/"%([^%"]+)%"/g)].map((match) => match[1]));
  assert.deepEqual([...used].sort(), english);
});

test('every text of the running extension has a translation with the same places, and none is left over', () => {
  const used = [...sources().matchAll(/(?:l10n\.t|translate)\(\s*'((?:[^'\\]|\\.)*)'/g)].map((match) => match[1] ?? '');
  const translated = json('l10n/bundle.l10n.zh-cn.json');
  assert.deepEqual(Object.keys(translated).sort(), [...new Set(used)].sort());
  const places = (text: string): string[] => [...text.matchAll(/\{\d\}/g)].map(([place]) => place).sort();
  for (const [english, chinese] of Object.entries(translated)) assert.deepEqual(places(chinese), places(english), english);
});

test('every setting of the protocol page can be set', () => {
  const listed = [...section('1.4').matchAll(/`([a-z]+(?:\.?[a-zA-Z]+)*)`/g)].map((match) => match[1] ?? '');
  const values = new Set(['compileLens', 'workspace', 'regions', 'candidates', 'all', 'error', 'warning', 'information', 'hint', 'off']);
  const names = listed.filter((name) => !values.has(name)).map((name) => `compileLens.${name}`);
  assert.ok(names.includes('compileLens.enable') && names.includes('compileLens.probe.budgetSeconds'), names.join());
  assert.deepEqual(names.filter((name) => !settings.includes(name)), []);
});

test('our messages and commands are those of the protocol page', () => {
  const named = (text: string): string[] => [...text.matchAll(/^\| `(compileLens[./]\w+)`/gm)].map((match) => match[1] ?? '').sort();
  assert.deepEqual(named(section('1.2')), [protocol.INTERPRETER, protocol.OBSERVATION, protocol.PROBE, protocol.STATUS, protocol.TRUST].sort());
  assert.deepEqual(named(section('1.3')), Object.values(protocol.SERVER_COMMANDS).sort());
});

test('an untrusted workspace can neither name a program nor steer a probe', () => {
  const { restrictedConfigurations } = manifest.capabilities.untrustedWorkspaces;
  const dangerous = settings.filter((name) => name === 'compileLens.interpreter' || name.startsWith('compileLens.probe.'));
  assert.deepEqual([...restrictedConfigurations].sort(), dangerous.sort());
});

test('every command of the palette is registered by the extension or by the server, never by both', () => {
  const registered = [...sources().matchAll(/command\('(\w+)'/g)].map((match) => `compileLens.${match[1] ?? ''}`);
  const byServer: string[] = Object.values(protocol.SERVER_COMMANDS);
  assert.deepEqual(registered.filter((name) => byServer.includes(name)), []);
  const offered = manifest.contributes.commands.map(({ command }) => command);
  assert.deepEqual(offered.filter((name) => !registered.includes(name) && !byServer.includes(name)), []);
  assert.deepEqual(registered.filter((name) => !offered.includes(name)), []);
});

test('commands that run user code, or reach the server, are off where they cannot work', () => {
  const enablement = (name: string): string => manifest.contributes.commands.find(({ command }) => command === name)?.enablement ?? '';
  assert.match(enablement('compileLens.probeAtCursor'), /isWorkspaceTrusted/);
  assert.match(enablement('compileLens.observeFile'), /isWorkspaceTrusted/);
  for (const name of ['compileLens.observeFile', 'compileLens.importTraceFolder', 'compileLens.probeAtCursor', 'compileLens.cancelProbe', 'compileLens.clearProbeResults']) {
    assert.match(enablement(name), /compileLens\.serverRunning/, name);
  }
});

test('the extension and the Python package have one version', () => {
  assert.equal(/^version = "(.+)"$/m.exec(read('pyproject.toml'))?.[1], manifest.version);
});

test('the lock files name no registry', () => {
  for (const file of ['package-lock.json', 'tests/e2e/package-lock.json']) assert.equal(read(file).includes('"resolved"'), false, file);
});

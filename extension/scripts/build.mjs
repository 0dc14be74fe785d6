// Bundles the extension to dist/extension.js; with --tests also the tests, which node and the extension host run as they are.
import * as esbuild from 'esbuild';
import * as fs from 'node:fs';
import * as path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');
const common = { absWorkingDir: root, bundle: true, platform: 'node', format: 'cjs', target: 'node20', sourcemap: true, logLevel: 'warning' };

await esbuild.build({
  ...common,
  entryPoints: ['extension/src/extension.ts'],
  outfile: 'dist/extension.js',
  external: ['vscode'],
  minify: process.argv.includes('--production'),
  sourcemap: !process.argv.includes('--production'),
});

if (process.argv.includes('--tests')) {
  fs.rmSync(path.join(root, 'dist/test'), { recursive: true, force: true });
  const unit = fs.readdirSync(path.join(root, 'tests/extension/unit')).filter((name) => name.endsWith('.test.ts'));
  await esbuild.build({ ...common, entryPoints: unit.map((name) => `tests/extension/unit/${name}`), outdir: 'dist/test/unit' });
  const host = fs.readdirSync(path.join(root, 'tests/extension/host')).filter((name) => name.endsWith('.ts'));
  await esbuild.build({
    ...common,
    entryPoints: host.map((name) => `tests/extension/host/${name}`),
    outdir: 'dist/test/host',
    external: ['vscode', 'mocha'],
  });
}

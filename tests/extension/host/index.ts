/** Mocha inside the extension host; any VS Code that knows extensionTestsPath can run it. */

import * as path from 'node:path';
import Mocha from 'mocha';

/** Runs the suite that COMPILE_LENS_SUITE names and writes mocha's JSON to COMPILE_LENS_RESULTS. */
export function run(): Promise<void> {
  const { COMPILE_LENS_SUITE: suite, COMPILE_LENS_RESULTS: output } = process.env;
  if (!suite || !output) throw new Error('COMPILE_LENS_SUITE and COMPILE_LENS_RESULTS must be set');
  const mocha = new Mocha({ timeout: 90_000, color: false, bail: true, reporter: 'json', reporterOptions: { output } });
  mocha.addFile(path.join(__dirname, `${suite}.js`));
  return new Promise((resolve, reject) => {
    mocha.run((failures) => {
      if (failures > 0) reject(new Error(`${failures} test(s) failed`));
      else resolve();
    });
  });
}

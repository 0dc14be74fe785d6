// Serves VS Code with the packaged extension and the examples open, until Ctrl-C: node extension/scripts/serve.mjs [PORT]
import * as path from 'node:path';
import { PYTHON, ROOT, startServer } from '../../tests/e2e/vscode.mjs';

const server = await startServer({
  port: Number(process.argv[2] ?? 8080),
  workspace: path.join(ROOT, 'examples'),
  settings: { 'compileLens.interpreter': [PYTHON] },
});
console.log(`VS Code with Compile Lens: ${server.base}/?folder=${encodeURIComponent(server.folder)}\nEnd it with Ctrl-C.`);

/** Everything a bug report needs, as text to paste. */

import * as os from 'node:os';
import * as vscode from 'vscode';
import { describeSearch } from './interpreter';
import type { Server } from './server';

/** Versions, the search for Python with its reasons, settings, and the server's last words; no source code. */
export function debugInformation(server: Server, extensionVersion: string): string {
  const python = server.python;
  return [
    `Compile Lens ${extensionVersion}, server ${server.name ?? server.state.kind}`,
    `${vscode.env.appName} ${vscode.version}, node ${process.version}, ${os.platform()} ${os.release()} ${os.arch()}`,
    `Python: ${'interpreter' in python ? `${python.interpreter.argv.join(' ')} (${python.interpreter.source})` : `none ${python.missing.join(' ')}`}`,
    ...describeSearch(server.candidates).map((line) => `  ${line}`),
    `Workspace trusted: ${String(vscode.workspace.isTrusted)}`,
    `Settings: ${JSON.stringify(vscode.workspace.getConfiguration('compileLens'))}`,
    'Last lines of the server on standard error:',
    ...server.lastErrors.map((line) => `  ${line}`),
  ].join('\n');
}

/** What the suites in the extension host share. */

import assert from 'node:assert/strict';
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Api } from '../../../extension/src/extension';

/** The installed extension, active. */
export async function activeExtension(): Promise<Api> {
  const extension = vscode.extensions.getExtension<Api>('compile-lens.compile-lens');
  assert.ok(extension, 'the extension is installed');
  await extension.activate();
  return extension.exports;
}

export function workspacePath(...parts: string[]): string {
  const folder = vscode.workspace.workspaceFolders?.[0];
  assert.ok(folder, 'a folder is open');
  return path.join(folder.uri.fsPath, ...parts);
}

export async function openDocument(name: string): Promise<vscode.TextDocument> {
  const document = await vscode.workspace.openTextDocument(workspacePath(name));
  await vscode.window.showTextDocument(document);
  return document;
}

/** Our own diagnostics of a document, once there are some. */
export async function findings(document: vscode.TextDocument): Promise<vscode.Diagnostic[]> {
  return until('findings', () => {
    const own = ownFindings(document);
    return own.length > 0 && own;
  });
}

export function ownFindings(document: vscode.TextDocument): vscode.Diagnostic[] {
  return vscode.languages.getDiagnostics(document.uri).filter(({ source }) => /compile.?lens/i.test(source ?? ''));
}

/** Asks until the answer is truthy, and says what was waited for when it never is. */
export async function until<T>(what: string, ask: () => T | false | undefined | null | Promise<T | false | undefined | null>): Promise<T> {
  for (const end = Date.now() + 60_000; Date.now() < end;) {
    const answer = await ask();
    if (answer) return answer;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`waited a minute in vain: ${what}`);
}

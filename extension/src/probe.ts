/** Probing from the editor: refused without trust, explained when it ends without a number. */

import * as vscode from 'vscode';
import type { Middleware } from 'vscode-languageclient/node';
import { explainObservation, type RunArguments } from './observe';
import { SERVER_COMMANDS, type ObservationState, type ProbeState } from './protocol';

/** Stands before every command that goes to the server, whether a code lens, a link or the palette sent it. */
export function middleware(runArguments: RunArguments): Middleware {
  const running: string[] = [SERVER_COMMANDS.probe, SERVER_COMMANDS.observe, SERVER_COMMANDS.importTrace];
  return {
    executeCommand: async (command, args: unknown[], next) => {
      if (!running.includes(command)) return next(command, args) as unknown;
      if (!vscode.workspace.isTrusted) {
        offerTrust();
        return undefined;
      }
      if (command === SERVER_COMMANDS.probe) {
        const state = (await next(command, args)) as ProbeState | undefined;
        if (state) explain(state);
        return state;
      }
      const request = command === SERVER_COMMANDS.observe ? await runArguments.complete((args[0] ?? {})) : args[0];
      if (request === undefined) return undefined;
      const state = (await next(command, [request])) as ObservationState | undefined;
      if (state) explainObservation(state);
      return state;
    },
  };
}

/** Probes the target that encloses the cursor. */
export async function probeAtCursor(): Promise<ProbeState | undefined> {
  const editor = vscode.window.activeTextEditor;
  if (!editor) return undefined;
  const { line, character } = editor.selection.active;
  return vscode.commands.executeCommand(SERVER_COMMANDS.probe, { uri: editor.document.uri.toString(), position: { line, character } });
}

/** A probe runs the user's code, which is theirs to allow. */
function offerTrust(): void {
  const manage = vscode.l10n.t('Manage Workspace Trust');
  const text = vscode.l10n.t('This runs the code of the workspace, and the workspace is not trusted.');
  void vscode.window.showWarningMessage(text, manage).then((choice) => {
    if (choice === manage) void vscode.commands.executeCommand('workbench.trust.manage');
  });
}

/** Says why there is no number; where inputs are missing, a draft of them is one click away. */
function explain({ status, message, target, uri }: ProbeState): void {
  if (message === null || status === 'cancelled') return;
  const logs = vscode.l10n.t('Show Logs');
  const draft = vscode.l10n.t('Write a Draft');
  const choices = status === 'needs-inputs' ? [draft, logs] : [logs];
  void vscode.window.showWarningMessage(`${target}: ${message}`, ...choices).then((choice) => {
    if (choice === logs) void vscode.commands.executeCommand('compileLens.showLogs');
    if (choice === draft) void vscode.commands.executeCommand(SERVER_COMMANDS.draft, { uri, target });
  });
}

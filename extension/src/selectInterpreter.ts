/** Lets the user choose the Python of the server and the probes. */

import * as vscode from 'vscode';
import type { Server } from './server';

type Choice = vscode.QuickPickItem & { setting: string[] | undefined | 'browse' };

/** Offers what was found, a file dialog, and the way back to the automatic choice. */
export async function selectInterpreter(server: Server): Promise<void> {
  const chosen = await vscode.window.showQuickPick(choices(server), { title: vscode.l10n.t('Select the Python for Compile Lens') });
  if (!chosen) return;
  const setting = chosen.setting === 'browse' ? await browse() : chosen.setting;
  if (setting === undefined && chosen.setting === 'browse') return;
  const target = vscode.workspace.isTrusted && vscode.workspace.workspaceFolders
    ? vscode.ConfigurationTarget.Workspace
    : vscode.ConfigurationTarget.Global; // a workspace's own value is ignored while it is not trusted
  await vscode.workspace.getConfiguration('compileLens').update('interpreter', setting, target);
}

function choices(server: Server): Choice[] {
  const seen = new Set<string>();
  const found = server.candidates.filter(({ argv, refused }) => {
    const command = argv.join(' ');
    const fresh = refused === undefined && !seen.has(command);
    seen.add(command);
    return fresh;
  });
  return [
    ...found.map(({ argv, source }): Choice => ({ label: argv.join(' '), description: source, setting: argv })),
    { label: `$(folder-opened) ${vscode.l10n.t('Browse…')}`, setting: 'browse' },
    { label: `$(clear-all) ${vscode.l10n.t('Choose automatically')}`, setting: undefined },
  ];
}

async function browse(): Promise<string[] | undefined> {
  const files = await vscode.window.showOpenDialog({ canSelectMany: false, title: vscode.l10n.t('Select the Python for Compile Lens') });
  return files?.[0] && [files[0].fsPath];
}

/** Wires the server, the two status items and the commands together. */

import * as vscode from 'vscode';
import { debugInformation } from './debugInformation';
import { onDidChangeSurroundings } from './environment';
import { importTrace, observeConfiguration, observeFile, RunArguments } from './observe';
import { middleware, probeAtCursor } from './probe';
import { selectInterpreter } from './selectInterpreter';
import { Server, type ServerState } from './server';
import { HealthItem, SpeedUpItem } from './status';

/** What other extensions, and our tests, may ask. */
export interface Api {
  readonly server: Pick<Server, 'state' | 'pid' | 'python' | 'candidates' | 'observation'>;
  readonly health: string;
  readonly speedUp: string | undefined;
}

let server: Server | undefined;

export function activate(context: vscode.ExtensionContext): Api {
  const log = vscode.window.createOutputChannel('Compile Lens', { log: true });
  const running = new Server(context.asAbsolutePath('bundled/start_server.py'), log, middleware(new RunArguments(context.workspaceState)));
  server = running;
  const health = new HealthItem(running);
  const speedUp = new SpeedUpItem(running);
  const command = (name: string, action: (uri?: vscode.Uri) => unknown): vscode.Disposable => vscode.commands.registerCommand(`compileLens.${name}`, action);
  context.subscriptions.push(
    log, running, health, speedUp,
    running.onDidChangeState((state) => { explainFailure(state); }),
    onDidChangeSurroundings(() => void running.surroundingsChanged()),
    command('restart', () => running.restart()),
    command('showLogs', () => { log.show(); }),
    command('selectInterpreter', () => selectInterpreter(running)),
    command('probeAtCursor', probeAtCursor),
    command('observeFile', observeFile),
    command('observeConfiguration', observeConfiguration),
    command('importTraceFolder', importTrace),
    command('copyDebugInformation', async () => {
      await vscode.env.clipboard.writeText(debugInformation(running, String((context.extension.packageJSON as { version: unknown }).version)));
      void vscode.window.showInformationMessage(vscode.l10n.t('The debug information of Compile Lens is on the clipboard.'));
    }),
  );
  void running.restart();
  return {
    server: running,
    get health() { return health.text; },
    get speedUp() { return speedUp.line?.text; },
  };
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}

/** One message, with the three things that help. */
function explainFailure(state: ServerState): void {
  if (state.kind !== 'failed') return;
  const actions = new Map([
    [vscode.l10n.t('Show Logs'), 'compileLens.showLogs'],
    [vscode.l10n.t('Select Interpreter'), 'compileLens.selectInterpreter'],
    [vscode.l10n.t('Restart'), 'compileLens.restart'],
  ]);
  void vscode.window.showErrorMessage(state.reason, ...actions.keys()).then((choice) => {
    const action = choice === undefined ? undefined : actions.get(choice);
    if (action) void vscode.commands.executeCommand(action);
  });
}

/** Observing a run from the editor: which command, with the arguments of last time; and what to say when it ends. */

import * as path from 'node:path';
import * as vscode from 'vscode';
import { splitArguments } from './arguments';
import { SERVER_COMMANDS, type ObservationState } from './protocol';

/** Arguments of `compileLens.observe`, as docs/protocol.md defines them. */
export interface ObserveRequest {
  uri?: string;
  arguments?: string[];
  command?: string[];
  cwd?: string;
  env?: Record<string, string>;
}

const OUTPUT_NAME = 'output.txt';
const REPORT_NAME = 'report.html';

/** Asks for the arguments of a file's run and keeps them for the next time. */
export class RunArguments {
  constructor(private readonly memory: vscode.Memento) {}

  /** The request with its arguments; undefined when the user thinks better of it. */
  async complete(request: ObserveRequest): Promise<ObserveRequest | undefined> {
    if (request.command !== undefined || request.arguments !== undefined || request.uri === undefined) return request;
    const key = `compileLens.arguments:${request.uri}`;
    const line = await vscode.window.showInputBox({
      title: vscode.l10n.t('Observe {0}', path.basename(vscode.Uri.parse(request.uri).fsPath)),
      prompt: vscode.l10n.t('Arguments of the program. It runs as it is; torch.compile is watched in it.'),
      value: this.memory.get<string>(key, ''),
      ignoreFocusOut: true,
    });
    if (line === undefined) return undefined;
    await this.memory.update(key, line);
    return { ...request, arguments: splitArguments(line) };
  }
}

/** Observes the active file; it is saved first, since what runs is what is on disk. */
export async function observeFile(uri?: vscode.Uri): Promise<ObservationState | undefined> {
  const document = uri ? await vscode.workspace.openTextDocument(uri) : vscode.window.activeTextEditor?.document;
  if (!document || !(await document.save())) return undefined;
  return vscode.commands.executeCommand(SERVER_COMMANDS.observe, { uri: document.uri.toString() });
}

/** Lets the user pick a folder of traces, unless one was given. */
export async function importTrace(folder?: vscode.Uri): Promise<ObservationState | undefined> {
  const chosen = folder ?? (await vscode.window.showOpenDialog({
    canSelectFiles: true,
    canSelectFolders: true,
    openLabel: vscode.l10n.t('Import Trace'),
    title: vscode.l10n.t('A folder that TORCH_TRACE wrote, or one log'),
  }))?.[0];
  return chosen && vscode.commands.executeCommand(SERVER_COMMANDS.importTrace, { path: chosen.fsPath });
}

/** Runs a debug configuration of launch.json under observation, as the debugger would start it. */
export async function observeConfiguration(): Promise<ObservationState | undefined> {
  const found = (vscode.workspace.workspaceFolders ?? []).flatMap((folder) => configurations(folder).map((configuration) => ({ folder, configuration })));
  if (found.length === 0) {
    void vscode.window.showInformationMessage(vscode.l10n.t('No launch.json of this workspace starts a Python program.'));
    return undefined;
  }
  const choice = await vscode.window.showQuickPick(
    found.map(({ folder, configuration }) => ({ label: configuration.name, description: folder.name, folder, configuration })),
    { title: vscode.l10n.t('Observe a debug configuration') },
  );
  if (!choice) return undefined;
  const request = requestOf(choice.configuration, choice.folder.uri.fsPath);
  return request && vscode.commands.executeCommand(SERVER_COMMANDS.observe, request);
}

/** What is said at the end: nothing where the marks on the lines say it all. */
export function explainObservation({ label, folder, status, message, text }: ObservationState): void {
  if (status === 'cancelled') return;
  if (message === null) {
    const report = vscode.l10n.t('Open Report');
    void vscode.window.showInformationMessage(`${label}: ${text}`, report).then((choice) => {
      if (choice === report) void vscode.env.openExternal(vscode.Uri.file(path.join(folder, REPORT_NAME)));
    });
    return;
  }
  const output = vscode.l10n.t('Show Output');
  const buttons = folder === '' ? [] : [output];
  void vscode.window.showWarningMessage(`${label}: ${message}`, ...buttons).then((choice) => {
    if (choice === output) void vscode.window.showTextDocument(vscode.Uri.file(path.join(folder, OUTPUT_NAME)));
  });
}

interface PythonConfiguration extends vscode.DebugConfiguration {
  program?: string;
  module?: string;
  python?: string;
  args?: string[] | string;
  cwd?: string;
  env?: Record<string, string>;
}

function configurations(folder: vscode.WorkspaceFolder): PythonConfiguration[] {
  const all = vscode.workspace.getConfiguration('launch', folder.uri).get<PythonConfiguration[]>('configurations', []);
  return all.filter(({ type, request, program, module }) => ['python', 'debugpy'].includes(type) && request === 'launch' && (program ?? module) !== undefined);
}

function requestOf(configuration: PythonConfiguration, root: string): ObserveRequest | undefined {
  const file = vscode.window.activeTextEditor?.document.uri.fsPath ?? '';
  const known = new Map([
    ['workspaceFolder', root], ['file', file], ['fileDirname', path.dirname(file)], ['fileBasename', path.basename(file)], ['userHome', process.env.HOME ?? ''],
  ]);
  const filled = (text: string): string => text.replace(/\$\{(\w+)\}/g, (whole, name: string) => known.get(name) ?? whole)
    .replace(/\$\{env:(\w+)\}/g, (_, name: string) => process.env[name] ?? '');
  const { program, module, python, args = [], cwd, env = {} } = configuration;
  const words = (typeof args === 'string' ? splitArguments(args) : args).map(filled);
  const request = { cwd: filled(cwd ?? root), env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, filled(value)])) };
  if (module === undefined && python === undefined && program !== undefined) {
    return { uri: vscode.Uri.file(filled(program)).toString(), arguments: words, ...request };
  }
  const target = module === undefined ? [filled(program ?? '')] : ['-m', filled(module)];
  return { command: [python === undefined ? '${python}' : filled(python), ...target, ...words], ...request };
}

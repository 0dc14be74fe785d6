/** What VS Code, its settings and the Python extension say about interpreters. */

import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Surroundings } from './interpreter';

const MS_PYTHON = 'ms-python.python';
const MS_PYTHON_TIMEOUT_MS = 10_000;

/** The part of ms-python's public API that we use. */
interface PythonApi {
  environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { path: string };
    resolveEnvironment(environment: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
    onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

/** Gathers what the search for an interpreter needs; only the answer of ms-python takes time, and at most ten seconds. */
export async function readSurroundings(log: vscode.LogOutputChannel): Promise<Surroundings> {
  const folders = vscode.workspace.workspaceFolders?.filter(({ uri }) => uri.scheme === 'file') ?? [];
  const [folder] = folders;
  const trusted = vscode.workspace.isTrusted;
  return {
    platform: process.platform,
    env: process.env,
    home: os.homedir(),
    folders: folders.map(({ uri }) => uri.fsPath),
    trusted,
    setting: vscode.workspace.getConfiguration('compileLens', folder).get<string[]>('interpreter', []),
    msPython: await msPythonInterpreter(folder, log),
    defaultInterpreterPath: defaultInterpreterPath(folder, trusted),
    isFile,
    realDirectory,
  };
}

/** Calls back whenever the answer of the search may have changed. */
export function onDidChangeSurroundings(changed: () => void): vscode.Disposable {
  const subscriptions: vscode.Disposable[] = [
    vscode.workspace.onDidGrantWorkspaceTrust(changed),
    vscode.workspace.onDidChangeWorkspaceFolders(changed),
    vscode.extensions.onDidChange(changed),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('compileLens.interpreter') || event.affectsConfiguration('python.defaultInterpreterPath')) changed();
    }),
  ];
  void pythonApi().then((api) => {
    if (api) subscriptions.push(api.environments.onDidChangeActiveEnvironmentPath(changed));
  }, () => undefined);
  return new vscode.Disposable(() => { subscriptions.forEach((subscription) => { void subscription.dispose(); }); });
}

/** Nobody restricts this setting where ms-python is not installed, so an untrusted workspace's value is left out here. */
function defaultInterpreterPath(folder: vscode.WorkspaceFolder | undefined, trusted: boolean): string | undefined {
  const configuration = vscode.workspace.getConfiguration('python', folder);
  return trusted
    ? configuration.get<string>('defaultInterpreterPath')
    : configuration.inspect<string>('defaultInterpreterPath')?.globalValue;
}

async function msPythonInterpreter(folder: vscode.WorkspaceFolder | undefined, log: vscode.LogOutputChannel): Promise<string | undefined> {
  const ask = async (): Promise<string | undefined> => {
    const api = await pythonApi();
    const environment = await api?.environments.resolveEnvironment(api.environments.getActiveEnvironmentPath(folder?.uri));
    return environment?.executable.uri?.fsPath;
  };
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => { reject(new Error('no answer within ten seconds')); }, MS_PYTHON_TIMEOUT_MS);
  });
  try {
    return await Promise.race([ask(), late]);
  } catch (error) {
    log.warn(`The Python extension was asked for its interpreter: ${String(error)}`);
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

async function pythonApi(): Promise<PythonApi | undefined> {
  const extension = vscode.extensions.getExtension<PythonApi>(MS_PYTHON);
  await extension?.activate();
  return extension?.exports;
}

function isFile(file: string): boolean {
  try {
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

function realDirectory(directory: string): string {
  try {
    return fs.realpathSync(directory);
  } catch {
    return path.resolve(directory);
  }
}

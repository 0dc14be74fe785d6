/** The extension in a trusted workspace, with the server and the probe that users get. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as vscode from 'vscode';
import type { Api } from '../../../extension/src/extension';
import type { ProbeState } from '../../../extension/src/protocol';
import { activeExtension, findings, openDocument, ownFindings, until, workspacePath } from './window';

let api: Api;
let sample: vscode.TextDocument;

before(async () => {
  sample = await openDocument('sample.py');
  api = await activeExtension();
  await until('the server runs', () => api.server.state.kind === 'running');
});

describe('findings', () => {
  it('mark the lines that break the graph', async () => {
    const lines = (await findings(sample)).map(({ range }) => sample.lineAt(range.start.line).text);
    assert.ok(lines.some((line) => line.includes('print(')), lines.join('\n'));
  });

  it('stand with a code and a source', async () => {
    const [finding] = await findings(sample);
    assert.ok(finding?.code !== undefined && finding.code !== '');
  });

  it('can be fixed: the edit of the preferred quick fix takes the finding away', async () => {
    const before = await findings(sample);
    const offered = await Promise.all(before.map(async ({ range }) => quickFixes(sample, range)));
    const edit = offered.flat().find(({ isPreferred, edit }) => isPreferred && edit)?.edit;
    assert.ok(edit, 'a preferred quick fix with an edit');
    assert.ok(await vscode.workspace.applyEdit(edit));
    await until('one finding less', () => ownFindings(sample).length < before.length);
  });
});

describe('a result of torch.compile that is dropped', () => {
  /** Frames that Dynamo compiles when the file is run as the user would. */
  function compiledFrames(): string {
    return execFileSync(process.env.COMPILE_LENS_PYTHON ?? '', [workspacePath('dropped.py')], { encoding: 'utf8' }).trim();
  }

  it('is a warning at the call; one click and the file compiles a frame, as a probe confirms', async function () {
    this.timeout(300_000);
    const dropped = await openDocument('dropped.py');
    const [finding] = await findings(dropped);
    assert.ok(finding);
    assert.equal(dropped.getText(finding.range), 'torch.compile(net)');
    assert.equal(finding.severity, vscode.DiagnosticSeverity.Warning);
    assert.match(finding.message, /dropped.*eager/);
    assert.equal(compiledFrames(), 'frames 0');

    const fix = (await quickFixes(dropped, finding.range)).find(({ isPreferred }) => isPreferred);
    assert.ok(fix?.edit, 'a preferred quick fix with an edit');
    assert.ok(await vscode.workspace.applyEdit(fix.edit));
    await until('no finding', () => ownFindings(dropped).length === 0);
    assert.ok(dropped.getText().includes('\nnet.compile()\n'));
    assert.ok(await dropped.save());
    assert.equal(compiledFrames(), 'frames 1');

    const state = await vscode.commands.executeCommand<ProbeState>('compileLens.probe', { uri: dropped.uri.toString(), target: 'Net' });
    assert.equal(state.status, 'ok', state.message ?? '');
    assert.ok(Number(state.result?.graphs) > 0 || (Array.isArray(state.result?.graphs) && state.result.graphs.length > 0), 'a compiled frame');
    await vscode.commands.executeCommand('compileLens.clearProbeResults');
    await vscode.window.showTextDocument(sample);
  });
});

describe('probe', () => {
  it('has a code lens on every target', async () => {
    const lenses = await until('code lenses', async () => {
      const all = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', sample.uri, 50);
      return all.length > 0 && all;
    });
    const commands = lenses.map(({ command }) => command);
    const probe = commands.find((command) => command?.command === 'compileLens.probe');
    assert.deepEqual(probe?.arguments, [{ uri: sample.uri.toString(), target: 'step' }]);
  });

  it('of the target at the cursor ends in the status bar with the server\'s own words', async function () {
    this.timeout(300_000);
    assert.ok(await sample.save());
    const editor = await vscode.window.showTextDocument(sample);
    editor.selection = new vscode.Selection(5, 4, 5, 4);
    const state = await vscode.commands.executeCommand<ProbeState>('compileLens.probeAtCursor');
    assert.equal(state.status, 'ok', state.message ?? '');
    assert.equal(state.target, 'step');
    assert.ok(state.result, 'the result of the probe');
    assert.equal(api.speedUp, `$(zap) ${state.text}`);
    assert.match(state.text, /^CPU /);
  });

  it('is stale after an edit, and gone after clearing', async () => {
    const edit = new vscode.WorkspaceEdit();
    edit.insert(sample.uri, new vscode.Position(5, 0), '    x = x + 0\n');
    await vscode.workspace.applyEdit(edit);
    await until('a stale result', () => api.speedUp?.startsWith('$(history) CPU '));
    await vscode.commands.executeCommand('compileLens.clearProbeResults');
    await until('no result', () => api.speedUp === undefined);
  });
});

describe('a draft of example inputs', () => {
  it('is written on demand, with the cursor in its first value', async () => {
    const bare = await openDocument('bare.py');
    const before = bare.getText();
    const target = bare.lineAt(4).range;
    const action = await until('the action', async () => {
      const offered = await vscode.commands.executeCommand<vscode.CodeAction[]>('vscode.executeCodeActionProvider', bare.uri, target, vscode.CodeActionKind.RefactorRewrite.value, 20);
      return offered.find(({ command }) => command?.command === 'compileLens.draftInputs')?.command;
    });
    assert.equal(bare.getText(), before, 'nothing is written without a click');
    assert.equal(await vscode.commands.executeCommand<boolean>(action.command, ...(action.arguments as unknown[])), true);
    const text = bare.getText();
    assert.ok(text.startsWith(before));
    assert.match(text, /def probe_inputs\(\):\n.*\n {4}x = torch\.randn\(8, 16\)\n {4}ids = torch\.randint\(0, 16, \(8, 16\)\)\n {4}return \(x, ids\), \{\}\n$/);
    await until('the selection', () => {
      const editor = vscode.window.activeTextEditor;
      return editor?.document === bare && bare.getText(editor.selection) === '8, 16';
    });
    await vscode.commands.executeCommand('workbench.action.files.revert');
    await vscode.window.showTextDocument(sample);
  });
});

describe('interpreter', () => {
  const real = process.env.COMPILE_LENS_PYTHON ?? '';
  const source = (): string | undefined => ('interpreter' in api.server.python ? api.server.python.interpreter.source : undefined);

  /** Another path of the same Python, as an environment has it. */
  function environment(folder: string): string {
    fs.mkdirSync(`${folder}/bin`, { recursive: true });
    fs.symlinkSync(real, `${folder}/bin/python`);
    return `${folder}/bin/python`;
  }

  async function setSetting(value: string[] | undefined): Promise<void> {
    await vscode.workspace.getConfiguration('compileLens').update('interpreter', value, vscode.ConfigurationTarget.Global);
  }

  it('comes from the setting when there is one', () => { assert.equal(source(), 'compileLens.interpreter'); });

  it('comes from PATH when nothing else names one', async () => {
    await setSetting(undefined);
    await until('PATH', () => source() === 'PATH');
  });

  it('comes from VIRTUAL_ENV before PATH', async () => {
    process.env.VIRTUAL_ENV = workspacePath('elsewhere');
    environment(process.env.VIRTUAL_ENV);
    await vscode.commands.executeCommand('compileLens.restart');
    await until('VIRTUAL_ENV', () => source() === 'VIRTUAL_ENV');
  });

  it('comes from .venv before VIRTUAL_ENV', async () => {
    environment(workspacePath('.venv'));
    await vscode.commands.executeCommand('compileLens.restart');
    await until('.venv', () => source() === 'workspace .venv');
  });

  it('comes from python.defaultInterpreterPath before .venv, without a restart', async () => {
    const pid = api.server.pid;
    fs.mkdirSync(workspacePath('.vscode'));
    fs.writeFileSync(workspacePath('.vscode/settings.json'), JSON.stringify({ 'python.defaultInterpreterPath': environment(workspacePath('default')) }));
    await until('the default interpreter', () => source() === 'python.defaultInterpreterPath');
    assert.equal(api.server.pid, pid);
  });

  it('comes from the Python extension before its default', async () => {
    const python = vscode.extensions.getExtension<{ choose(path: string): void }>('ms-python.python');
    python?.exports.choose(environment(workspacePath('chosen')));
    await until('the Python extension', () => source() === 'ms-python');
    assert.deepEqual(api.server.python, { interpreter: { source: 'ms-python', argv: [workspacePath('chosen/bin/python')] } });
  });
});

describe('a server that ends', () => {
  async function kill(): Promise<number> {
    const pid = await until('a process', () => api.server.pid);
    process.kill(pid, 'SIGKILL');
    return pid;
  }

  it('is started again', async () => {
    await vscode.commands.executeCommand('compileLens.restart');
    const pid = await kill();
    await until('another server', () => api.server.state.kind === 'running' && api.server.pid !== pid);
    await findings(await openDocument('other.py'));
  });

  it('is given up after three restarts, with a reason, until the user restarts it', async () => {
    for (let crash = 2; crash <= 4; crash++) {
      const pid = await kill();
      await until(`the end of crash ${crash}`, () => api.server.pid !== pid && (api.server.state.kind === 'running' || api.server.state.kind === 'failed'));
    }
    assert.equal(api.server.state.kind, 'failed');
    assert.match(api.health, /SIGKILL/);
    await vscode.commands.executeCommand('compileLens.restart');
    await until('a running server', () => api.server.state.kind === 'running');
  });

  it('is explained at once when its Python cannot run it', async () => {
    const old = workspacePath('old-python');
    fs.writeFileSync(old, '#!/bin/sh\necho "Python 3.8 cannot run Compile Lens: it is older than 3.9." >&2\nexit 78\n', { mode: 0o755 });
    await vscode.workspace.getConfiguration('compileLens').update('interpreter', [old], vscode.ConfigurationTarget.Global);
    await until('the new choice', () => 'interpreter' in api.server.python && api.server.python.interpreter.argv[0] === old);
    await vscode.commands.executeCommand('compileLens.restart');
    await until('a failed server', () => api.server.state.kind === 'failed');
    assert.equal(api.health, 'Python 3.8 cannot run Compile Lens: it is older than 3.9.');
  });

  it('is explained when the setting names a missing Python', async () => {
    await vscode.workspace.getConfiguration('compileLens').update('interpreter', ['/nowhere/python'], vscode.ConfigurationTarget.Global);
    await until('the reason', () => api.health.includes('/nowhere/python'));
  });

  it('leaves debug information that names the cause', async () => {
    await vscode.commands.executeCommand('compileLens.copyDebugInformation');
    const text = await vscode.env.clipboard.readText();
    assert.match(text, /compileLens\.interpreter: \/nowhere\/python not used, not found/);
  });
});

async function quickFixes(document: vscode.TextDocument, range: vscode.Range): Promise<vscode.CodeAction[]> {
  return vscode.commands.executeCommand<vscode.CodeAction[]>('vscode.executeCodeActionProvider', document.uri, range, vscode.CodeActionKind.QuickFix.value, 20);
}

/** The extension in Restricted Mode, in a workspace that holds a trap: a Python that leaves a trace when it is started. */

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as vscode from 'vscode';
import type { Api } from '../../../extension/src/extension';
import { activeExtension, findings, openDocument, until, workspacePath } from './window';

let api: Api;
let sample: vscode.TextDocument;

before(async () => {
  sample = await openDocument('sample.py');
  api = await activeExtension();
  await until('the server runs', () => api.server.state.kind === 'running');
});

describe('an untrusted workspace', () => {
  it('is really untrusted here, and the trap is set', () => {
    assert.equal(vscode.workspace.isTrusted, false);
    fs.accessSync(workspacePath('.venv/bin/python'), fs.constants.X_OK);
  });

  it('is scanned all the same', async () => {
    assert.ok((await findings(sample)).length > 0);
  });

  it('names no interpreter: neither its .venv nor its settings are used, and the log can say why', () => {
    assert.ok('interpreter' in api.server.python);
    assert.equal(api.server.python.interpreter.source, 'PATH');
    const refused = api.server.candidates.filter(({ refused }) => refused?.includes('not trusted')).map(({ source }) => source);
    assert.ok(refused.includes('workspace .venv'), refused.join());
    const named = api.server.candidates.filter(({ source }) => source === 'compileLens.interpreter' || source === 'python.defaultInterpreterPath');
    assert.deepEqual(named.flatMap(({ argv }) => argv), []);
  });

  it('is not probed', async () => {
    assert.equal(await vscode.commands.executeCommand('compileLens.probe', { uri: sample.uri.toString(), target: 'step' }), undefined);
    assert.equal(api.speedUp, undefined);
  });

  it('has started nothing of its own', () => {
    assert.equal(fs.existsSync(workspacePath('trap-was-started')), false);
  });
});

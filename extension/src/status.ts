/** The two places where the window speaks: the server's health, and the speed-up of the active document. */

import * as vscode from 'vscode';
import { SERVER_COMMANDS, type ProbeState, type ServerStatus } from './protocol';
import type { Server, ServerState } from './server';
import { SpeedUps, statusLine, type Line } from './speedup';

const SEVERITY = {
  ok: vscode.LanguageStatusSeverity.Information,
  warning: vscode.LanguageStatusSeverity.Warning,
  error: vscode.LanguageStatusSeverity.Error,
};

/** Says in the language status of Python whether the server is well. */
export class HealthItem implements vscode.Disposable {
  private readonly item = vscode.languages.createLanguageStatusItem('compileLens.health', { language: 'python' });
  private readonly subscriptions: vscode.Disposable;

  constructor(private readonly server: Server) {
    this.item.name = 'Compile Lens';
    this.item.command = { command: 'compileLens.showLogs', title: vscode.l10n.t('Show Logs') };
    this.subscriptions = vscode.Disposable.from(
      server.onDidChangeState((state) => { this.showState(state); }),
      server.onStatus((status) => { this.showStatus(status); }),
    );
    this.showState(server.state);
  }

  get text(): string { return this.item.text; }

  dispose(): void {
    vscode.Disposable.from(this.item, this.subscriptions).dispose();
  }

  private showState(state: ServerState): void {
    this.item.busy = state.kind === 'starting';
    this.item.severity = state.kind === 'failed' ? SEVERITY.error : SEVERITY.ok;
    this.item.text = state.kind === 'failed' ? state.reason : 'Compile Lens';
    this.item.detail = this.detail();
  }

  private showStatus({ health, message }: ServerStatus): void {
    this.item.severity = SEVERITY[health];
    this.item.text = message;
    this.item.detail = this.detail();
  }

  private detail(): string {
    const python = this.server.python;
    const words = 'interpreter' in python ? `${python.interpreter.argv.join(' ')} (${python.interpreter.source})` : '';
    return vscode.workspace.isTrusted ? words : vscode.l10n.t('Restricted Mode: predictions only, nothing is run. {0}', words);
  }
}

/** Shows what the last probe of the active document measured; nothing where nothing was asked. */
export class SpeedUpItem implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('compileLens.speedUp', vscode.StatusBarAlignment.Right, 100);
  private readonly known = new SpeedUps();
  private readonly subscriptions: vscode.Disposable;

  constructor(server: Server) {
    this.item.name = vscode.l10n.t('Compile Lens: measured speed-up');
    this.subscriptions = vscode.Disposable.from(
      server.onProbe((state) => { this.known.update(state); this.show(); }),
      server.onDidChangeState(({ kind }) => { if (kind !== 'running') { this.known.clear(); this.show(); } }),
      vscode.window.onDidChangeActiveTextEditor(() => { this.show(); }),
      vscode.workspace.onDidChangeConfiguration((event) => { if (event.affectsConfiguration('compileLens.statusBar.show')) this.show(); }),
    );
    this.show();
  }

  /** The line on screen, or undefined while the item is hidden. */
  get line(): Line | undefined {
    const state = this.state;
    return state && statusLine(state, (template, ...values) => vscode.l10n.t(template, ...values));
  }

  dispose(): void {
    vscode.Disposable.from(this.item, this.subscriptions).dispose();
  }

  private get state(): ProbeState | undefined {
    const editor = vscode.window.activeTextEditor;
    const wanted = vscode.workspace.getConfiguration('compileLens').get<boolean>('statusBar.show', true);
    return editor && wanted ? this.known.latest(editor.document.uri.toString()) : undefined;
  }

  private show(): void {
    const { line, state } = this;
    if (!line || !state) {
      this.item.hide();
      return;
    }
    this.item.text = line.text;
    this.item.accessibilityInformation = { label: `Compile Lens, ${state.target}: ${line.label}` };
    this.item.tooltip = tooltip(state);
    this.item.command = 'compileLens.showLogs';
    this.item.show();
  }
}

/** The server's details and what can be done next. */
function tooltip(state: ProbeState): vscode.MarkdownString {
  const probe = encodeURIComponent(JSON.stringify([{ uri: state.uri, target: state.target }]));
  const links = state.state === 'running'
    ? [`[${vscode.l10n.t('Cancel Probe')}](command:${SERVER_COMMANDS.cancel})`]
    : [
        `[${vscode.l10n.t('Probe Again')}](command:${SERVER_COMMANDS.probe}?${probe})`,
        `[${vscode.l10n.t('Clear Probe Results')}](command:${SERVER_COMMANDS.clear})`,
      ];
  links.push(`[${vscode.l10n.t('Show Logs')}](command:compileLens.showLogs)`);
  const text = new vscode.MarkdownString(`${state.detail}\n\n${links.join(' · ')}`, true);
  text.isTrusted = { enabledCommands: [...Object.values(SERVER_COMMANDS), 'compileLens.showLogs'] };
  return text;
}


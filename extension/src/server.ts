/** The server process: started, stopped, restarted at most once at a time, and explained when it fails. */

import { spawn, type ChildProcess } from 'node:child_process';
import { isDeepStrictEqual } from 'node:util';
import * as vscode from 'vscode';
import { CloseAction, ErrorAction, LanguageClient, type LanguageClientOptions, type Middleware } from 'vscode-languageclient/node';
import { readSurroundings } from './environment';
import { chooseInterpreter, describeSearch, searchInterpreters, type Candidate, type Resolution } from './interpreter';
import { INTERPRETER, OBSERVATION, PROBE, STATUS, TRUST, type InitializationOptions, type ObservationState, type ProbeState, type ServerStatus } from './protocol';
import { LastLines, RestartPolicy, UNUSABLE_PYTHON } from './restartPolicy';

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 3_000;
/** Time for the last lines of a dead process to arrive; its 'close' event may wait for grandchildren. */
const STDERR_DELAY_MS = 100;

/** What the window shows about the server; `failed` carries the sentence for the user. */
export type ServerState = { kind: 'stopped' | 'starting' | 'running' } | { kind: 'failed'; reason: string };

/** Leaves messages to us: a burst of its own would make VS Code hide the one that helps. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void { super.error(message, data, false); }
}

/** Starts the bundled server with the chosen Python and keeps exactly one alive. */
export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private child: ChildProcess | undefined;
  private current: ServerState = { kind: 'stopped' };
  private resolution: Resolution = { missing: [] };
  private lastSearch: Candidate[] = [];
  private stderr = new LastLines();
  private cycle: Promise<void> | undefined;
  private queued: Promise<void> | undefined;
  private disposed = false;
  private readonly policy = new RestartPolicy();
  private readonly stateChanged = new vscode.EventEmitter<ServerState>();
  private readonly statusReceived = new vscode.EventEmitter<ServerStatus>();
  private readonly probeReceived = new vscode.EventEmitter<ProbeState>();

  readonly onDidChangeState = this.stateChanged.event;
  readonly onStatus = this.statusReceived.event;
  readonly onProbe = this.probeReceived.event;
  /** The observed run that is shown, as the server told of it last. */
  observation: ObservationState | undefined;

  constructor(
    private readonly startScript: string,
    private readonly log: vscode.LogOutputChannel,
    private readonly middleware: Middleware,
  ) {}

  get state(): ServerState { return this.current; }
  get pid(): number | undefined { return this.child?.pid; }
  get python(): Resolution { return this.resolution; }
  get candidates(): Candidate[] { return this.lastSearch; }
  get lastErrors(): string[] { return this.stderr.all(); }
  get name(): string | undefined {
    const info = this.client?.initializeResult?.serverInfo;
    return info && `${info.name} ${info.version ?? ''}`;
  }

  /** Starts anew because the user asked: earlier crashes no longer count. */
  restart(): Promise<void> {
    this.policy.reset();
    return this.requestStart();
  }

  /** Tells a running server about trust and interpreter, and starts one that could not run with the former answer. */
  async surroundingsChanged(): Promise<void> {
    await this.cycle;
    const before = this.resolution;
    await this.search();
    const changed = !isDeepStrictEqual(before, this.resolution);
    if (this.current.kind === 'running') {
      await this.client?.sendNotification(TRUST, { trusted: vscode.workspace.isTrusted });
      if (changed) await this.client?.sendNotification(INTERPRETER, chosen(this.resolution));
    } else if (changed) {
      await this.restart();
    }
  }

  /** Ends the server, by force where it does not end by itself. */
  async stop(): Promise<void> {
    const { client, child } = this;
    this.client = undefined;
    this.child = undefined;
    if (client?.isRunning()) await client.stop(STOP_TIMEOUT_MS).catch((error: unknown) => { this.log.warn(String(error)); });
    if (child) await endProcess(child);
    this.become({ kind: 'stopped' });
  }

  dispose(): void {
    this.disposed = true;
    vscode.Disposable.from(this.stateChanged, this.statusReceived, this.probeReceived).dispose();
  }

  /** One start runs and at most one waits: a burst of changes must not start a crowd of servers. */
  private requestStart(): Promise<void> {
    if (this.cycle) {
      this.queued ??= this.cycle.then(() => {
        this.queued = undefined;
        return this.requestStart();
      });
      return this.queued;
    }
    this.cycle = this.startOnce().finally(() => { this.cycle = undefined; });
    return this.cycle;
  }

  private async search(): Promise<void> {
    this.lastSearch = searchInterpreters(await readSurroundings(this.log));
    this.resolution = chooseInterpreter(this.lastSearch);
    for (const line of describeSearch(this.lastSearch)) this.log.info(`Interpreter from ${line}`);
  }

  private async startOnce(): Promise<void> {
    await this.stop();
    if (this.disposed) return;
    this.become({ kind: 'starting' });
    await this.search();
    if ('missing' in this.resolution) {
      this.fail(explainMissing(this.resolution.missing));
      return;
    }
    const { argv, source } = this.resolution.interpreter;
    const [program = '', ...words] = argv;
    this.log.info(`Starting the server with ${argv.join(' ')} (${source})`);
    // -I: neither PYTHONPATH nor the working directory may put a workspace's modules into the server.
    const child = spawn(program, [...words, '-I', this.startScript], { cwd: vscode.workspace.workspaceFolders?.[0]?.uri.fsPath });
    const stderr = new LastLines();
    child.stderr.setEncoding('utf8').on('data', (text: string) => { stderr.append(text); });
    child.once('error', (error) => { this.ended(child, null, error.message); });
    child.once('exit', (code, signal) => {
      setTimeout(() => { this.ended(child, code, signal ?? `exit code ${code ?? '?'}`); }, STDERR_DELAY_MS);
    });
    this.child = child;
    this.stderr = stderr;
    const client = this.connect(child);
    this.client = client;
    const timer = setTimeout(() => {
      stderr.append('The server did not answer within a minute.\n');
      child.kill('SIGKILL');
    }, START_TIMEOUT_MS);
    try {
      await Promise.race([client.start(), endOf(child)]);
      if (this.child === child) this.become({ kind: 'running' });
    } catch (error) {
      this.log.error(`The server did not start: ${String(error)}`);
      child.kill('SIGKILL');
    } finally {
      clearTimeout(timer);
    }
  }

  private connect(child: ChildProcess): LanguageClient {
    const initializationOptions: InitializationOptions = {
      trusted: vscode.workspace.isTrusted,
      ...chosen(this.resolution),
      locale: vscode.env.language,
    };
    const options: LanguageClientOptions = {
      documentSelector: [{ scheme: 'file', language: 'python' }, { scheme: 'untitled', language: 'python' }],
      outputChannel: this.log,
      initializationOptions,
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => ({ action: CloseAction.DoNotRestart, handled: true, message: 'The connection to the server is closed.' }),
      },
      // A server need not register for changes of the settings; this tells it of them all the same.
      // eslint-disable-next-line @typescript-eslint/no-deprecated
      synchronize: { configurationSection: 'compileLens' },
      middleware: this.middleware,
    };
    const client = new QuietClient('compileLens', 'Compile Lens', () => Promise.resolve(child), options);
    client.onNotification(STATUS, (status: ServerStatus) => { this.statusReceived.fire(status); });
    client.onNotification(OBSERVATION, (state: ObservationState) => { this.observation = state; });
    client.onNotification(PROBE, (state: ProbeState) => { this.probeReceived.fire(state); });
    return client;
  }

  /** A process that ended although nobody stopped it is started again, or explained. */
  private ended(child: ChildProcess, code: number | null, how: string): void {
    if (this.child !== child || this.disposed) return;
    this.child = undefined;
    this.log.error(`The server ended (${how}).`);
    if (this.policy.allows(code)) {
      void this.requestStart();
      return;
    }
    const lastLine = this.lastErrors.at(-1) ?? '';
    this.fail(code === UNUSABLE_PYTHON ? lastLine : vscode.l10n.t('The Compile Lens server stopped several times ({0}). {1}', how, code === null ? '' : lastLine).trim());
  }

  private fail(reason: string): void {
    this.log.error(reason);
    this.become({ kind: 'failed', reason });
  }

  private become(state: ServerState): void {
    if (this.disposed) return;
    this.current = state;
    void vscode.commands.executeCommand('setContext', 'compileLens.serverRunning', state.kind === 'running');
    this.stateChanged.fire(state);
  }
}

function explainMissing(command: string[]): string {
  return command.length > 0
    ? vscode.l10n.t('Compile Lens cannot start: compileLens.interpreter names {0}, which does not exist.', command.join(' '))
    : vscode.l10n.t('Compile Lens cannot start: no Python was found.');
}

/** The interpreter as the protocol writes it; an empty command says that none is known. */
function chosen(resolution: Resolution): Pick<InitializationOptions, 'interpreter' | 'interpreterSource'> {
  if ('missing' in resolution) return { interpreter: [], interpreterSource: '' };
  return { interpreter: resolution.interpreter.argv, interpreterSource: resolution.interpreter.source };
}

/** Rejects when the process ends: the client of a server that dies while it starts may wait for ever. */
function endOf(child: ChildProcess): Promise<never> {
  return new Promise((_resolve, reject) => child.once('exit', () => { reject(new Error('the process ended')); }));
}

/** Waits for the end of a process that was told to stop, and ends it by force when it does not. */
async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const gone = new Promise<void>((resolve) => child.once('exit', () => { resolve(); }));
  const kill = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  child.stdin?.end();
  await gone;
  clearTimeout(kill);
}

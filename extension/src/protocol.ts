/** Names and payloads of our own messages, as docs/protocol.md section 1 defines them. */

/** What the server must know about this window before it starts. */
export interface InitializationOptions {
  trusted: boolean;
  interpreter: string[];
  interpreterSource: string;
  locale: string;
}

export const STATUS = 'compileLens/status';
export const PROBE = 'compileLens/probe';
export const OBSERVATION = 'compileLens/observation';
export const TRUST = 'compileLens/trust';
export const INTERPRETER = 'compileLens/interpreter';

/** Commands that the server executes; vscode-languageclient registers them, so this extension must not. */
export const SERVER_COMMANDS = {
  probe: 'compileLens.probe',
  cancel: 'compileLens.cancelProbe',
  clear: 'compileLens.clearProbeResults',
  observe: 'compileLens.observe',
  importTrace: 'compileLens.importTrace',
  cancelObservation: 'compileLens.cancelObservation',
  clearObservation: 'compileLens.clearObservation',
  draft: 'compileLens.draftInputs',
} as const;

/** The state of the server as a whole. */
export interface ServerStatus {
  health: 'ok' | 'warning' | 'error';
  message: string;
}

/** What is known about the measured speed-up of one target. */
export interface ProbeState {
  uri: string;
  target: string;
  state: 'running' | 'done' | 'stale' | 'cleared';
  stage: string | null;
  status: string | null;
  text: string;
  detail: string;
  message: string | null;
  result: Record<string, unknown> | null;
}

/** What is known of an observed run, or of an imported trace. */
export interface ObservationState {
  label: string;
  folder: string;
  state: 'running' | 'done' | 'cleared';
  status: string | null;
  message: string | null;
  text: string;
  breaks: number;
  recompiles: number;
  files: string[];
  exit: number | null;
  result: Record<string, unknown> | null;
}

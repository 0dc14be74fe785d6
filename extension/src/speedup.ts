/** What is known about the speed-up of each document, and how one line says it. */

import type { ProbeState } from './protocol';

/** Text of a status bar item: an icon and words, so that colour never carries the meaning. */
export interface Line {
  text: string;
  /** The same for a screen reader, without the icon. */
  label: string;
}

/** Translates a template with numbered places, as vscode.l10n.t does. */
export type Translate = (template: string, ...values: string[]) => string;

/** The last probe state of every target, with the target that changed last in front. */
export class SpeedUps {
  private readonly documents = new Map<string, Map<string, ProbeState>>();

  /** A document that became stale keeps its place: an edit makes no other target the latest. */
  update(state: ProbeState): void {
    const targets = this.documents.get(state.uri) ?? new Map<string, ProbeState>();
    if (state.state !== 'stale') targets.delete(state.target);
    if (state.state !== 'cleared') targets.set(state.target, state);
    this.documents.set(state.uri, targets);
  }

  latest(uri: string): ProbeState | undefined {
    return [...(this.documents.get(uri)?.values() ?? [])].at(-1);
  }

  /** Forgets everything, because the server that knew it is gone. */
  clear(): void {
    this.documents.clear();
  }
}

/** One icon and the server's own words; a number that was not measured now never looks like one that was. */
export function statusLine(state: ProbeState, translate: Translate): Line {
  const line = (icon: string, text: string, label = text): Line => ({ text: `$(${icon}) ${text}`, label });
  switch (state.state) {
    case 'running':
      return line('sync~spin', state.stage ? translate('probing: {0}', state.stage) : translate('probing'));
    case 'stale':
      return line('history', state.text, translate('{0}, measured before the last change', state.text));
    default:
      return line(isMeasured(state) ? 'zap' : 'circle-slash', state.text);
  }
}

/** A sentence in `message` says why there is no number. */
function isMeasured(state: ProbeState): boolean {
  return state.status === 'ok' && state.message === null;
}

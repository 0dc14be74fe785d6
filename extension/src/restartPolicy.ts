/** When a server that ended by itself is started again, and when the user is asked instead. */

const MAX_RESTARTS = 3;
const WINDOW_MS = 3 * 60_000;

/** Exit code of start_server.py for a Python that cannot run the server: trying again cannot help. */
export const UNUSABLE_PYTHON = 78;

/** Allows three restarts within three minutes, so that a server that cannot live does not flicker for ever. */
export class RestartPolicy {
  private restarts: number[] = [];

  constructor(private readonly now: () => number = Date.now) {}

  /** True when the server may be started again; remembers that it was. */
  allows(exitCode: number | null): boolean {
    if (exitCode === UNUSABLE_PYTHON) return false;
    const start = this.now() - WINDOW_MS;
    this.restarts = this.restarts.filter((time) => time > start);
    if (this.restarts.length >= MAX_RESTARTS) return false;
    this.restarts.push(this.now());
    return true;
  }

  /** Forgets the past, because the user started the server by hand. */
  reset(): void {
    this.restarts = [];
  }
}

/** The last lines that a process wrote to standard error, kept for the message that explains its end. */
export class LastLines {
  private lines: string[] = [];
  private rest = '';

  constructor(private readonly limit = 20) {}

  append(text: string): void {
    const lines = (this.rest + text).split(/\r?\n/);
    this.rest = lines.pop() ?? '';
    this.lines = [...this.lines, ...lines.filter((line) => line.trim() !== '')].slice(-this.limit);
  }

  all(): string[] {
    return this.rest.trim() === '' ? this.lines : [...this.lines, this.rest];
  }
}

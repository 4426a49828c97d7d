import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Deadline } from './deadline.ts';
import { HBaseError } from './errors.ts';

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1000;
/** A server that is too busy is left alone for longer. */
const BUSY_FACTOR = 5;

/** Pauses that end with the client. */
export class Pauses {
  readonly #controller = new AbortController();

  constructor() {
    // One listener per call that pauses.
    setMaxListeners(0, this.#controller.signal);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** @throws {HBaseError} CLOSED */
  async wait(ms: number): Promise<void> {
    try {
      await delay(ms, undefined, { signal: this.signal });
    } catch {
      throw new HBaseError('CLOSED', 'the client was closed during the call');
    }
  }

  end(): void {
    this.#controller.abort();
  }
}

/** What a call does about failures until its deadline: pauses that double, and an error that tells all of it. */
export class Retry {
  readonly #deadline: Deadline;
  readonly #pauses: Pauses;
  readonly #isWrite: boolean;
  readonly #started = performance.now();
  #tries = 0;
  #maybeApplied = false;

  constructor(deadline: Deadline, pauses: Pauses, isWrite: boolean) {
    this.#deadline = deadline;
    this.#pauses = pauses;
    this.#isWrite = isWrite;
  }

  /** Resolves after a pause when another try may help; else throws what the caller is to know. */
  async afterFailure(error: unknown): Promise<void> {
    const failure = this.note(error);
    if (failure.remedy === 'none') throw this.verdict(failure);
    const longest = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(this.#tries, 10), LONGEST_PAUSE_MS);
    const factor = failure.remedy === 'wait' ? BUSY_FACTOR : 1;
    // Jitter, so that many calls that failed together do not come back together.
    const pause = Math.min(longest * factor, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2);
    this.#tries += 1;
    if (this.#deadline.left <= pause) throw this.verdict(failure);
    await this.#pauses.wait(pause);
  }

  /** Counts a failure in; anything but an HBaseError is a mistake of ours and thrown as it is. */
  note(error: unknown): HBaseError {
    if (!(error instanceof HBaseError)) throw error;
    this.#maybeApplied ||= this.#isWrite && error.maybeApplied;
    return error;
  }

  /** The failure as the caller is to know it: whether something was changed counts most. */
  verdict(failure: HBaseError): HBaseError {
    const isFinal = failure.remedy === 'none';
    const unknown =
      this.#maybeApplied && (!isFinal || failure.code === 'CLOSED' || failure.code === 'PROTOCOL');
    const code = unknown ? 'OUTCOME_UNKNOWN' : failure.code;
    const times = this.#tries > 0 ? ` (${this.#tries + 1} tries in ${this.#elapsed} ms)` : '';
    const { hint, host, region, exception } = failure;
    if (code === failure.code && times === '' && failure.maybeApplied === this.#maybeApplied) return failure;
    return new HBaseError(code, `${failure.message}${times}`, {
      cause: failure,
      maybeApplied: this.#maybeApplied,
      remedy: failure.remedy,
      ...(hint === null ? {} : { hint }),
      ...(host === null ? {} : { host }),
      ...(region === null ? {} : { region }),
      ...(exception === null ? {} : { exception }),
    });
  }

  get #elapsed(): number {
    return Math.round(performance.now() - this.#started);
  }
}

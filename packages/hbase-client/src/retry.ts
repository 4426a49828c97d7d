import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Deadline } from './deadline.ts';
import { HBaseError } from './errors.ts';

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1000;
/** Pauses are this much longer for a server that is too busy. */
const BUSY_FACTOR = 5;

/** Pauses that end when the client is closed. */
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

/** The retries of a call until its deadline: pauses that double, and an error with the number of tries. */
export class Retry {
  readonly #deadline: Deadline;
  readonly #pauses: Pauses;
  readonly #isWrite: boolean;
  readonly #started = performance.now();
  #tries = 1;
  #maybeApplied = false;

  constructor(deadline: Deadline, pauses: Pauses, isWrite: boolean) {
    this.#deadline = deadline;
    this.#pauses = pauses;
    this.#isWrite = isWrite;
  }

  /** Resolves after a pause if another try may help. Otherwise throws the error for the caller. */
  async afterFailure(error: unknown): Promise<void> {
    const failure = this.note(error);
    if (!(await this.pause(failure))) throw this.verdict(failure);
  }

  /** Resolves to false at once if another try does not help or would be too late. */
  async pause({ remedy }: HBaseError): Promise<boolean> {
    if (remedy === 'none') return false;
    const factor = remedy === 'wait' ? BUSY_FACTOR : 1;
    const longest = Math.min(FIRST_PAUSE_MS * factor * 2 ** Math.min(this.#tries - 1, 10), LONGEST_PAUSE_MS);
    // Jitter, so that calls that failed at the same time do not retry at the same time.
    const pause = longest * (0.5 + Math.random() / 2);
    if (this.#deadline.left <= pause) return false;
    await this.#pauses.wait(pause);
    this.#tries += 1;
    return true;
  }

  /** Records a failure. An error other than HBaseError is a bug in this client, and is thrown unchanged. */
  note(error: unknown): HBaseError {
    const failure = expected(error);
    this.#maybeApplied ||= this.#isWrite && failure.maybeApplied;
    return failure;
  }

  /** The error for the caller. It is OUTCOME_UNKNOWN if the call may have changed something. */
  verdict(failure: HBaseError, maybeApplied: boolean = this.#maybeApplied): HBaseError {
    // A refusal is the answer of a server, so its code is kept, although it is only about the last try.
    const isRefusal = failure.remedy === 'none' && failure.code !== 'CLOSED' && failure.code !== 'PROTOCOL';
    const code = maybeApplied && !isRefusal ? 'OUTCOME_UNKNOWN' : failure.code;
    if (code === failure.code && this.#tries === 1 && failure.maybeApplied === maybeApplied) return failure;
    const { hint, host, region, exception, remedy } = failure;
    const elapsed = Math.round(performance.now() - this.#started);
    const times = this.#tries === 1 ? '' : ` (${this.#tries} tries in ${elapsed} ms)`;
    return new HBaseError(code, `${failure.message}${times}`, {
      cause: failure,
      maybeApplied,
      remedy,
      ...(hint === null ? {} : { hint }),
      ...(host === null ? {} : { host }),
      ...(region === null ? {} : { region }),
      ...(exception === null ? {} : { exception }),
    });
  }
}

/** @throws the error if it is not an HBaseError. */
export function expected(error: unknown): HBaseError {
  if (error instanceof HBaseError) return error;
  throw error;
}

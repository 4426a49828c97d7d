import { setTimeout as delay } from 'node:timers/promises';

/** The shortest and the longest wait after a failure. */
const RETRY_MS = { least: 10_000, most: 15 * 60_000 };
/** The wait, as a multiple of the failed attempt: a store that refuses connections costs nothing, half a backup does. */
const RETRY_FACTOR = 3;
/** The longest wait at once: a timer takes at most 24 days, and the clock of a board can be set. */
const NAP_MS = 60_000;

/** What a schedule has done. Times are milliseconds. */
export interface ScheduleState {
  /** When the newest complete backup began. Null: there is none. */
  last: number | null;
  /** When a restore was verified last. Null: none was. */
  verified: number | null;
  failures: number;
  /** Whether the last attempt failed. */
  isFailing: boolean;
  isRunning: boolean;
}

/** A request for a backup before it is due. */
export class BackupRequest {
  isMade = false;
  #wake = new AbortController();

  /** Aborted when a request is made. */
  get signal(): AbortSignal {
    return this.#wake.signal;
  }

  make(): void {
    this.isMade = true;
    this.#wake.abort();
    this.#wake = new AbortController();
  }
}

export interface ScheduleOptions {
  readonly everyMs: number;
  readonly signal: AbortSignal;
  readonly request: BackupRequest;
  /** Resolves to the time at which the newest complete backup began, or null. */
  last(): Promise<number | null>;
  run(): Promise<void>;
  fail(error: unknown): void;
}

/** The wait after an attempt that failed after `attemptMs`, milliseconds. */
export function pauseAfter(attemptMs: number): number {
  return Math.min(RETRY_MS.most, Math.max(RETRY_MS.least, RETRY_FACTOR * attemptMs));
}

/**
 * Runs when the last backup is old enough, or when it is requested, until the signal. After a failure it runs again: soon
 * after a short attempt, such as one without the store, and after a quarter of an hour at most.
 */
export async function schedule(
  state: ScheduleState,
  { everyMs, signal, request, last, run, fail }: ScheduleOptions,
): Promise<void> {
  let retry = 0;
  while (!signal.aborted) {
    const began = performance.now();
    try {
      state.last = await last();
      const due = Math.max(retry, state.last === null ? 0 : state.last + everyMs);
      if (!request.isMade && Date.now() < due) {
        const wake = AbortSignal.any([signal, request.signal]);
        await delay(Math.min(due - Date.now(), NAP_MS), undefined, { signal: wake }).catch(() => {});
        continue;
      }
      request.isMade = false;
      state.isRunning = true;
      await run();
      state.isFailing = false;
    } catch (error) {
      if (signal.aborted) return;
      state.failures += 1;
      state.isFailing = true;
      fail(error);
      retry = Date.now() + Math.min(everyMs, pauseAfter(performance.now() - began));
    } finally {
      state.isRunning = false;
    }
  }
}

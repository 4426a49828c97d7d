import { setTimeout as delay } from 'node:timers/promises';

/** The longest wait after a failure. */
const RETRY_MS = 15 * 60_000;
/** The longest wait at once: a timer takes at most 24 days, and the clock of a board can be set. */
const NAP_MS = 60_000;

/** What a schedule has done. Times are milliseconds. */
export interface ScheduleState {
  /** When the newest complete backup began. Null: there is none. */
  last: number | null;
  failures: number;
  /** Whether the last attempt failed. */
  isFailing: boolean;
}

export interface ScheduleOptions {
  readonly everyMs: number;
  readonly signal: AbortSignal;
  /** Resolves to the time at which the newest complete backup began, or null. */
  last(): Promise<number | null>;
  run(): Promise<void>;
  fail(error: unknown): void;
}

/** Runs when the last backup is old enough, until the signal. After a failure, a quarter of an hour later at most. */
export async function schedule(
  state: ScheduleState,
  { everyMs, signal, last, run, fail }: ScheduleOptions,
): Promise<void> {
  let retry = 0;
  while (!signal.aborted) {
    try {
      state.last = await last();
      const due = Math.max(retry, state.last === null ? 0 : state.last + everyMs);
      if (Date.now() < due) {
        await delay(Math.min(due - Date.now(), NAP_MS), undefined, { signal });
        continue;
      }
      await run();
      state.isFailing = false;
    } catch (error) {
      if (signal.aborted) return;
      state.failures += 1;
      state.isFailing = true;
      fail(error);
      retry = Date.now() + Math.min(everyMs, RETRY_MS);
    }
  }
}

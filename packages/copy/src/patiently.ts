import { setTimeout as delay } from 'node:timers/promises';
import { isDiskFull, isRetryable, StoreError } from '@tidegauge/storage';

const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 30_000;
const PATIENCE_MS = 10 * 60_000;
/** An attempt that ran for this time made progress, so that the patience begins again. */
const PROGRESS_MS = 60_000;
/** Attempts after an unknown error. */
const UNEXPECTED_ATTEMPTS = 3;

/**
 * Calls `work` again while a store is unavailable or overloaded, for at most ten minutes without progress. A full disk is an
 * error at once.
 *
 * @param report receives a line before each wait
 */
export async function patiently<T>(
  work: () => Promise<T>,
  signal: AbortSignal,
  report: (line: string) => void,
): Promise<T> {
  let deadline = performance.now() + PATIENCE_MS;
  let wait = FIRST_WAIT_MS;
  for (let attempt = 1; ; attempt += 1) {
    const started = performance.now();
    try {
      return await work();
    } catch (error) {
      const failed = performance.now();
      if (failed - started > PROGRESS_MS) {
        deadline = failed + PATIENCE_MS;
        wait = FIRST_WAIT_MS;
      }
      const isWorthIt =
        isRetryable(error) ||
        (error instanceof StoreError && error.code === 'UNEXPECTED' && attempt < UNEXPECTED_ATTEMPTS);
      if (!isWorthIt || isDiskFull(error) || signal.aborted || failed + wait > deadline) throw error;
      report(`${(error as Error).message}: trying again in ${(wait / 1000).toFixed(1)} s`);
    }
    await delay(wait, undefined, { signal });
    wait = Math.min(2 * wait, MAX_WAIT_MS);
  }
}

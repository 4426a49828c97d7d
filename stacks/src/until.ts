import { setTimeout as delay } from 'node:timers/promises';

const WAIT_MS = 240_000;
// Many looks start a docker client, which takes 0.1 s of processor time.
const POLL_MS = 500;

/**
 * Calls `look` until it resolves to a truthy value, and resolves to that. Calls that reject are repeated.
 *
 * @param what what the caller waits for, for the error
 * @param waitMs default: four minutes
 * @throws {Error} after that time, with the last error; at once after an abort
 */
export async function until<T>(
  what: string,
  look: () => Promise<T | false | null | undefined>,
  signal?: AbortSignal,
  waitMs = WAIT_MS,
): Promise<T> {
  let last: unknown = 'nothing';
  for (const deadline = Date.now() + waitMs; Date.now() < deadline; await delay(POLL_MS)) {
    signal?.throwIfAborted();
    try {
      const seen = await look();
      if (seen) return seen;
    } catch (error) {
      last = error;
    }
  }
  throw new Error(`waited ${waitMs / 1000} s for ${what}, last: ${last}`);
}

import { setTimeout as delay } from 'node:timers/promises';

export interface WaitOptions {
  readonly timeoutMs: number;
  /** Pause between two checks. Default: 50 ms. */
  readonly pollMs?: number;
}

/**
 * Checks a condition until it holds. It is checked at least once.
 *
 * @param what what the caller waits for, for the error; a function is called when the time is over
 * @throws {Error} after `timeoutMs`
 */
export async function waitUntil(
  what: string | (() => string),
  condition: () => boolean | Promise<boolean>,
  { timeoutMs, pollMs = 50 }: WaitOptions,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline)
      throw new Error(`waited ${timeoutMs / 1000} s for ${typeof what === 'string' ? what : what()}`);
    await delay(pollMs);
  }
}

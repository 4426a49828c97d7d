import { setTimeout as sleep } from 'node:timers/promises';

const FIRST_MS = 100;
const LAST_MS = 5000;

/** Exponential backoff with full jitter, from 100 ms to 5 s. Call `reset` after a success. */
export class Backoff {
  #ceiling = FIRST_MS;

  reset(): void {
    this.#ceiling = FIRST_MS;
  }

  /**
   * Waits a random time up to the current limit and doubles the limit. Rejects with the reason of `signal` when it is
   * aborted.
   */
  async wait(signal: AbortSignal): Promise<void> {
    const delay = Math.random() * this.#ceiling;
    this.#ceiling = Math.min(this.#ceiling * 2, LAST_MS);
    await sleep(delay, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

import { setTimeout as sleep } from 'node:timers/promises';

const FIRST_MS = 100;
const LAST_MS = 5000;

/** Exponential back-off with full jitter, capped; `reset` after a success. */
export class Backoff {
  #ceiling = FIRST_MS;

  reset(): void {
    this.#ceiling = FIRST_MS;
  }

  /** Waits a random time up to the current ceiling and doubles it. Rejects with the reason when aborted. */
  async wait(signal: AbortSignal): Promise<void> {
    const delay = Math.random() * this.#ceiling;
    this.#ceiling = Math.min(this.#ceiling * 2, LAST_MS);
    await sleep(delay, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

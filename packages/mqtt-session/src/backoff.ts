/**
 * Delays between attempts: exponential, bounded, with full jitter (each delay is uniform between 0 and the current
 * limit), so that many clients that lose their broker at the same time do not reconnect at the same time.
 */
export class Backoff {
  readonly #minMs: number;
  readonly #maxMs: number;
  readonly #random: () => number;
  #attempts = 0;

  constructor(minMs: number, maxMs: number, random: () => number = Math.random) {
    this.#minMs = minMs;
    this.#maxMs = maxMs;
    this.#random = random;
  }

  /** Attempts since the last reset. */
  get attempts(): number {
    return this.#attempts;
  }

  /** Milliseconds to wait before the next attempt. */
  next(): number {
    const ceiling = Math.min(this.#maxMs, this.#minMs * 2 ** Math.min(this.#attempts, 30));
    this.#attempts += 1;
    return this.#random() * ceiling;
  }

  /** A delay of half to the full maximum, for when an early reconnection does harm. */
  longest(): number {
    this.#attempts += 1;
    return this.#maxMs * (0.5 + this.#random() / 2);
  }

  /** Resets the delays, after a successful attempt. */
  reset(): void {
    this.#attempts = 0;
  }
}

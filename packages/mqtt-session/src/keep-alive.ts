export interface KeepAliveActions {
  /** Send PINGREQ. */
  ping(): void;
  /** Nothing comes back: drop the connection. */
  dead(): void;
}

/**
 * Sends PINGREQ on time, and finds out when nobody is there, whatever the operating system thinks.
 *
 * - PINGREQ goes out when nothing was sent, or nothing came in, for 3/4 of the interval (looked at every
 *   quarter, so never later than the interval that the broker was promised).
 * - Any byte that comes in is life, not only PINGRESP.
 * - The link is dead when a PINGREQ went unanswered for 3/4 of the interval: at most two intervals after the
 *   last byte. While the application has paused reading, nothing can be seen and nothing is concluded.
 * - A blocked event loop must not look like a dead link: the verdict waits for one more round of socket reads.
 */
export class KeepAlive {
  readonly #patienceMs: number;
  readonly #tickMs: number;
  readonly #actions: KeepAliveActions;
  #timer: NodeJS.Timeout | null = null;
  #paused = false;
  #sentAt = performance.now();
  #receivedAt = performance.now();
  // When the oldest unanswered PINGREQ went out, or reading went on after it; 0 when none is.
  #pingedAt = 0;

  /** `intervalMs` 0: never pings, never gives up. */
  constructor(intervalMs: number, actions: KeepAliveActions) {
    this.#tickMs = intervalMs / 4;
    this.#patienceMs = this.#tickMs * 3;
    this.#actions = actions;
    if (intervalMs > 0) this.#timer = setInterval(() => this.#tick(), this.#tickMs);
  }

  /** Milliseconds since anything came in. */
  get quietMs(): number {
    return performance.now() - this.#receivedAt;
  }

  sent(): void {
    this.#sentAt = performance.now();
  }

  received(): void {
    this.#receivedAt = performance.now();
    this.#pingedAt = 0;
  }

  set paused(paused: boolean) {
    this.#paused = paused;
    if (!paused && this.#pingedAt !== 0) this.#pingedAt = performance.now();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #tick(): void {
    if (this.#isSuspect()) {
      setImmediate(() => {
        if (this.#timer !== null && this.#isSuspect()) this.#actions.dead();
      });
      return;
    }
    const now = performance.now();
    const silent = this.#pingedAt === 0 && now - this.#receivedAt >= this.#patienceMs;
    if (silent || now - this.#sentAt >= this.#patienceMs) {
      if (this.#pingedAt === 0) this.#pingedAt = now;
      this.#actions.ping();
    }
  }

  #isSuspect(): boolean {
    return !this.#paused && this.#pingedAt !== 0 && performance.now() - this.#pingedAt >= this.#patienceMs;
  }
}

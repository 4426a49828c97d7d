export interface KeepAliveActions {
  /** Send PINGREQ. */
  ping(): void;
  /** Drop the connection, because the broker does not answer. */
  dead(): void;
}

/**
 * Sends PINGREQ on time, and detects a dead connection that the operating system does not report.
 *
 * - PINGREQ is sent when nothing was sent, or nothing received, for 3/4 of the interval. This is checked every
 *   quarter, so it is never later than the interval that the broker was promised.
 * - Any received byte shows that the connection is alive, not only PINGRESP.
 * - The connection is dead when a PINGREQ was not answered for 3/4 of the interval: at most two intervals after the
 *   last byte. While the application has paused reading, no conclusion is drawn.
 * - A blocked event loop must not look like a dead connection: the decision waits for one more round of socket reads.
 */
export class KeepAlive {
  readonly #patienceMs: number;
  readonly #tickMs: number;
  readonly #actions: KeepAliveActions;
  #timer: NodeJS.Timeout | null = null;
  #paused = false;
  #sentAt = performance.now();
  #receivedAt = performance.now();
  // The time of the oldest unanswered PINGREQ, or of the resumption of reading after it; 0 when there is none.
  #pingedAt = 0;

  /** @param intervalMs interval in milliseconds; 0 turns keep-alive off */
  constructor(intervalMs: number, actions: KeepAliveActions) {
    this.#tickMs = intervalMs / 4;
    this.#patienceMs = this.#tickMs * 3;
    this.#actions = actions;
    if (intervalMs > 0) this.#timer = setInterval(() => this.#tick(), this.#tickMs);
  }

  /** Milliseconds since data was received. */
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

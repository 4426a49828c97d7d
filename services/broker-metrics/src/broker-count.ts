/**
 * A counter of the broker, as counted since this exporter started. It begins at 0, and a restart of the broker does not
 * make it smaller.
 *
 * Between two reports it grows evenly. The broker reports every few seconds, and a rate over samples that repeat a
 * report, or skip one, would have a beat. So a value is complete one interval after its report.
 */
export class BrokerCount {
  /** The first number of a counter of losses is a loss, of all others a start. */
  readonly #isLoss: boolean;
  /** The broker's own number. Null: not known yet. */
  #reported: number | null = null;
  #total = 0;
  /** The value at the time of the last report, in milliseconds, and for how long it grows to the total. */
  #from = 0;
  #since = 0;
  #growsMs = 0;

  constructor(isLoss: boolean) {
    this.#isLoss = isLoss;
  }

  /**
   * Takes the broker's number.
   *
   * @param retained whether it was reported before this exporter subscribed
   * @param now the time, in milliseconds
   * @param intervalMs the time between two reports
   */
  take(reported: number, retained: boolean, now: number, intervalMs: number): void {
    const before = this.#reported ?? (this.#isLoss && !retained ? 0 : reported);
    // The numbers of a broker that was restarted are smaller.
    const more = reported >= before ? reported - before : reported;
    this.#reported = reported;
    this.#from = this.#grown(now);
    this.#total += more;
    this.#since = now;
    this.#growsMs = intervalMs;
  }

  /** The broker began to count at 0. */
  restart(): void {
    this.#reported = 0;
  }

  /** A whole number, which shows the first of several events at once. */
  at(now: number): number {
    return Math.ceil(this.#grown(now));
  }

  #grown(now: number): number {
    const elapsed = now - this.#since;
    if (elapsed >= this.#growsMs) return this.#total;
    return this.#from + ((this.#total - this.#from) * elapsed) / this.#growsMs;
  }
}

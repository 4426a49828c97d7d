/** The clock may differ from the time that passed by this much between two ticks, microseconds. */
const MOST_DRIFT = 5_000_000;
/** A longer time between two ticks is an interruption, milliseconds. */
const LONGEST_TICK_MS = 10_000;

/**
 * Since when ingest has received all readings that sensors sent. A sensor is not quiet while ingest could not have
 * received its readings: before the start, without the broker or the store, while the process was suspended, and after
 * the clock of the machine was set.
 */
export class Receiving {
  /** Microseconds since the epoch. */
  since: number;
  #wall: number;
  #elapsedMs: number;

  /** @param elapsedMs a clock that only grows, such as `performance.now()` */
  constructor(wall: number, elapsedMs: number) {
    this.since = wall;
    this.#wall = wall;
    this.#elapsedMs = elapsedMs;
  }

  tick(wall: number, elapsedMs: number, isReceiving: boolean): void {
    const passedMs = elapsedMs - this.#elapsedMs;
    const drift = Math.abs(wall - this.#wall - passedMs * 1000);
    this.#wall = wall;
    this.#elapsedMs = elapsedMs;
    if (!isReceiving || drift > MOST_DRIFT || passedMs > LONGEST_TICK_MS) this.since = wall;
  }
}

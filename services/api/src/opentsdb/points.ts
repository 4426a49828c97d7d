import { setImmediate as nextTurn } from 'node:timers/promises';
import { tooLarge } from './errors.ts';

/** Computing goes on for this time before other work of the process gets a turn, milliseconds. */
const TURN_MS = 2;
/** Bytes of one point: its time and its value. */
const POINT_BYTES = 16;
const FIRST_POINTS = 32;

/** The memory of the points of one query, which is bounded, and its time. */
export class Budget {
  readonly #most: number;
  readonly #deadline: number;
  readonly #isGone: () => boolean;
  #bytes = 0;
  #turn = performance.now();

  /**
   * @param most bytes
   * @param seconds how long the query may take
   * @param isGone whether the client has left
   */
  constructor(most: number, seconds: number, isGone: () => boolean = () => false) {
    this.#most = most;
    this.#deadline = performance.now() + seconds * 1000;
    this.#isGone = isGone;
  }

  /** @throws {Problem} 413 when there is no memory for `bytes` more */
  take(bytes: number): void {
    this.checkTime();
    if (this.#bytes + bytes > this.#most) {
      const points = Math.floor(this.#most / POINT_BYTES);
      throw tooLarge(
        `The query needs more than ${points} data points at once: shorten the time range, downsample to a longer interval, or select fewer series.`,
      );
    }
    this.#bytes += bytes;
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
  }

  /** @throws {Problem} 413 when the query has taken too long, or nobody waits for it */
  checkTime(): void {
    if (performance.now() < this.#deadline && !this.#isGone()) return;
    throw tooLarge('The query takes too long: shorten the time range, or select fewer series.');
  }

  /** As `checkTime`, and lets other work of the process go on every few milliseconds. */
  async turn(): Promise<void> {
    this.checkTime();
    if (performance.now() - this.#turn < TURN_MS) return;
    await nextTurn();
    this.#turn = performance.now();
  }
}

/** Data points of a series in the order of time. Times are milliseconds since the epoch. */
export class Points {
  readonly #budget: Budget;
  #times = new Float64Array(0);
  #values = new Float64Array(0);
  length = 0;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  get bytes(): number {
    return this.#times.length * POINT_BYTES;
  }

  time(index: number): number {
    return this.#times[index]!;
  }

  value(index: number): number {
    return this.#values[index]!;
  }

  /** The time of a point, or infinity after the last one. */
  timeOrEnd(index: number): number {
    return index < this.length ? this.#times[index]! : Number.POSITIVE_INFINITY;
  }

  /** Adds a point. One with the time of the last one replaces it. */
  add(time: number, value: number): void {
    if (this.length > 0 && this.#times[this.length - 1] === time) {
      this.#values[this.length - 1] = value;
      return;
    }
    if (this.length === this.#times.length) this.#grow();
    this.#times[this.length] = time;
    this.#values[this.length] = value;
    this.length += 1;
  }

  /** Gives its memory back to the budget. The points are gone. */
  clear(): void {
    this.#budget.release(this.bytes);
    this.#times = new Float64Array(0);
    this.#values = new Float64Array(0);
    this.length = 0;
  }

  #grow(): void {
    const size = Math.max(FIRST_POINTS, this.#times.length * 2);
    this.#budget.take((size - this.#times.length) * POINT_BYTES);
    const [times, values] = [new Float64Array(size), new Float64Array(size)];
    times.set(this.#times);
    values.set(this.#values);
    this.#times = times;
    this.#values = values;
  }
}

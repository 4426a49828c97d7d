import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

export interface LaneOptions<T> {
  /** How much an item counts towards `maxBatch`. */
  readonly weigh: (item: T) => number;
  readonly maxBatch: number;
  /** Least time from the end of one batch to the start of the next, unless a full one waits already. */
  readonly paceMs: number;
  /** Deals with a batch to its end, retries included. A rejection stops the lane for good. */
  readonly write: (batch: readonly T[]) => Promise<void>;
  /** Told once when `write` rejected; what was waiting stays undone. */
  readonly onBroken: (error: unknown) => void;
  /** True for an item that must be a batch of its own. */
  readonly alone?: (item: T) => boolean;
}

/**
 * Natural batching: one writer that, whenever it is free, takes all that is waiting, up to a limit. At low load
 * there is no timer: a batch is one message, and latency is one commit. Under load the writer keeps a pace,
 * since the cost of a commit hardly depends on its size: without it, a fast store would be given many small
 * batches. Items keep their order. The queue is bounded by its user, who stops reading the socket when too much
 * is in flight.
 */
export class Lane<T> {
  readonly #options: LaneOptions<T>;
  #waiting: T[] = [];
  #weight = 0;
  #current: readonly T[] = [];
  #ended = Number.NEGATIVE_INFINITY;
  #running = false;
  #broken = false;
  #idle: (() => void)[] = [];

  constructor(options: LaneOptions<T>) {
    this.#options = options;
  }

  /** The item that has waited longest, the batch under way included. */
  get oldest(): T | undefined {
    return this.#current[0] ?? this.#waiting[0];
  }

  push(item: T): void {
    this.#waiting.push(item);
    this.#weight += this.#options.weigh(item);
    if (this.#running || this.#broken) return;
    this.#running = true;
    void this.#run();
  }

  /** Resolves when nothing is waiting or under way; never, once the lane is broken with items left. */
  idle(): Promise<void> {
    if (!this.#running && this.#waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  async #run(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        await this.#keepPace();
        this.#current = this.#take();
        await this.#options.write(this.#current);
        this.#current = [];
        this.#ended = performance.now();
      }
    } catch (error) {
      this.#broken = true;
      this.#options.onBroken(error);
    }
    this.#running = false;
    if (this.#broken) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** A turn of the event loop at least, so that a store that works in this thread lets the socket be read. */
  async #keepPace(): Promise<void> {
    const { paceMs, maxBatch } = this.#options;
    const rest = this.#ended + paceMs - performance.now();
    if (rest > 0 && this.#weight < maxBatch) await sleep(rest);
    else await nextTurn();
  }

  #take(): T[] {
    const { weigh, maxBatch, alone } = this.#options;
    let weight = 0;
    let count = 0;
    for (const item of this.#waiting) {
      const single = alone?.(item) ?? false;
      if (count > 0 && (single || weight + weigh(item) > maxBatch)) break;
      weight += weigh(item);
      count++;
      if (single) break;
    }
    this.#weight -= weight;
    if (count < this.#waiting.length) return this.#waiting.splice(0, count);
    const all = this.#waiting;
    this.#waiting = [];
    return all;
  }
}

import { setImmediate as nextTurn } from 'node:timers/promises';

export interface LaneOptions<T> {
  /** How much an item counts towards `maxBatch`. */
  readonly weigh: (item: T) => number;
  readonly maxBatch: number;
  /** Deals with a batch to its end, retries included. A rejection stops the lane for good. */
  readonly write: (batch: readonly T[]) => Promise<void>;
  /** Told once when `write` rejected; what was waiting stays undone. */
  readonly onBroken: (error: unknown) => void;
  /** True for an item that must be a batch of its own. */
  readonly alone?: (item: T) => boolean;
}

/**
 * Natural batching: one writer that, whenever it is free, takes all that is waiting, up to a limit. There is
 * no timer: at low load a batch is one message and latency is one commit; at high load batches fill by
 * themselves because the writer is busy. Items keep their order. The queue is bounded by its user, who stops
 * reading the socket when too much is in flight.
 */
export class Lane<T> {
  readonly #options: LaneOptions<T>;
  #waiting: T[] = [];
  #current: readonly T[] = [];
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
    if (this.#running || this.#broken) return;
    this.#running = true;
    setImmediate(() => void this.#run());
  }

  /** Resolves when nothing is waiting or under way; never, once the lane is broken with items left. */
  idle(): Promise<void> {
    if (!this.#running && this.#waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  async #run(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        this.#current = this.#take();
        await this.#options.write(this.#current);
        this.#current = [];
        // A store that works in this thread would otherwise keep the socket from being read.
        if (this.#waiting.length > 0) await nextTurn();
      }
    } catch (error) {
      this.#broken = true;
      this.#options.onBroken(error);
    }
    this.#running = false;
    if (this.#broken) return;
    for (const resolve of this.#idle.splice(0)) resolve();
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
    if (count === this.#waiting.length) {
      const all = this.#waiting;
      this.#waiting = [];
      return all;
    }
    return this.#waiting.splice(0, count);
  }
}

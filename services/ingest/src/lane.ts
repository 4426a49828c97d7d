import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** How long items wait for others. */
export interface Hold {
  /** From the arrival of the first item of a batch, milliseconds. */
  readonly ms: number;
  /** Items of this weight wait no longer. */
  readonly weight: number;
}

export interface LaneOptions<T> {
  /** The weight of an item; `maxBatch` bounds the sum of a batch. */
  readonly weigh: (item: T) => number;
  readonly maxBatch: number;
  /** Least time from the end of one batch to the start of the next, milliseconds. A full batch starts at once. */
  readonly paceMs: number;
  /** Items wait so long for others, unless `release` is called. Default: they do not. */
  readonly hold?: Hold | undefined;
  /** Processes a batch, including retries. A rejection stops the lane for good. */
  readonly write: (batch: readonly T[]) => Promise<void>;
  /** Called once when `write` rejects. Waiting items are not processed. */
  readonly onBroken: (error: unknown) => void;
  /** Whether an item must be in its own batch. */
  readonly ownBatch?: (item: T) => boolean;
}

/**
 * Natural batching: one writer takes all waiting items, up to a limit, whenever it is free. At low load there is no
 * timer: a batch is one message, and latency is one commit. Under load the writer keeps a pace, because the cost of a
 * commit hardly depends on its size: without the pace a fast store would receive many small batches. With `hold`, a batch
 * waits for further items until `release`. Items keep their order. The caller bounds the queue: it stops reading the socket
 * when too much is in flight.
 */
export class Lane<T> {
  readonly #options: LaneOptions<T>;
  #waiting: T[] = [];
  #weight = 0;
  #current: readonly T[] = [];
  #ended = Number.NEGATIVE_INFINITY;
  /** When the hold of the waiting items ends. */
  #heldUntil = Number.NEGATIVE_INFINITY;
  /** Ends the wait for it. */
  #wake: (() => void) | null = null;
  #running = false;
  #broken = false;
  #idle: (() => void)[] = [];

  constructor(options: LaneOptions<T>) {
    this.#options = options;
  }

  /** The item that has waited longest, including the current batch. */
  get oldest(): T | undefined {
    return this.#current[0] ?? this.#waiting[0];
  }

  push(item: T): void {
    const { hold, weigh } = this.#options;
    if (hold !== undefined && this.#waiting.length === 0) this.#heldUntil = performance.now() + hold.ms;
    this.#waiting.push(item);
    this.#weight += weigh(item);
    if (hold !== undefined && this.#weight >= hold.weight) this.release();
    if (this.#running || this.#broken) return;
    this.#running = true;
    void this.#run();
  }

  /** Ends the hold of the waiting items: they are processed as soon as the pace allows. */
  release(): void {
    if (this.#waiting.length === 0) return;
    this.#heldUntil = Number.NEGATIVE_INFINITY;
    // Once: further items of the same read of a socket come before the wait has ended.
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }

  /** Resolves when no item is waiting or in progress. Does not resolve after the lane stopped with items left. */
  idle(): Promise<void> {
    if (!this.#running && this.#waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  async #run(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        const held = this.#heldUntil - performance.now();
        if (held > 0) await this.#waitHeld(held);
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

  async #waitHeld(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#wake = resolve;
    await promise;
    clearTimeout(timer);
  }

  /** Waits at least one turn of the event loop, so that sockets are read also when the store works in this thread. */
  async #keepPace(): Promise<void> {
    const { paceMs, maxBatch } = this.#options;
    const rest = this.#ended + paceMs - performance.now();
    if (rest > 0 && this.#weight < maxBatch) await sleep(rest);
    else await nextTurn();
  }

  #take(): T[] {
    const { weigh, maxBatch, ownBatch } = this.#options;
    let weight = 0;
    let count = 0;
    for (const item of this.#waiting) {
      const single = ownBatch?.(item) ?? false;
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

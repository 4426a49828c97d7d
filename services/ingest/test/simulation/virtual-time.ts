import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * The owner of a timer. Those of a process end when it is killed. `peer`: the process of the second board. `centre`: the one to
 * which boards relay.
 */
export type Owner = 'world' | 'process' | 'peer' | 'centre' | 'replica';

/** A timer of virtual time. Its methods are those that callers of Node's timers use. */
export class Timer {
  /** When it fires, milliseconds of the monotonic clock. */
  at: number;
  /** Timers of the same time fire in the order of their creation. */
  order: number;
  isOpen = true;
  readonly owner: Owner;
  /** For the trace. */
  readonly what: string;
  readonly run: () => void;

  constructor(at: number, order: number, owner: Owner, what: string, run: () => void) {
    this.at = at;
    this.order = order;
    this.owner = owner;
    this.what = what;
    this.run = run;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/** The longest time between two turns of an event loop that has nothing else to do, milliseconds. */
const TURN_MS = 0.02;

/** Clocks and timers. Time passes only in `next`, so a schedule of hours takes milliseconds. */
export class VirtualTime {
  /** The monotonic clock, milliseconds. */
  now = 0;
  /** The system clock minus the monotonic clock, milliseconds. */
  wallOffset: number;
  readonly #random: () => number;
  /** Whose code runs, if it is not that of the first process. */
  readonly #owner = new AsyncLocalStorage<Owner>();
  /** The last one fires first. */
  #timers: Timer[] = [];
  #created = 0;

  /** @param random a random number from 0 to 1, without 1 */
  constructor(wall: number, random: () => number) {
    this.wallOffset = wall;
    this.#random = random;
  }

  /** The system clock, whole milliseconds since the epoch. */
  get wall(): number {
    return Math.floor(this.now + this.wallOffset);
  }

  /** The process whose code runs now. */
  get owner(): Owner {
    return this.#owner.getStore() ?? 'process';
  }

  /** Runs code of a process. All that follows from it is of this process. */
  runAs<T>(owner: Owner, work: () => T): T {
    return this.#owner.run(owner, work);
  }

  after(ms: number, owner: Owner, what: string, run: () => void): Timer {
    const timer = new Timer(this.now + ms, this.#created++, owner, what, run);
    this.#insert(timer);
    return timer;
  }

  /** As Node's timers: whole milliseconds, and at least one. */
  timeout(ms: number | undefined, run: () => void): Timer {
    return this.after(wholeMs(ms), this.owner, 'timer', this.#owned(run));
  }

  interval(ms: number | undefined, run: () => void): Timer {
    const owned = this.#owned(run);
    const timer = this.after(wholeMs(ms), this.owner, 'interval', () => {
      owned();
      if (!timer.isOpen) return;
      timer.at = this.now + wholeMs(ms);
      timer.order = this.#created++;
      this.#insert(timer);
    });
    return timer;
  }

  /** The next turn of the event loop. Operations of the disk and the network can end before it. */
  turn(run: () => void): Timer {
    return this.after(this.#random() * TURN_MS, this.owner, 'turn', this.#owned(run));
  }

  cancel(timer: Timer): void {
    timer.isOpen = false;
  }

  /** Ends the timers of a process. */
  endProcess(ended: Owner): void {
    this.#timers = this.#timers.filter(({ owner }) => owner !== ended);
  }

  /** Advances to the next timer; null when there is none. */
  next(): Timer | null {
    for (let timer = this.#timers.pop(); timer !== undefined; timer = this.#timers.pop()) {
      if (!timer.isOpen) continue;
      this.now = timer.at;
      return timer;
    }
    return null;
  }

  #owned(run: () => void): () => void {
    const owner = this.#owner.getStore();
    return owner === undefined ? run : () => this.#owner.run(owner, run);
  }

  #insert(timer: Timer): void {
    let low = 0;
    let high = this.#timers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#timers[middle]!;
      if (other.at > timer.at || (other.at === timer.at && other.order > timer.order)) low = middle + 1;
      else high = middle;
    }
    this.#timers.splice(low, 0, timer);
  }
}

function wholeMs(ms = 1): number {
  return Math.max(1, Math.trunc(ms));
}

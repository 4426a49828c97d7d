/**
 * Numbers for records that are inserted during a run, divided among `threads` without communication: thread t uses
 * start + t, start + t + threads, ... With one thread this is YCSB's AcknowledgedCounterGenerator. Each thread
 * assumes that the others have made the same progress. Instead of a record of another thread it reads its own record
 * of the same round, so that it reads only existing records, and over all threads records are as popular as in YCSB.
 */
export class Inserts {
  readonly #start: number;
  readonly #thread: number;
  readonly #threads: number;
  #taken = 0;
  #acknowledged = 0;

  constructor(start: number, thread: number, threads: number) {
    this.#start = start;
    this.#thread = thread;
    this.#threads = threads;
  }

  next(): number {
    const number = this.#start + this.#thread + this.#taken * this.#threads;
    this.#taken += 1;
    return number;
  }

  /** Marks the taken numbers as done, whatever the outcome. */
  acknowledge(): void {
    this.#acknowledged = this.#taken;
  }

  /** The highest number that exists. */
  last(): number {
    return this.#start - 1 + this.#acknowledged * this.#threads;
  }

  /** The number to read instead of `number`, which is at most `last()`. */
  present(number: number): number {
    if (number < this.#start) return number;
    return number - ((number - this.#start) % this.#threads) + this.#thread;
  }
}

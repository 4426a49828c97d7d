/**
 * Numbers for records that are inserted during a run, shared among `threads` without a word between them: thread
 * t takes start + t, start + t + threads, ... With one thread this is YCSB's AcknowledgedCounterGenerator. Each
 * thread takes the others to be as far as itself, and where it means a record of another, asks for its own
 * beside it, so that nothing is asked for that is not there, and over all threads records are as popular as
 * in YCSB.
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

  /** What has been taken is done, whatever its outcome. */
  acknowledge(): void {
    this.#acknowledged = this.#taken;
  }

  /** The highest number that is there. */
  last(): number {
    return this.#start - 1 + this.#acknowledged * this.#threads;
  }

  /** The number to ask for, when `number`, at most `last()`, is meant. */
  present(number: number): number {
    if (number < this.#start) return number;
    return number - ((number - this.#start) % this.#threads) + this.#thread;
  }
}

import type { Reading } from '@tidegauge/readings';
import { BOUNDS } from '../memory.ts';
import { readingBytes } from '../reading-bytes.ts';

/** Readings that are taken in one turn of the event loop: about 0.3 ms. */
const SLICE = 1000;

export interface ReadingQueueOptions {
  /** Called for each reading, in order. Must not throw. */
  readonly take: (reading: Reading) => void;
  /** Called when the oldest readings were dropped while the queue was not open, once until it is empty. */
  readonly onDropped: () => void;
  readonly maxBytes?: number;
}

/**
 * Readings that were stored and acknowledged, on their way to the rules. They are taken in later turns of the event
 * loop, a few at a time, so that rules delay neither an acknowledgement nor the next messages. Bounded in bytes: the
 * oldest readings beyond it are taken at once, or, while the queue is not open, dropped and counted.
 */
export class ReadingQueue {
  dropped = 0;
  readonly #options: ReadingQueueOptions;
  readonly #maxBytes: number;
  #batches: { readonly readings: readonly Reading[]; readonly bytes: number }[] = [];
  /** Readings of the first batch that were taken. */
  #taken = 0;
  #bytes = 0;
  #isOpen = false;
  #isScheduled = false;
  #isReported = false;

  constructor(options: ReadingQueueOptions) {
    this.#options = options;
    this.#maxBytes = options.maxBytes ?? BOUNDS.alertReadings;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(readings: readonly Reading[]): void {
    let bytes = 0;
    for (const reading of readings) bytes += readingBytes(reading);
    this.#batches.push({ readings, bytes });
    this.#bytes += bytes;
    while (this.#bytes > this.#maxBytes) {
      if (this.#isOpen) this.#take(this.#batches[0]!.readings.length);
      else this.#drop();
    }
    this.#schedule();
  }

  /** Begins to take readings, or stops. Waiting readings stay within the bound. */
  open(isOpen: boolean): void {
    this.#isOpen = isOpen;
    this.#schedule();
  }

  clear(): void {
    this.#batches = [];
    this.#taken = 0;
    this.#bytes = 0;
    this.#isReported = false;
  }

  #drop(): void {
    const { readings, bytes } = this.#batches.shift()!;
    this.dropped += readings.length - this.#taken;
    this.#taken = 0;
    this.#bytes -= bytes;
    if (this.#isReported) return;
    this.#isReported = true;
    this.#options.onDropped();
  }

  #schedule(): void {
    if (this.#isScheduled || !this.#isOpen || this.#batches.length === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#slice();
      this.#schedule();
    });
  }

  #slice(): void {
    for (let left = SLICE; left > 0 && this.#isOpen && this.#batches.length > 0; ) left -= this.#take(left);
    if (this.#batches.length === 0) this.#isReported = false;
  }

  /** Takes up to `most` readings of the first batch. Returns how many. */
  #take(most: number): number {
    const { readings, bytes } = this.#batches[0]!;
    const first = this.#taken;
    const end = Math.min(readings.length, first + most);
    for (; this.#taken < end; this.#taken++) this.#options.take(readings[this.#taken]!);
    if (end === readings.length) {
      this.#batches.shift();
      this.#taken = 0;
      this.#bytes -= bytes;
    }
    return end - first;
  }
}

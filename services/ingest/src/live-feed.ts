import { type LiveLine, type Reading, toReadingDocumentWithUnit } from '@tidegauge/readings';
import type { SeriesName } from '@tidegauge/storage';
import { readingBytes } from './reading-bytes.ts';

const WINDOW_MS = 100;
/** Readings in one window at most. Older readings beyond this are counted as missed. */
const CAPACITY = 500;
/** Approximate memory of the readings in a window. */
const CAPACITY_BYTES = 256 * 1024;
const MAX_LISTENERS = 16;

export interface LiveListener {
  line(line: LiveLine): void;
  /** Called once, after the last line. */
  end(): void;
}

/**
 * The readings that were just committed, for listeners. Without listeners a commit costs one comparison. With
 * listeners, a window of 100 ms holds the newest 500 readings (at most 256 KiB) and the number of readings that were
 * left out. Therefore many readings, large texts or a slow listener neither grow memory nor delay a commit.
 */
export class LiveFeed {
  readonly #listeners = new Set<LiveListener>();
  readonly #unitOf: (series: SeriesName) => string | null;
  readonly #epoch = Date.now().toString(36);
  #window: Reading[] = [];
  #bytes = 0;
  #missed = 0;
  #next = 0;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  /** @param unitOf the unit of a series, if it is known without a read of the store */
  constructor(unitOf: (series: SeriesName) => string | null = () => null) {
    this.#unitOf = unitOf;
  }

  push(readings: readonly Reading[]): void {
    if (this.#listeners.size === 0) return;
    const from = Math.max(readings.length - CAPACITY, 0);
    this.#missed += from;
    for (let index = from; index < readings.length; index++) {
      const reading = readings[index]!;
      this.#window.push(reading);
      this.#bytes += readingBytes(reading);
    }
    if (this.#window.length > CAPACITY || this.#bytes > CAPACITY_BYTES) this.#trim();
    this.#timer ??= setTimeout(() => this.#flush(), WINDOW_MS);
  }

  /**
   * @returns a function that removes the listener, or null when there are too many listeners or the feed is closed
   */
  listen(listener: LiveListener): (() => void) | null {
    if (this.#closed || this.#listeners.size >= MAX_LISTENERS) return null;
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#clear();
    };
  }

  /** Ends and removes all listeners. */
  close(): void {
    this.#closed = true;
    for (const listener of this.#listeners) listener.end();
    this.#listeners.clear();
    this.#clear();
  }

  #clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#window = [];
    this.#bytes = 0;
    this.#missed = 0;
  }

  /** Drops the oldest readings until the window is within its bounds. */
  #trim(): void {
    let gone = 0;
    while (this.#window.length - gone > CAPACITY || this.#bytes > CAPACITY_BYTES) {
      this.#bytes -= readingBytes(this.#window[gone]!);
      gone += 1;
    }
    this.#missed += gone;
    this.#window = this.#window.slice(gone);
  }

  #flush(): void {
    this.#timer = null;
    const id = `${this.#epoch}-${this.#next++}`;
    const lines: LiveLine[] = [];
    if (this.#missed > 0) lines.push({ id: `${id}m`, missed: this.#missed });
    lines.push({
      id,
      readings: this.#window.map((reading) => toReadingDocumentWithUnit(reading, this.#unitOf(reading))),
    });
    this.#window = [];
    this.#bytes = 0;
    this.#missed = 0;
    for (const listener of this.#listeners) for (const line of lines) listener.line(line);
  }
}

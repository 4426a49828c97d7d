import { Day } from './day.ts';
import type { SkippedLines } from './skipped-lines.ts';

const MAX_OPEN = 64;

interface Entry {
  readonly day: Day;
  users: number;
}

/**
 * The days in memory. The least recently used days are removed when the indexes take more than `maxBytes`, or more
 * than 64 files are open. They are read again when needed. Days in use stay, so the largest day is the least
 * memory.
 */
export class Days {
  readonly #folder: string;
  readonly #maxBytes: number;
  readonly #skipped: SkippedLines;
  /** By the time of the last use, the latest at the end. */
  readonly #entries = new Map<number, Entry>();

  constructor(folder: string, maxBytes: number, skipped: SkippedLines) {
    this.#folder = folder;
    this.#maxBytes = maxBytes;
    this.#skipped = skipped;
  }

  /** Bytes of all indexes in memory. */
  get bytes(): number {
    let bytes = 0;
    for (const { day } of this.#entries.values()) bytes += day.bytes;
    return bytes;
  }

  has(day: number): boolean {
    return this.#entries.has(day);
  }

  async use<T>(number: number, call: (day: Day) => Promise<T>): Promise<T> {
    const entry = this.#entries.get(number) ?? {
      day: new Day(this.#folder, number, this.#skipped),
      users: 0,
    };
    this.#entries.delete(number);
    this.#entries.set(number, entry);
    entry.users += 1;
    try {
      return await call(entry.day);
    } finally {
      entry.users -= 1;
      await this.#trim();
    }
  }

  async close(): Promise<void> {
    const days = [...this.#entries.values()];
    this.#entries.clear();
    for (const { day } of days) await day.close();
  }

  async #trim(): Promise<void> {
    let bytes = this.bytes;
    for (const [number, { day, users }] of this.#entries) {
      const left = this.#entries.size;
      if (left === 1 || (bytes <= this.#maxBytes && left <= MAX_OPEN)) return;
      if (users > 0 || day.busy) continue;
      this.#entries.delete(number);
      bytes -= day.bytes;
      await day.close();
    }
  }
}

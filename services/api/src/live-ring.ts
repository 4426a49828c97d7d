import { randomBytes } from 'node:crypto';
import type { ReadingDocument } from '@tidegauge/readings';

/** One event of the live feed. */
export interface LiveEntry {
  /** Position in the feed. */
  readonly index: number;
  /** Readings of the feed up to the end of this entry, those missed included. */
  readonly total: number;
  readonly content: LiveContent;
}

/** Readings, or how many nobody got; null where that is unknown. */
export type LiveContent =
  | { readonly readings: readonly ReadingDocument[] }
  | { readonly missed: number | null };

/** A place in the feed: the next entry to send, and the readings that went before it. */
export interface LivePosition {
  readonly index: number;
  readonly total: number;
}

const MAX_EVENT_READINGS = 500;

/**
 * The recent past of the live feed, bounded in readings. Positions only grow; one that has fallen off the
 * end can still say how many readings it missed, since every entry knows the running total.
 */
export class LiveRing {
  readonly #capacity: number;
  /** Tells the ids of this ring from those of a process before it. */
  readonly #epoch = randomBytes(5).toString('hex');
  #entries: LiveEntry[] = [];
  /** Entries before this one in `#entries` are gone; cut off now and then, so that dropping is cheap. */
  #head = 0;
  #end: LivePosition = { index: 0, total: 0 };
  #oldest: LivePosition = { index: 0, total: 0 };

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get oldest(): LivePosition {
    return this.#oldest;
  }

  get end(): LivePosition {
    return this.#end;
  }

  /** Adds a line of ingest's feed, long ones in pieces; drops the oldest beyond the capacity. */
  append(content: LiveContent): void {
    if ('missed' in content) {
      this.#add(content, content.missed ?? 0);
    } else {
      const { readings } = content;
      for (let start = 0; start < readings.length; start += MAX_EVENT_READINGS) {
        const piece = readings.slice(start, start + MAX_EVENT_READINGS);
        this.#add({ readings: piece }, piece.length);
      }
    }
    while (this.#end.total - this.#oldest.total > this.#capacity || this.#length > this.#capacity)
      this.#drop();
  }

  at(index: number): LiveEntry | undefined {
    return index < this.#oldest.index ? undefined : this.#entries[this.#head + index - this.#oldest.index];
  }

  /** The id of an event that ends at a position. */
  id({ index, total }: LivePosition): string {
    return `${this.#epoch}-${index}-${total}`;
  }

  /** Where a client goes on that got everything up to `id`; null when the id is not of this ring. */
  locate(id: string): LivePosition | null {
    const match = /^([0-9a-f]+)-(\d{1,15})-(\d{1,15})$/.exec(id);
    if (match === null || match[1] !== this.#epoch) return null;
    const position = { index: Number(match[2]), total: Number(match[3]) };
    return position.index <= this.#end.index && position.total <= this.#end.total ? position : null;
  }

  get #length(): number {
    return this.#entries.length - this.#head;
  }

  #add(content: LiveContent, readings: number): void {
    const index = this.#end.index;
    const total = this.#end.total + readings;
    this.#entries.push({ index, total, content });
    this.#end = { index: index + 1, total };
  }

  #drop(): void {
    const { index, total } = this.#entries[this.#head++]!;
    this.#oldest = { index: index + 1, total };
    if (this.#head > 1024 && this.#head * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
  }
}

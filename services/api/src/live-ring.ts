import { randomBytes } from 'node:crypto';
import type { ReadingDocument } from '@tidegauge/readings';
import { LiveEvent, type SerialisedReading, serialise, sizeOf } from './live-event.ts';

/** One event of the live feed. */
export interface LiveEntry {
  /** Position in the feed. */
  readonly index: number;
  /** Number of readings in the feed up to the end of this entry, including missed ones. */
  readonly total: number;
  readonly content: LiveEvent | LiveGap;
  /** Approximate memory, bytes. */
  readonly bytes: number;
}

const ENTRY_BYTES = 200;
const DROPPED: LiveEntry = { index: -1, total: -1, content: { missed: null }, bytes: 0 };

/** Number of readings that are missing in the feed; null when it is unknown. */
export interface LiveGap {
  readonly missed: number | null;
}

export type LiveContent = { readonly readings: readonly ReadingDocument[] } | LiveGap;

/** A position in the feed: the index of the next entry to send, and the number of readings before it. */
export interface LivePosition {
  readonly index: number;
  readonly total: number;
}

/** The ring of another process, and its end. */
export interface LiveStart {
  readonly epoch: string;
  readonly position: LivePosition;
}

const MAX_EVENT_READINGS = 500;
const MAX_EVENT_BYTES = 64 * 1024;

/**
 * The recent entries of the live feed, bounded in readings and in bytes of memory. Positions only grow. For a position
 * whose entry was dropped, the number of missed readings is still known, because each position has a running total.
 */
export class LiveRing {
  readonly #capacity: number;
  readonly #maxBytes: number;
  /** Distinguishes the ids of this ring from those of earlier rings and processes. */
  readonly epoch: string;
  #entries: LiveEntry[] = [];
  /** Index of the oldest entry in `#entries`. Dropped entries before it are removed in groups, which is cheaper. */
  #head = 0;
  #end: LivePosition = { index: 0, total: 0 };
  #oldest: LivePosition = { index: 0, total: 0 };

  /** Approximate memory of the entries, bytes. */
  #bytes = 0;

  /**
   * @param start where the ring of another process is, which appends the same. Default: a new ring
   */
  constructor(capacity: number, maxBytes: number, start: LiveStart | null = null) {
    this.#capacity = capacity;
    this.#maxBytes = maxBytes;
    this.epoch = start?.epoch ?? randomBytes(5).toString('hex');
    if (start !== null) this.skipTo(start.position);
  }

  get bytes(): number {
    return this.#bytes;
  }

  get oldest(): LivePosition {
    return this.#oldest;
  }

  get end(): LivePosition {
    return this.#end;
  }

  /** Adds a line of ingest's feed; a long line becomes several entries. Drops the oldest beyond the capacity. */
  append(content: LiveContent): void {
    if ('missed' in content) {
      this.#add(() => content, content.missed ?? 0, ENTRY_BYTES);
    } else {
      for (const { readings, bytes } of pieces(content.readings)) {
        this.#add((id) => new LiveEvent(id, readings), readings.length, bytes + ENTRY_BYTES);
      }
    }
    while (
      this.#end.total - this.#oldest.total > this.#capacity ||
      this.#length > this.#capacity ||
      this.#bytes > this.#maxBytes
    )
      this.#drop();
  }

  /** Continues at a later position without the entries before it. */
  skipTo(position: LivePosition): void {
    this.#entries = [];
    this.#head = this.#bytes = 0;
    this.#oldest = this.#end = position;
  }

  at(index: number): LiveEntry | undefined {
    return index < this.#oldest.index ? undefined : this.#entries[this.#head + index - this.#oldest.index];
  }

  /** The id of an event that ends at a position. */
  id({ index, total }: LivePosition): string {
    return `${this.epoch}-${index}-${total}`;
  }

  /** The position after the event `id`; null when the id is not from this ring. */
  locate(id: string): LivePosition | null {
    const match = /^([0-9a-f]+)-(\d{1,15})-(\d{1,15})$/.exec(id);
    if (match === null || match[1] !== this.epoch) return null;
    const position = { index: Number(match[2]), total: Number(match[3]) };
    return position.index <= this.#end.index && position.total <= this.#end.total ? position : null;
  }

  get #length(): number {
    return this.#entries.length - this.#head;
  }

  #add(make: (id: string) => LiveEntry['content'], readings: number, bytes: number): void {
    const index = this.#end.index;
    const total = this.#end.total + readings;
    this.#end = { index: index + 1, total };
    this.#entries.push({ index, total, content: make(this.id(this.#end)), bytes });
    this.#bytes += bytes;
  }

  #drop(): void {
    const { index, total, bytes } = this.#entries[this.#head]!;
    // The content is released at once; the array is shortened later.
    this.#entries[this.#head++] = DROPPED;
    this.#bytes -= bytes;
    this.#oldest = { index: index + 1, total };
    if (this.#head > 1024 && this.#head * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
  }
}

/** Splits a line into events of limited size. */
function* pieces(
  readings: readonly ReadingDocument[],
): Generator<{ readonly readings: readonly SerialisedReading[]; readonly bytes: number }> {
  let piece: SerialisedReading[] = [];
  let bytes = 0;
  for (const document of readings) {
    const reading = serialise(document);
    const more = sizeOf(reading);
    if (piece.length > 0 && (piece.length === MAX_EVENT_READINGS || bytes + more > MAX_EVENT_BYTES)) {
      yield { readings: piece, bytes };
      piece = [];
      bytes = 0;
    }
    piece.push(reading);
    bytes += more;
  }
  if (piece.length > 0) yield { readings: piece, bytes };
}

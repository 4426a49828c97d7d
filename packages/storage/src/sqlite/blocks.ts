import { Block, DamagedBlock, encodeBlock } from '@tidegauge/columns';
import type { Order } from '../contract.ts';
import { DAMAGED, StoreError } from '../errors.ts';
import type { PageQuery } from '../merge.ts';
import type { Database } from './database.ts';
import type { Row } from './mapping.ts';

/** The most readings of a block. A rewriting of so many takes some milliseconds. */
const BLOCK_READINGS = 1024;
/** The most bytes of the texts of a block, unless it has one reading. */
export const BLOCK_BYTES = 128 * 1024;
/** Decoded blocks that are kept for the next pages: about 100 KiB each, or three times `BLOCK_BYTES`. */
const CACHED = 8;
const CACHED_BOOTS = 1000;

/** A row of `readings` without its series. The boot is its number, and `delay` the difference of `received` to `time`. */
export type Entry = readonly [
  time: number,
  value: number | string,
  delay: number,
  boot: number | null,
  seq: number | null,
  quality: number,
];

export interface BlockRange {
  readonly id: number;
  /** The time of its first reading. */
  readonly first: number;
  readonly last: number;
  readonly count: number;
}

// The blocks of a series do not overlap. So the one that begins last before `from` is the only one that can reach into it.
const NEXT = (order: Order) => `
  select id, first, last, count from tidegauge_blocks
  where series = ?1 and first < ?3 and last >= ?2 and first >= coalesce(
    (select first from tidegauge_blocks where series = ?1 and first <= ?2 order by first desc limit 1), ?2)
  order by first ${order} limit 1`;
const NEXTS: Readonly<Record<Order, string>> = { asc: NEXT('asc'), desc: NEXT('desc') };
const END = 'select last from tidegauge_blocks where series = ? order by first desc limit 1';
const PUT = 'insert into tidegauge_blocks (series, first, last, count, data) values (?, ?, ?, ?, ?)';
const TIMES = 'select time from readings where series = ? and time >= ? and time < ? order by time';

/**
 * The compressed part of the readings: blocks of one series each, which no other block of the series overlaps. All are older
 * than the readings in `recent`. A row of `readings` can have the time of a reading in a block, and replaces it. Call the
 * methods inside `run`, `read` or `transaction`.
 */
export class Blocks {
  readonly readings: number;
  readonly #db: Database;
  /** By their id, which no other block ever gets. The latest used is the last. */
  readonly #decoded = new Map<number, Block>();
  readonly #boots = new Map<number, string>();

  /** @param readings the most of a block */
  constructor(db: Database, readings = BLOCK_READINGS) {
    this.#db = db;
    this.readings = readings;
  }

  /** After a rollback, another block can get the id of one that was stored. */
  clear(): void {
    this.#decoded.clear();
    this.#boots.clear();
  }

  /** The first block, in an order, with times in [from, to). */
  next(series: number, from: number, to: number, order: Order = 'asc'): BlockRange | null {
    const row = this.#db.statement(NEXTS[order]).get(series, from, to);
    return (row ?? null) as unknown as BlockRange | null;
  }

  /** The time of the last reading in a block, or -1. */
  end(series: number): number {
    return (this.#db.statement(END).get(series)?.last as number | undefined) ?? -1;
  }

  /** Merges a page of rows of `readings` with the blocks. The rows are all of the page, up to its limit. */
  page(series: number, rows: readonly Row[], { from, to, order, limit }: PageQuery): readonly Row[] {
    // Behind the last row of a full page, nothing is needed.
    const last = rows.length === limit ? (rows.at(-1)?.[0] as number) : null;
    const start = last !== null && order === 'desc' ? last : from;
    const end = last !== null && order === 'asc' ? last + 1 : to;
    const older = this.#rows(series, { from: start, to: end, order, limit });
    return older.length === 0 ? rows : mergedRows(rows, older, order, limit);
  }

  /** The numeric readings in [from, to) that no row of `readings` replaces. */
  eachNumber(series: number, from: number, to: number, add: (time: number, value: number) => void): void {
    for (let start = from; ; ) {
      const range = this.next(series, start, to);
      if (range === null) return;
      start = range.last + 1;
      const { times, values } = this.#open(range);
      const replaced = this.#replaced(series, range, from, to);
      const end = lowerBound(times, to);
      for (let index = lowerBound(times, from); index < end; index += 1) {
        const [time, value] = [times[index]!, values[index]!];
        if (typeof value === 'number' && !replaced.has(time)) add(time, value);
      }
    }
  }

  /** Whether a block has this reading, and no row of `readings` replaces it. */
  holds(series: number, time: number, value: number | string): boolean {
    const range = this.next(series, time, time + 1);
    if (range === null) return false;
    const { times, values } = this.#open(range);
    const index = lowerBound(times, time);
    if (times[index] !== time || values[index] !== value) return false;
    return this.#replaced(series, range, time, time + 1).size === 0;
  }

  /** All readings of a block. */
  entries(range: BlockRange): Entry[] {
    const block = this.#open(range);
    return Array.from(block.times, (_, index) => entryOf(block, index));
  }

  /** Stores readings of a series in blocks. They are ordered by time, and no other block has times between them. */
  put(series: number, entries: readonly Entry[]): void {
    for (const part of partsOf(entries, this.readings)) {
      const data = encodeBlock({
        times: part.map(([time]) => time),
        values: part.map(([, value]) => value),
        received: part.map(([time, , delay]) => time + delay),
        boots: part.map(([, , , boot]) => boot),
        seqs: part.map(([, , , , seq]) => seq),
        qualities: part.map(([, , , , , quality]) => quality),
      });
      this.#db.statement(PUT).run(series, part[0]![0], part.at(-1)![0], part.length, data);
    }
  }

  drop({ id }: BlockRange): void {
    this.#db.statement('delete from tidegauge_blocks where id = ?').run(id);
    this.#decoded.delete(id);
  }

  /**
   * Deletes the readings in [from, to) of the first block that has any. Returns their number without those that a row of
   * `readings` replaces, which the caller deletes later. Null: no block has any.
   */
  remove(series: number, from: number, to: number): number | null {
    const range = this.next(series, from, to);
    if (range === null) return null;
    const replaced = this.#replaced(series, range, from, to);
    const isWhole = from <= range.first && range.last < to;
    if (isWhole && replaced.size === 0) {
      this.drop(range);
      return range.count;
    }
    const entries = this.entries(range);
    const removed = entries.filter(([time]) => time >= from && time < to);
    this.drop(range);
    // The two parts that are left are apart, so that later readings between them do not rewrite both.
    this.put(
      series,
      entries.filter(([time]) => time < from),
    );
    this.put(
      series,
      entries.filter(([time]) => time >= to),
    );
    return removed.filter(([time]) => !replaced.has(time)).length;
  }

  #rows(series: number, { from: start, to: end, order, limit }: PageQuery): Row[] {
    const found: Row[] = [];
    let [from, to] = [start, end];
    while (found.length < limit) {
      const range = this.next(series, from, to, order);
      if (range === null) break;
      const block = this.#open(range);
      const [low, high] = [lowerBound(block.times, from), lowerBound(block.times, to)];
      const count = Math.min(high - low, limit - found.length);
      for (let index = 0; index < count; index += 1)
        found.push(this.#row(block, order === 'asc' ? low + index : high - 1 - index));
      if (order === 'asc') from = range.last + 1;
      else to = range.first;
    }
    return found;
  }

  #row(block: Block, index: number): Row {
    const [time, value, delay, boot, seq, quality] = entryOf(block, index);
    return [time, value, delay, boot === null ? null : this.#boot(boot), seq, quality];
  }

  #boot(id: number): string {
    let boot = this.#boots.get(id);
    if (boot === undefined) {
      boot = this.#db.statement('select boot from boots where id = ?').get(id)!.boot as string;
      if (this.#boots.size >= CACHED_BOOTS) this.#boots.clear();
      this.#boots.set(id, boot);
    }
    return boot;
  }

  /** The times of rows of `readings` in a part of a block. */
  #replaced(series: number, { first, last }: BlockRange, from: number, to: number): ReadonlySet<number> {
    const bounds = [Math.max(first, from), Math.min(last + 1, to)];
    const rows = this.#db.arrays(TIMES).all(series, ...bounds) as unknown as [number][];
    return new Set(rows.map(([time]) => time));
  }

  #open({ id, first }: BlockRange): Block {
    let block = this.#decoded.get(id);
    if (block === undefined) {
      const { data } = this.#db.statement('select data from tidegauge_blocks where id = ?').get(id)!;
      try {
        block = new Block(data as Uint8Array);
      } catch (error) {
        if (!(error instanceof DamagedBlock)) throw error;
        throw new StoreError('MISCONFIGURED', `block ${id} of readings from ${first} on: ${error.message}`, {
          hint: DAMAGED,
          cause: error,
        });
      }
    }
    this.#decoded.delete(id);
    this.#decoded.set(id, block);
    if (this.#decoded.size > CACHED) this.#decoded.delete(this.#decoded.keys().next().value!);
    return block;
  }
}

function entryOf({ times, values, received, boots, seqs, qualities }: Block, index: number): Entry {
  const time = times[index]!;
  return [time, values[index]!, received[index]! - time, boots[index]!, seqs[index]!, qualities[index]!];
}

/** Rows, and the older ones that none of them replaces. */
function mergedRows(rows: readonly Row[], older: readonly Row[], order: Order, limit: number): Row[] {
  const sign = order === 'asc' ? 1 : -1;
  const merged: Row[] = [];
  let [row, old] = [0, 0];
  while (merged.length < limit && (row < rows.length || old < older.length)) {
    const next = rows[row];
    const other = older[old];
    const difference =
      next === undefined ? 1 : other === undefined ? -1 : sign * ((next[0] as number) - (other[0] as number));
    merged.push(difference > 0 ? other! : next!);
    if (difference <= 0) row += 1;
    if (difference >= 0) old += 1;
  }
  return merged;
}

/** Parts of about the same size, which fit in a block. */
function* partsOf(entries: readonly Entry[], readings: number): Generator<readonly Entry[]> {
  const parts = Math.ceil(entries.length / readings);
  const size = Math.ceil(entries.length / parts);
  let [start, bytes] = [0, 0];
  for (const [index, entry] of entries.entries()) {
    const more = textBytes(entry);
    if (index > start && (index - start === size || bytes + more > BLOCK_BYTES)) {
      yield entries.slice(start, index);
      [start, bytes] = [index, 0];
    }
    bytes += more;
  }
  if (start < entries.length) yield entries.slice(start);
}

/** The bytes of the text of an entry, at most. */
export function textBytes([, value]: Entry): number {
  return typeof value === 'string' ? 3 * value.length : 0;
}

/** The position of the first time that is not before `time`. */
function lowerBound(times: Float64Array, time: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (times[middle]! < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

import { Block, DamagedBlock, encodeBlock } from '@tidegauge/columns';
import type { NumbersPage } from '../backend.ts';
import type { Order } from '../contract.ts';
import { DAMAGED, isDamaged, StoreError } from '../errors.ts';
import type { PageQuery } from '../merge.ts';
import type { Database } from './database.ts';
import type { Row } from './mapping.ts';

/** The least readings of a block of new ones, and half of the most. A rewriting of so many takes some milliseconds. */
const BLOCK_READINGS = 1024;
/** Bytes of a block that fill a page of 4 KiB, less 3 % by which blocks of a series differ. Others leave a part of it free. */
const PAGE_BYTES = 3900;
/** The most bytes of the texts of a block, unless it has one reading. */
export const BLOCK_BYTES = 128 * 1024;
/** Decoded blocks that are kept for the next pages: at most 200 KiB each, or three times `BLOCK_BYTES`. */
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
const DENSITY =
  'select count, length(data) as bytes from tidegauge_blocks where series = ? order by first desc limit 1';
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

  /** @param readings the least of a block of new ones, and half of the most */
  constructor(db: Database, readings = BLOCK_READINGS) {
    this.#db = db;
    this.readings = readings;
  }

  /** After a rollback, another block can get the id of one that was stored. */
  clear(): void {
    this.#decoded.clear();
    this.#boots.clear();
  }

  /** The number of readings with which the next block of a series fills a page, if it is like the last one. */
  nextSize(series: number): number {
    const last = this.#db.statement(DENSITY).get(series) as { count: number; bytes: number } | undefined;
    const fitting = last === undefined ? 0 : Math.floor((last.count * PAGE_BYTES) / last.bytes);
    return Math.max(this.readings, Math.min(fitting, 2 * this.readings));
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

  /**
   * A page of rows of `readings` and of readings in blocks. The side whose times mostly come first is read first: when it
   * fills the page, little of the other one is needed.
   *
   * @param read rows of `readings` with times in [from, to), at most those of a page
   */
  page(series: number, query: PageQuery, read: (from: number, to: number) => readonly Row[]): readonly Row[] {
    const { from, to, order, limit } = query;
    if (order === 'asc') {
      const older = this.#rows(series, query);
      const rows = read(from, older.length === limit ? (older.at(-1)![0] as number) + 1 : to);
      return mergedRows(rows, older, order, limit);
    }
    const rows = read(from, to);
    const start = rows.length === limit ? (rows.at(-1)![0] as number) : from;
    return mergedRows(rows, this.#rows(series, { ...query, from: start }), order, limit);
  }

  /** The numeric readings in [from, to) that no row of `readings` replaces, block by block. */
  *numbers(series: number, from: number, to: number): Generator<NumbersPage> {
    for (let start = from; ; ) {
      const range = this.next(series, start, to);
      if (range === null) return;
      start = range.last + 1;
      const { times, values } = this.#open(range);
      const replaced = this.#replaced(series, range, from, to);
      const [low, high] = [lowerBound(times, from), lowerBound(times, to)];
      if (replaced.size === 0 && values instanceof Float64Array) {
        yield { times: times.subarray(low, high), values: values.subarray(low, high) };
        continue;
      }
      const kept: { readonly times: number[]; readonly values: number[] } = { times: [], values: [] };
      for (let index = low; index < high; index += 1) {
        const [time, value] = [times[index]!, values[index]!];
        if (typeof value !== 'number' || replaced.has(time)) continue;
        kept.times.push(time);
        kept.values.push(value);
      }
      yield kept;
    }
  }

  /** Whether a block has this reading, and no row of `readings` replaces it. False if the block is damaged. */
  holds(series: number, time: number, value: number | string): boolean {
    const range = this.next(series, time, time + 1);
    if (range === null) return false;
    const block = unlessDamaged(() => this.#open(range));
    if (block === null) return false;
    const { times, values } = block;
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
    for (const part of partsOf(entries, 2 * this.readings)) {
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
   * `readings` replaces, which the caller deletes later; those are counted if the block is damaged. Null: no block has any.
   * @throws {StoreError} when only a part of a damaged block should go
   */
  remove(series: number, from: number, to: number): number | null {
    const range = this.next(series, from, to);
    if (range === null) return null;
    const replaced = this.#replaced(series, range, from, to);
    const isWhole = from <= range.first && range.last < to;
    if (isWhole && (replaced.size === 0 || unlessDamaged(() => this.#open(range)) === null)) {
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

  #row({ times, values, received, boots, seqs, qualities }: Block, index: number): Row {
    const [time, boot] = [times[index]!, boots[index]!];
    const name = boot === null ? null : this.#boot(boot);
    return [time, values[index], received[index]! - time, name, seqs[index], qualities[index]];
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

/** What `read` returns; null if a block is damaged. */
export function unlessDamaged<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (!isDamaged(error)) throw error;
    return null;
  }
}

function entryOf({ times, values, received, boots, seqs, qualities }: Block, index: number): Entry {
  const time = times[index]!;
  return [time, values[index]!, received[index]! - time, boots[index]!, seqs[index]!, qualities[index]!];
}

/** Rows, and the older ones that none of them replaces. */
function mergedRows(
  rows: readonly Row[],
  older: readonly Row[],
  order: Order,
  limit: number,
): readonly Row[] {
  if (older.length === 0) return rows;
  if (rows.length === 0) return older;
  const merged: Row[] = [];
  let [row, old] = [0, 0];
  while (merged.length < limit && (row < rows.length || old < older.length)) {
    const difference = comparedRows(rows[row], older[old], order);
    merged.push(difference > 0 ? older[old]! : rows[row]!);
    if (difference <= 0) row += 1;
    if (difference >= 0) old += 1;
  }
  return merged;
}

/** Negative if the first row is first in the order. A missing row is behind all others. */
function comparedRows(a: Row | undefined, b: Row | undefined, order: Order): number {
  if (a === undefined) return 1;
  if (b === undefined) return -1;
  const difference = (a[0] as number) - (b[0] as number);
  return order === 'asc' ? difference : -difference;
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

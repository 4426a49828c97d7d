import { setImmediate as nextTurn } from 'node:timers/promises';
import { MAX_TIME, type Reading } from '@tidegauge/readings';
import { MAX_METRICS_READ } from '../arguments.ts';
import type { BackendReadings, NumbersPage, NumbersQuery } from '../backend.ts';
import type {
  DeleteQuery,
  Order,
  Pace,
  RangeQuery,
  SeriesName,
  SeriesUnit,
  WriteResult,
} from '../contract.ts';
import { devicePages, type RowGroupQuery, type RowGroups } from '../groups.ts';
import {
  allSeries,
  demandFewMetrics,
  flatten,
  latestOfSome,
  NEWEST,
  type PageQuery,
  rangePages,
} from '../merge.ts';
import { Blocks, unlessDamaged } from './blocks.ts';
import { Compactor } from './compactor.ts';
import type { Database } from './database.ts';
import { groupsOf } from './groups.ts';
import { fromQuality, type Row, readingColumns, toReading } from './mapping.ts';
import { ARRIVALS, SLOTS } from './schema.ts';
import { SeriesDictionary } from './series.ts';
import { isLoose, shrink, shrinkSome } from './shrink.ts';

/** When the slots of series in `recent` have more readings, the fullest of them are merged into `readings`. */
const RECENT_ROWS = 20_000;
/** When there are more arrivals, they are moved to their slots. A batch of half as many readings is large. */
const ARRIVED_ROWS = 512;
// The most rows to delete and series to check in one transaction of a deletion.
const EXPIRE_ROWS = 1000;
const EXPIRE_SERIES = 500;
/** Blocks that one transaction of a deletion removes. */
const EXPIRE_BLOCKS = 8;
// Readings in one page of numbers, about 1 ms.
const NUMBERS_ROWS = 1000;
/** A pass over all series looks for rows to move to blocks at the start, and when so many readings were stored: 4 MB. */
const COMPACT_READINGS = 100_000;

const UPSERT = `
  on conflict do update set value = excluded.value, received = excluded.received,
    boot = excluded.boot, seq = excluded.seq, quality = excluded.quality
  where value is not excluded.value`;
const WRITE_RECENT = `
  insert into recent (slot, series, time, value, received, boot, seq, quality)
  values (?, ?, ?, ?, ?, ?, ?, ?) ${UPSERT}`;
const WRITE_READING = `
  insert into readings (series, time, value, received, boot, seq, quality) values (?, ?, ?, ?, ?, ?, ?) ${UPSERT}`;
// An earlier version that was still running can have stored a reading twice. That must not block all writes.
const MERGE = `
  insert into readings (series, time, value, received, boot, seq, quality)
  select series, time, value, received, boot, seq, quality from recent where slot = ? order by series, time ${UPSERT}`;
const MOVE = `
  insert into recent (slot, series, time, value, received, boot, seq, quality)
  select series % ${SLOTS}, series, time, value, received, boot, seq, quality from recent where slot = ${ARRIVALS}
  order by 1, time, series ${UPSERT}`;
/** The three parts of a series, the oldest readings first. */
const PARTS = [
  `${readingColumns('readings')} from readings where`,
  `${readingColumns('recent')} from recent where slot = ?1 % ${SLOTS} and`,
  `${readingColumns('recent')} from recent where slot = ${ARRIVALS} and`,
];
const PAGES: Readonly<Record<Order, readonly string[]>> = {
  asc: pages('asc'),
  desc: pages('desc').toReversed(),
};
/** The position of `readings` in `PAGES`. */
const MERGED: Readonly<Record<Order, number>> = { asc: 0, desc: PARTS.length - 1 };

function pages(order: Order): string[] {
  return PARTS.map(
    (part) => `select ${part} series = ?1 and time >= ?2 and time < ?3 order by time ${order} limit ?4`,
  );
}

const ARRIVAL_SLOTS = `select series % ${SLOTS} from recent where slot = ${ARRIVALS}`;
const DEVICES = 'select distinct device from series where device > ? order by device limit ?';
const NUMBERS = `
  select time, value from readings where series = ?1 and time >= ?2 and time < ?3 and typeof(value) = 'real'
  union all
  select time, value from recent
  where slot in (?4, ${ARRIVALS}) and series = ?1 and time >= ?2 and time < ?3 and typeof(value) = 'real'
  order by time limit ?5`;

const SERIES = 'select id, metric from series where device = ?';
const DELETE_READINGS = `
  delete from readings where series = ?1 and time >= ?2 and time < ?3 and time < coalesce(
    (select time from readings where series = ?1 and time >= ?2 order by time limit 1 offset ?4), ?3)`;
const DELETE_RECENT = `
  delete from recent where (slot, time, series) in (
    select slot, time, series from recent where slot in (?, ${ARRIVALS}) and series = ? and time >= ? and time < ? limit ?)`;
const EXPIRE_RECENT = `
  delete from recent where (slot, time, series) in (
    select slot, time, series from recent where slot = ? and time < ? limit ?)`;

interface SeriesRow {
  readonly id: number;
  readonly metric: string;
}

/**
 * Readings in two tables that never share an identity: `readings` by (series, time), and `recent`, so that a commit writes
 * few pages. `recent` has slots, each for some of the series, and one slot of arrivals for all of them. For each series,
 * arrivals are newer than its slot, and its slot is newer than `readings`. So a reading of a small batch is an arrival if it
 * is newer than all others of its series. A reading of a large batch goes to its slot if it is newer than those in
 * `readings`, and arrivals are moved to their slots before. Any other (late, repeated, backfilled) goes where its time
 * belongs. When there are many arrivals, a write also moves them. When `recent` is full, it also moves the fullest slots to
 * `readings`. Both are part of the same transaction. `Compactor` moves rows of `readings` to blocks, which belong to `readings`
 * in all of this.
 */
export class SqliteReadings implements BackendReadings {
  readonly #db: Database;
  readonly #recentRows: number;
  readonly #arrivedRows: number;
  readonly #dictionary: SeriesDictionary;
  readonly #blocks: Blocks;
  readonly #compactor: Compactor;
  /** Readings that were stored since the last pass over all series began. Null during a pass. */
  #sinceCompacted: number | null = null;
  /** All rows of the pass were moved, and the file shrinks. */
  #shrinks = false;
  /** Cached number of rows in each slot of `recent`. Null if it must be counted. */
  #slotRows: number[] | null = null;

  constructor(db: Database, recentRows = RECENT_ROWS, arrivedRows = ARRIVED_ROWS, blocks = new Blocks(db)) {
    this.#db = db;
    this.#recentRows = recentRows;
    this.#arrivedRows = arrivedRows;
    this.#dictionary = new SeriesDictionary(db);
    this.#blocks = blocks;
    this.#compactor = new Compactor(db, blocks);
    db.onRollback = () => {
      this.#dictionary.clear();
      this.#blocks.clear();
      this.#slotRows = null;
    };
  }

  write(batch: readonly Reading[]): Promise<WriteResult> {
    return this.#db.transaction(() => {
      const othersWrote = this.#dictionary.refresh();
      this.#slotRows ??= this.#countSlots();
      if (othersWrote) this.#slotRows[ARRIVALS] = this.#arrivals().length;
      const stored = this.#store(batch, this.#slotRows);
      this.#mergeFullest(this.#slotRows);
      if (this.#sinceCompacted !== null) this.#sinceCompacted += stored;
      return { stored, duplicate: batch.length - stored };
    });
  }

  #store(batch: readonly Reading[], slotRows: number[]): number {
    const dictionary = this.#dictionary;
    const recent = this.#db.statement(WRITE_RECENT);
    const readings = this.#db.statement(WRITE_READING);
    const isSmall = batch.length < this.#arrivedRows / 2;
    if (!isSmall) this.#moveArrivals(slotRows);
    let stored = 0;
    for (const { device, metric, time, value, received, boot, seq, quality } of batch) {
      const series = dictionary.get(device, metric);
      const { id } = series;
      const delay = received - time;
      const bootId = dictionary.bootId(series, boot);
      const grade = fromQuality(quality);
      const arrives = isSmall && time > dictionary.settled(series);
      if (arrives || time > dictionary.merged(series)) {
        const slot = arrives ? ARRIVALS : series.slot;
        const { changes } = recent.run(slot, id, time, value, delay, bootId, seq, grade);
        stored += changes as number;
        slotRows[slot]! += changes as number;
        series.arrived = Math.max(series.arrived, time);
      } else if (!this.#blocks.holds(id, time, value)) {
        stored += readings.run(id, time, value, delay, bootId, seq, grade).changes as number;
      }
    }
    if (!isSmall) dictionary.arrivalsMoved();
    else if (slotRows[ARRIVALS]! > this.#arrivedRows) this.#moveArrivals(slotRows);
    return stored;
  }

  /** One step of a pass: moves some readings to blocks, or at the end shrinks the file. Resolves to whether to continue. */
  async compact(): Promise<boolean> {
    if (this.#sinceCompacted !== null && this.#sinceCompacted < COMPACT_READINGS) return false;
    this.#sinceCompacted = null;
    if (!this.#shrinks) {
      if (await this.#compactor.step()) return true;
      this.#shrinks = await isLoose(this.#db);
      if (this.#shrinks) return true;
    } else if (await shrinkSome(this.#db)) return true;
    this.#shrinks = false;
    this.#sinceCompacted = 0;
    return false;
  }

  #moveArrivals(slotRows: number[]): void {
    if (slotRows[ARRIVALS] === 0) return;
    for (const slot of this.#arrivals()) slotRows[slot]! += 1;
    this.#db.statement(MOVE).run();
    this.#db.statement('delete from recent where slot = ?').run(ARRIVALS);
    slotRows[ARRIVALS] = 0;
    this.#dictionary.arrivalsMoved();
  }

  /** The slots to which the arrivals belong. */
  #arrivals(): number[] {
    return (this.#db.arrays(ARRIVAL_SLOTS).all() as unknown as [number][]).map(([slot]) => slot);
  }

  #mergeFullest(slotRows: number[]): void {
    const counts = slotRows.slice(0, SLOTS);
    let rows = counts.reduce((sum, count) => sum + count, 0);
    while (rows > this.#recentRows) {
      const most = Math.max(...counts);
      const slot = counts.indexOf(most);
      this.#db.statement(MERGE).run(slot);
      this.#db.statement('delete from recent where slot = ?').run(slot);
      this.#dictionary.slotMerged(slot);
      counts[slot] = 0;
      slotRows[slot] = 0;
      rows -= most;
    }
  }

  #countSlots(): number[] {
    const counts = new Array<number>(SLOTS + 1).fill(0);
    const rows = this.#db.statement('select slot, count(*) as count from recent group by slot').all();
    for (const { slot, count } of rows) counts[slot as number] = count as number;
    return counts;
  }

  range(query: RangeQuery): AsyncGenerator<Reading> {
    return flatten(this.pages(query));
  }

  async *pages(query: RangeQuery): AsyncGenerator<readonly Reading[]> {
    const { device, metric } = query;
    const series = await this.#seriesOf(device, metric);
    if (metric === undefined) demandFewMetrics(device, series.length);
    yield* rangePages(query, series, (each, page) => this.#page(device, each, page));
  }

  async #page(device: string, { id, metric }: SeriesRow, page: PageQuery): Promise<Reading[]> {
    const { from, to, order, limit } = page;
    await this.#db.pause();
    // One transaction, so that a move by another process cannot hide a reading.
    const rows = await this.#db.read(() => {
      const found: Row[] = [];
      for (const [part, sql] of PAGES[order].entries()) {
        const left = limit - found.length;
        const read = (start: number, end: number) =>
          this.#db.arrays(sql).all(id, start, end, left) as unknown as Row[];
        const isMerged = part === MERGED[order];
        found.push(...(isMerged ? this.#blocks.page(id, { ...page, limit: left }, read) : read(from, to)));
        if (found.length === limit) break;
      }
      return found;
    });
    return rows.map((row) => toReading(device, metric, row));
  }

  /** A part ends with the first block, or else with a page of rows. One transaction reads both, as in a page. */
  async *numbers({ device, metric, from, to }: NumbersQuery): AsyncGenerator<NumbersPage> {
    const [series] = await this.#seriesOf(device, metric);
    if (series === undefined) return;
    for (let next = from; next < to; ) {
      await this.#db.pause();
      const start = next;
      const { pages, end } = await this.#db.read(() => this.#numbersFrom(series.id, start, to));
      yield* pages;
      next = end;
    }
  }

  #numbersFrom(id: number, from: number, to: number): { pages: NumbersPage[]; end: number } {
    const block = this.#blocks.next(id, from, to);
    let end = block === null ? to : Math.min(to, block.last + 1);
    const found = this.#db.arrays(NUMBERS).all(id, from, end, id % SLOTS, NUMBERS_ROWS);
    const rows = found as unknown as [number, number][];
    if (rows.length === NUMBERS_ROWS) end = rows.at(-1)![0] + 1;
    const pages: NumbersPage[] = [
      { times: rows.map(([time]) => time), values: rows.map(([, value]) => value) },
    ];
    if (block !== null) pages.push(...this.#blocks.numbers(id, from, end));
    return { pages, end };
  }

  latest(devices: readonly string[], limit: number): Promise<Reading[]> {
    return latestOfSome(devices, limit, 1, async ([device]) => {
      const found: Reading[] = [];
      const all = await this.#seriesOf(device!);
      demandFewMetrics(device!, all.length);
      for (const series of all) {
        if (found.length === limit) break;
        found.push(...(await this.#page(device!, series, NEWEST)));
      }
      return found;
    });
  }

  setUnits(units: readonly SeriesUnit[]): Promise<void> {
    return this.#db.transaction(() => {
      const update = this.#db.statement('update series set unit = ? where (device, metric) = (?, ?)');
      for (const { device, metric, unit } of units) update.run(unit, device, metric);
    });
  }

  units(series: readonly SeriesName[]): Promise<(string | null)[]> {
    return this.#db.read(() => {
      const find = this.#db.statement('select unit from series where (device, metric) = (?, ?)');
      return series.map(({ device, metric }) => (find.get(device, metric)?.unit ?? null) as string | null);
    });
  }

  async metrics(device: string, limit: number): Promise<string[]> {
    return (await this.#seriesOf(device, undefined, limit)).map(({ metric }) => metric);
  }

  devices(after?: string): AsyncGenerator<string> {
    return devicePages(after, async (last, limit) => {
      await this.#db.pause();
      const rows = await this.#db.run(() => this.#db.statement(DEVICES).all(last, limit));
      return rows.map(({ device }) => device as string);
    });
  }

  groups(query: RowGroupQuery): Promise<RowGroups> {
    return groupsOf(this.#db, this.#blocks, query);
  }

  async expire(before: number, pace?: Pace): Promise<number> {
    let expired = 0;
    // Readings move from the arrivals to other slots, and from there to the other table. So parts are in this order.
    for (let slot = ARRIVALS; slot >= 0; ) {
      const start = slot;
      const part = await this.#db.transaction(() => this.#expireRecent(start, before));
      expired += part.rows;
      slot = part.slot;
      await nextTurn();
      await pace?.(part.rows);
    }
    for (let next: number | null = 0; next !== null; ) {
      const start: number = next;
      const { rows, goOn } = await this.#db.transaction(() => this.#expireSome(start, before));
      expired += rows;
      next = goOn;
      await nextTurn();
      await pace?.(rows);
    }
    await shrink(this.#db, pace);
    return expired;
  }

  /** A part is a transaction, so a merge between two parts moves no reading past the deletion. */
  async delete({ device, metric, from = 0, to = MAX_TIME + 1 }: DeleteQuery, pace?: Pace): Promise<number> {
    let deleted = 0;
    for await (const { id } of this.#allSeriesOf(device, metric)) {
      for (let more = true; more; ) {
        const part = await this.#db.transaction(() => {
          this.#slotRows = null;
          const inBlocks = this.#deleteBlocks(id, from, to);
          if (inBlocks !== null) return { rows: inBlocks, more: true };
          const recent = this.#db.statement(DELETE_RECENT).run(id % SLOTS, id, from, to, EXPIRE_ROWS);
          const left = EXPIRE_ROWS - (recent.changes as number);
          if (left === 0) return { rows: EXPIRE_ROWS, more: true };
          const { changes } = this.#db.statement(DELETE_READINGS).run(id, from, to, left);
          return { rows: EXPIRE_ROWS - left + (changes as number), more: changes === left };
        });
        deleted += part.rows;
        more = part.more;
        await nextTurn();
        await pace?.(part.rows);
      }
    }
    await shrink(this.#db, pace);
    return deleted;
  }

  /**
   * Deletes readings of a series in some blocks. A row that replaces one of them is deleted later, and counted then. Null if
   * no block has readings of that time: the transaction that deletes the last rows must see it, because rows move to blocks.
   *
   * @param keepsDamaged a damaged block stays until all of it goes
   */
  #deleteBlocks(id: number, from: number, to: number, keepsDamaged = false): number | null {
    let deleted: number | null = null;
    for (let blocks = 0; blocks < EXPIRE_BLOCKS; blocks += 1) {
      const remove = () => this.#blocks.remove(id, from, to);
      const removed = keepsDamaged ? unlessDamaged(remove) : remove();
      if (removed === null) break;
      deleted = (deleted ?? 0) + removed;
    }
    return deleted;
  }

  /** One bounded part of an expiry of `recent`, from a slot down. Returns the slot that is next, or -1. */
  #expireRecent(start: number, before: number): { rows: number; slot: number } {
    this.#slotRows = null;
    let rows = 0;
    for (let slot = start; slot >= 0; slot -= 1) {
      rows += this.#db.statement(EXPIRE_RECENT).run(slot, before, EXPIRE_ROWS - rows).changes as number;
      if (rows >= EXPIRE_ROWS) return { rows, slot };
    }
    return { rows, slot: -1 };
  }

  /** One bounded part of an expiry, from a series on. Writes can run between the parts. */
  #expireSome(start: number, before: number): { rows: number; goOn: number | null } {
    const drop = this.#db.statement(DELETE_READINGS);
    const ids = this.#db
      .statement('select id from series where id >= ? order by id limit ?')
      .all(start, EXPIRE_SERIES);
    let rows = 0;
    for (const { id } of ids) {
      const inBlocks = this.#deleteBlocks(id as number, 0, before, true);
      if (inBlocks !== null) return { rows: rows + inBlocks, goOn: id as number };
      rows += drop.run(id as number, 0, before, EXPIRE_ROWS - rows).changes as number;
      if (rows >= EXPIRE_ROWS) return { rows, goOn: id as number };
    }
    const last = ids.at(-1);
    return { rows, goOn: ids.length < EXPIRE_SERIES ? null : (last!.id as number) + 1 };
  }

  /** The series of a device by metric, from after `after` on, or only the named one. */
  async #seriesOf(
    device: string,
    metric?: string,
    limit = MAX_METRICS_READ + 1,
    after = '',
  ): Promise<SeriesRow[]> {
    const rows = await this.#db.read(() =>
      metric === undefined
        ? this.#db.statement(`${SERIES} and metric > ? order by metric limit ?`).all(device, after, limit)
        : this.#db.statement(`${SERIES} and metric = ?`).all(device, metric),
    );
    return rows as unknown as SeriesRow[];
  }

  #allSeriesOf(device: string, metric?: string): AsyncIterable<SeriesRow> {
    return allSeries(metric, (after, limit) => this.#seriesOf(device, metric, limit, after));
  }
}

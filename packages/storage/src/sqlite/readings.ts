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
  WriteEffort,
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
import { Arrivals } from './arrivals.ts';
import { Blocks, unlessDamaged } from './blocks.ts';
import { Compactor } from './compactor.ts';
import type { Database } from './database.ts';
import { groupsOf } from './groups.ts';
import { fromQuality, READING_COLUMNS, type Row, toReading } from './mapping.ts';
import { SLOTS } from './schema.ts';
import { lastSeries, type Series, SeriesDictionary } from './series.ts';
import { isLoose, shrink, shrinkSome } from './shrink.ts';
import { type NumberRow, UnmergedNumbers } from './unmerged.ts';

/** When the slots of series in `recent` have more readings, the fullest of them are merged into `readings`. */
const RECENT_ROWS = 20_000;
/**
 * From so many series on, that bound grows with their number, at most so many times: a merge writes the last pages of each
 * series again, however few readings it adds.
 */
const MANY_SERIES = 300;
const MOST_GROWTH = 3;
/** When there are more arrivals, they are moved to their slots. A batch of half as many goes to its slots at once. */
const ARRIVED_ROWS = 2048;
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
const WRITE_ARRIVAL = `
  insert into arrivals (series, time, value, received, boot, seq, quality) values (?, ?, ?, ?, ?, ?, ?)`;
const CORRECT_ARRIVAL = `
  update arrivals set value = ?, received = ?, boot = ?, seq = ?, quality = ? where id = ? and value is not ?`;
const WRITE_READING = `
  insert into readings (series, time, value, received, boot, seq, quality) values (?, ?, ?, ?, ?, ?, ?) ${UPSERT}`;
// An earlier version that was still running can have stored a reading twice. That must not block all writes.
const MERGE = `
  insert into readings (series, time, value, received, boot, seq, quality)
  select series, time, value, received, boot, seq, quality from recent where slot = ? order by series, time ${UPSERT}`;
const MOVE = `
  insert into recent (slot, series, time, value, received, boot, seq, quality)
  select series % ${SLOTS}, series, time, value, received, boot, seq, quality from arrivals where true
  order by 1, time, series ${UPSERT}`;
/** The parts of a series, the oldest readings first: where they are, and the column that has the order of their times. */
const PARTS = [
  ['readings r where', 'time'],
  [`recent r where slot = ?1 % ${SLOTS} and`, 'time'],
  ['arrivals r where', 'id'],
] as const;
const PAGES: Readonly<Record<Order, readonly string[]>> = {
  asc: pages('asc'),
  desc: pages('desc').toReversed(),
};
/** The position of `readings` in `PAGES`. */
const MERGED: Readonly<Record<Order, number>> = { asc: 0, desc: PARTS.length - 1 };

function pages(order: Order, columns = READING_COLUMNS, condition = 'true'): string[] {
  return PARTS.map(
    ([part, column]) => `
      select ${columns} from ${part} series = ?1 and time >= ?2 and time < ?3 and ${condition}
      order by ${column} ${order} limit ?4`,
  );
}

const DEVICES = 'select distinct device from series where device > ? order by device limit ?';
const NUMBERS = pages('asc', 'time, value', "typeof(value) = 'real'");

const SERIES = 'select id, metric from series where device = ?';
const DELETE_READINGS = `
  delete from readings where series = ?1 and time >= ?2 and time < ?3 and time < coalesce(
    (select time from readings where series = ?1 and time >= ?2 order by time limit 1 offset ?4), ?3)`;
const DELETE_RECENT = `
  delete from recent where (slot, time, series) in (
    select slot, time, series from recent where slot = ? and series = ? and time >= ? and time < ? limit ?)`;
const DELETE_ARRIVALS = 'delete from arrivals where series = ? and time >= ? and time < ?';
const EXPIRE_RECENT = `
  delete from recent where (slot, time, series) in (
    select slot, time, series from recent where slot = ? and time < ? limit ?)`;
const EXPIRE_ARRIVALS = 'delete from arrivals where time < ?';

/** What a writer has in memory of the newest readings. */
interface Newest {
  /** Rows of each slot of `recent`. */
  readonly slotRows: number[];
  arrivals: Arrivals;
  /** Whether new readings of the batch in progress become arrivals. */
  takesArrivals: boolean;
}

/** Value, delay, boot, sequence number and quality, as in a row. */
type Fields = readonly [
  value: number | string,
  delay: number,
  boot: number | null,
  seq: number | null,
  quality: number,
];

interface SeriesRow {
  readonly id: number;
  readonly metric: string;
}

/**
 * Readings in three tables that never share an identity, so that a commit writes few pages: `readings` by (series, time),
 * `recent` with slots, each for some of the series, and `arrivals` of all series in the order in which they came. For each
 * series, arrivals are newer than its slot, and its slot is newer than `readings`. So a reading of a small batch is an arrival
 * if it is newer than all others of its series. A reading of a large batch goes to its slot if it is newer than those in
 * `readings`, and arrivals are moved to their slots before; so does a late one, if an arrival is newer. Any other (late,
 * repeated, backfilled) goes where its time belongs. When there are many arrivals, a write also moves them. When `recent` is
 * full, it also moves the fullest slots to `readings`. Both are part of the same transaction. `Compactor` moves rows of
 * `readings` to blocks, which belong to `readings` in all of this.
 */
export class SqliteReadings implements BackendReadings {
  readonly #db: Database;
  readonly #recentRows: number;
  readonly #arrivedRows: number;
  readonly #dictionary: SeriesDictionary;
  readonly #blocks: Blocks;
  readonly #compactor: Compactor;
  readonly #unmerged: UnmergedNumbers;
  /** Readings that were stored since the last pass over all series began. Null during a pass. */
  #sinceCompacted: number | null = null;
  /** All rows of the pass were moved, and the file shrinks. */
  #shrinks = false;
  /** Null if it must be read. */
  #newest: Newest | null = null;

  constructor(db: Database, recentRows = RECENT_ROWS, arrivedRows = ARRIVED_ROWS, blocks = new Blocks(db)) {
    this.#db = db;
    this.#recentRows = recentRows;
    this.#arrivedRows = arrivedRows;
    this.#dictionary = new SeriesDictionary(db);
    this.#blocks = blocks;
    this.#compactor = new Compactor(db, blocks);
    this.#unmerged = new UnmergedNumbers(db);
    db.onRollback = () => {
      this.#dictionary.clear();
      this.#blocks.clear();
      this.#newest = null;
    };
  }

  write(batch: readonly Reading[], effort?: WriteEffort): Promise<WriteResult> {
    return this.#db.transaction(() => {
      // A transaction that another process kept from its end is repeated.
      effort?.duplicates?.splice(0);
      const othersWrote = this.#dictionary.refresh();
      if (this.#newest === null) this.#newest = this.#readNewest();
      else if (othersWrote) this.#newest.arrivals = Arrivals.read(this.#db);
      const stored = this.#store(batch, this.#newest, effort?.duplicates);
      this.#mergeFullest(this.#newest.slotRows);
      if (this.#sinceCompacted !== null) this.#sinceCompacted += stored;
      return { stored, duplicate: batch.length - stored };
    });
  }

  #store(batch: readonly Reading[], newest: Newest, duplicates?: number[]): number {
    const dictionary = this.#dictionary;
    newest.takesArrivals = batch.length < this.#arrivedRows / 2;
    if (!newest.takesArrivals) this.#moveArrivals(newest);
    let stored = 0;
    for (let place = 0; place < batch.length; place++) {
      const { device, metric, time, value, received, boot, seq, quality } = batch[place]!;
      const series = dictionary.get(device, metric);
      const bootId = dictionary.bootId(series, boot);
      const fields = [value, received - time, bootId, seq, fromQuality(quality)] as const;
      const count = this.#put(series, time, fields, newest);
      if (count === 0) duplicates?.push(place);
      stored += count;
    }
    if (newest.arrivals.count > this.#arrivedRows) this.#moveArrivals(newest);
    return stored;
  }

  /** Stores a reading where it belongs. Returns 1, or 0 for a duplicate. */
  #put(series: Series, time: number, fields: Fields, newest: Newest): number {
    const { id } = series;
    if (newest.takesArrivals) {
      const row = newest.arrivals.row(id, time);
      if (row !== undefined) {
        const [value] = fields;
        return this.#db.statement(CORRECT_ARRIVAL).run(...fields, row, value).changes as number;
      }
      const isNewest = time > newest.arrivals.newest(id);
      if (isNewest && time > this.#dictionary.settled(series)) {
        const { lastInsertRowid } = this.#db.statement(WRITE_ARRIVAL).run(id, time, ...fields);
        newest.arrivals.add(id, time, lastInsertRowid as number);
        return 1;
      }
      if (!isNewest && time > this.#dictionary.merged(series)) {
        // Arrivals are newer than their slot. Those of the rest of the batch would be moved for each further late reading.
        this.#moveArrivals(newest);
        newest.takesArrivals = false;
      }
    }
    if (time > this.#dictionary.merged(series)) return this.#putRecent(series, time, fields, newest);
    if (this.#blocks.holds(id, time, fields[0])) return 0;
    return this.#db.statement(WRITE_READING).run(id, time, ...fields).changes as number;
  }

  #putRecent(series: Series, time: number, fields: Fields, { slotRows }: Newest): number {
    const { id, slot } = series;
    const changes = this.#db.statement(WRITE_RECENT).run(slot, id, time, ...fields).changes as number;
    slotRows[slot]! += changes;
    series.settled = Math.max(series.settled, time);
    return changes;
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

  #moveArrivals({ slotRows, arrivals }: Newest): void {
    if (arrivals.count === 0) return;
    this.#db.statement(MOVE).run();
    this.#db.statement('delete from arrivals').run();
    for (const { series, newest, count } of arrivals.all()) {
      slotRows[series % SLOTS]! += count;
      this.#dictionary.settle(series, newest);
    }
    arrivals.clear();
  }

  #mergeFullest(slotRows: number[]): void {
    let rows = slotRows.reduce((sum, count) => sum + count, 0);
    if (rows <= this.#recentRows) return;
    const growth = lastSeries(this.#db)! / MANY_SERIES;
    const bound = this.#recentRows * Math.max(1, Math.min(growth, MOST_GROWTH));
    while (rows > bound) {
      const most = Math.max(...slotRows);
      const slot = slotRows.indexOf(most);
      this.#db.statement(MERGE).run(slot);
      this.#db.statement('delete from recent where slot = ?').run(slot);
      this.#dictionary.slotMerged(slot);
      slotRows[slot] = 0;
      rows -= most;
    }
  }

  #readNewest(): Newest {
    const slotRows = new Array<number>(SLOTS).fill(0);
    const rows = this.#db.arrays('select slot, count(*) from recent group by slot').all();
    for (const [slot, count] of rows as unknown as [number, number][]) slotRows[slot] = count;
    return { slotRows, arrivals: Arrivals.read(this.#db), takesArrivals: false };
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
    const [merged, ...others] = NUMBERS;
    const read = (sql: string, limit: number) =>
      this.#db.arrays(sql).all(id, from, end, limit) as unknown as NumberRow[];
    const rows = read(merged!, NUMBERS_ROWS);
    // What is in a block is older than all that is not in `readings`.
    const unmerged = block === null ? this.#unmerged.of(id, from, end) : [];
    if (rows.length < NUMBERS_ROWS) rows.push(...(unmerged ?? []));
    for (const sql of unmerged === null ? others : []) {
      if (rows.length < NUMBERS_ROWS) rows.push(...read(sql, NUMBERS_ROWS - rows.length));
    }
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
    // Readings move from the arrivals to the slots, and from there to the other table. So parts are in this order.
    const arrived = await this.#db.transaction(() => {
      this.#newest = null;
      return this.#db.statement(EXPIRE_ARRIVALS).run(before).changes as number;
    });
    await pace?.(arrived);
    let expired = arrived;
    for (let slot = SLOTS - 1; slot >= 0; ) {
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
          this.#newest = null;
          const inBlocks = this.#deleteBlocks(id, from, to);
          if (inBlocks !== null) return { rows: inBlocks, more: true };
          const arrived = this.#db.statement(DELETE_ARRIVALS).run(id, from, to).changes as number;
          const recent = this.#db.statement(DELETE_RECENT).run(id % SLOTS, id, from, to, EXPIRE_ROWS);
          const left = EXPIRE_ROWS - (recent.changes as number);
          if (left === 0) return { rows: arrived + EXPIRE_ROWS, more: true };
          const { changes } = this.#db.statement(DELETE_READINGS).run(id, from, to, left);
          return { rows: arrived + EXPIRE_ROWS - left + (changes as number), more: changes === left };
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
    this.#newest = null;
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

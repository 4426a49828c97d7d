import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Reading } from '@tidegauge/readings';
import type { AggregateQuery, Bucket, Order, RangeQuery, ReadingStore, WriteResult } from '../contract.ts';
import { NEWEST, type PageQuery, rangeOfSeries } from '../merge.ts';
import type { Database } from './database.ts';
import { fromQuality, readingColumns, toBucket, toReading } from './mapping.ts';
import { SLOTS } from './schema.ts';
import { SeriesDictionary } from './series.ts';

/** Readings in `recent` beyond which its fullest slots are merged. */
const RECENT_ROWS = 20_000;
// An expiry's transactions end at so many rows dropped or series looked at.
const EXPIRE_ROWS = 5000;
const EXPIRE_SERIES = 1000;
const DEVICES_PER_TURN = 50;

const UPSERT = `
  on conflict do update set value = excluded.value, received = excluded.received,
    boot = excluded.boot, seq = excluded.seq, quality = excluded.quality
  where value is not excluded.value`;
const WRITE_RECENT = `
  insert into recent (slot, series, time, value, received, boot, seq, quality)
  values (?, ?, ?, ?, ?, ?, ?, ?) ${UPSERT}`;
const WRITE_READING = `
  insert into readings (series, time, value, received, boot, seq, quality) values (?, ?, ?, ?, ?, ?, ?) ${UPSERT}`;
const MERGE = `
  insert into readings (series, time, value, received, boot, seq, quality)
  select series, time, value, received, boot, seq, quality from recent where slot = ? order by series, time`;
// One statement over both tables, so that a merge by another process cannot hide a reading between two.
const PAGE = `
  select ${readingColumns('readings')} from readings where series = ? and time >= ? and time < ?
  union all
  select ${readingColumns('recent')} from recent where slot = ? and series = ? and time >= ? and time < ?
  order by time`;
const PAGES: Readonly<Record<Order, string>> = { asc: `${PAGE} asc limit ?`, desc: `${PAGE} desc limit ?` };

interface SeriesRow {
  readonly id: number;
  readonly metric: string;
}

/**
 * Readings in two tables that never share an identity: `readings` by (series, time), where they are read from,
 * and `recent` in order of arrival, which makes a commit touch few pages. All of a series in `recent` is newer
 * than all of it in `readings`; so a reading newer than the series' newest in `readings` goes to `recent`, any
 * other (late, repeated, backfilled) to `readings`. When `recent` is full, a write also moves its fullest
 * slots, in the same transaction.
 */
export class SqliteReadings implements ReadingStore {
  readonly #db: Database;
  readonly #recentRows: number;
  readonly #dictionary: SeriesDictionary;
  /** Rows this process believes to be in each slot of `recent`; null when it has to count. */
  #slotRows: number[] | null = null;

  constructor(db: Database, recentRows = RECENT_ROWS) {
    this.#db = db;
    this.#recentRows = recentRows;
    this.#dictionary = new SeriesDictionary(db);
    db.onRollback = () => {
      this.#dictionary.clear();
      this.#slotRows = null;
    };
  }

  write(batch: readonly Reading[]): Promise<WriteResult> {
    return this.#db.transaction(() => {
      this.#slotRows ??= this.#countSlots();
      const stored = this.#store(batch, this.#slotRows);
      this.#mergeFullest(this.#slotRows);
      return { stored, duplicate: batch.length - stored };
    });
  }

  #store(batch: readonly Reading[], slotRows: number[]): number {
    const dictionary = this.#dictionary;
    const recent = this.#db.statement(WRITE_RECENT);
    const readings = this.#db.statement(WRITE_READING);
    dictionary.refresh();
    let stored = 0;
    for (const { device, metric, time, value, received, boot, seq, quality } of batch) {
      const series = dictionary.get(device, metric);
      const { id, slot } = series;
      const delay = received - time;
      const bootId = dictionary.bootId(series, boot);
      const grade = fromQuality(quality);
      if (time > dictionary.merged(series)) {
        const { changes } = recent.run(slot, id, time, value, delay, bootId, seq, grade);
        stored += changes as number;
        slotRows[slot]! += changes as number;
      } else {
        stored += readings.run(id, time, value, delay, bootId, seq, grade).changes as number;
      }
    }
    return stored;
  }

  #mergeFullest(slotRows: number[]): void {
    let rows = slotRows.reduce((sum, count) => sum + count, 0);
    while (rows > this.#recentRows) {
      const most = Math.max(...slotRows);
      const slot = slotRows.indexOf(most);
      this.#db.statement(MERGE).run(slot);
      this.#db.statement('delete from recent where slot = ?').run(slot);
      this.#dictionary.slotMerged(slot);
      slotRows[slot] = 0;
      rows -= most;
    }
  }

  #countSlots(): number[] {
    const counts = new Array<number>(SLOTS).fill(0);
    const rows = this.#db.statement('select slot, count(*) as count from recent group by slot').all();
    for (const { slot, count } of rows) counts[slot as number] = count as number;
    return counts;
  }

  async *range(query: RangeQuery): AsyncGenerator<Reading> {
    const { device } = query;
    const series = await this.#seriesOf(device);
    yield* rangeOfSeries(query, series, (each, page) => this.#page(device, each, page));
  }

  async #page(device: string, { id, metric }: SeriesRow, page: PageQuery): Promise<Reading[]> {
    const { from, to, order, limit } = page;
    const rows = await this.#db.run(() =>
      this.#db.statement(PAGES[order]).all(id, from, to, id % SLOTS, id, from, to, limit),
    );
    return rows.map((row) => toReading(device, metric, row));
  }

  async latest(devices: readonly string[]): Promise<Reading[]> {
    const found: Reading[] = [];
    for (const [index, device] of devices.entries()) {
      if (index % DEVICES_PER_TURN === DEVICES_PER_TURN - 1) await nextTurn();
      for (const series of await this.#seriesOf(device)) {
        found.push(...(await this.#page(device, series, NEWEST)));
      }
    }
    return found;
  }

  async aggregate({ device, metric, from, to, bucket }: AggregateQuery): Promise<Bucket[]> {
    const series = (await this.#seriesOf(device)).find((candidate) => candidate.metric === metric);
    if (series === undefined) return [];
    // Numbers are bound as doubles; the division must be a whole one.
    const sql = `
      select time / cast(?1 as integer) * cast(?1 as integer) as time, count(*) as count,
        min(value) as min, max(value) as max, avg(value) as mean, sum(value) as sum
      from (
        select time, value from readings where series = ?2 and time >= ?3 and time < ?4
        union all
        select time, value from recent where slot = ?5 and series = ?2 and time >= ?3 and time < ?4
      )
      where typeof(value) = 'real' group by 1 order by 1`;
    const rows = await this.#db.run(() =>
      this.#db.statement(sql).all(bucket, series.id, from, to, series.id % SLOTS),
    );
    return rows.map(toBucket);
  }

  async expire(before: number): Promise<number> {
    let expired = await this.#db.transaction(() => {
      this.#slotRows = null;
      return this.#db.statement('delete from recent where time < ?').run(before).changes as number;
    });
    for (let next: number | null = 0; next !== null; ) {
      const start: number = next;
      const { rows, goOn } = await this.#db.transaction(() => this.#expireSome(start, before));
      expired += rows;
      next = goOn;
      await nextTurn();
    }
    return expired;
  }

  /** One bounded part of an expiry, from a series on; writes go on between the parts. */
  #expireSome(start: number, before: number): { rows: number; goOn: number | null } {
    const drop = this.#db.statement(`
      delete from readings where series = ?1 and time < ?2 and time < coalesce(
        (select time from readings where series = ?1 order by time limit 1 offset ?3), ?2)`);
    const ids = this.#db
      .statement('select id from series where id >= ? order by id limit ?')
      .all(start, EXPIRE_SERIES);
    let rows = 0;
    for (const { id } of ids) {
      rows += drop.run(id as number, before, EXPIRE_ROWS - rows).changes as number;
      if (rows >= EXPIRE_ROWS) return { rows, goOn: id as number };
    }
    const last = ids.at(-1);
    return { rows, goOn: ids.length < EXPIRE_SERIES ? null : (last!.id as number) + 1 };
  }

  /** A device's series by metric. */
  async #seriesOf(device: string): Promise<SeriesRow[]> {
    const sql = 'select id, metric from series where device = ? order by metric';
    const rows = await this.#db.run(() => this.#db.statement(sql).all(device));
    return rows as unknown as SeriesRow[];
  }
}

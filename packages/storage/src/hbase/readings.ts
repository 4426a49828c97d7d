import { type Bytes, filters, type Put, type Row, type Table } from '@tidegauge/hbase-client';
import { forEach } from '@tidegauge/parallel';
import { MAX_TIME, type Reading } from '@tidegauge/readings';
import { MAX_METRICS_READ } from '../arguments.ts';
import type { BackendReadings } from '../backend.ts';
import type { DeleteQuery, Pace, RangeQuery, SeriesName, SeriesUnit, WriteResult } from '../contract.ts';
import type { DayTotals } from '../day-totals.ts';
import { StoreError } from '../errors.ts';
import { demandFewMetrics, latestOfSome, type PageQuery, rangeOfSeries } from '../merge.ts';
import { HbaseGroups } from './groups.ts';
import { behind, devicePrefix, readDevice, readKey, SeriesPrefixes, seriesPrefix, timeKey } from './keys.ts';
import { fromReading, READING_FAMILY, READING_QUALIFIER, toReading } from './mapping.ts';
import type { Session } from './session.ts';
import { HbaseTotals } from './totals.ts';
import { HbaseUnits } from './units.ts';

/** Concurrent calls of one latest or expire. */
const WIDTH = 32;
const DELETE_ROWS = 1000;
/** Devices that `latest` reads together. */
const DEVICES_AT_ONCE = 8;

interface Series {
  readonly metric: string;
  readonly prefix: Buffer;
}

/**
 * A row per reading. Writes do not read first. Of equal identities, the one that arrived last at its region stays.
 * There is no second table: reads step from one series to the next by key.
 */
export class HbaseReadings implements BackendReadings {
  readonly totals: DayTotals;
  readonly #session: Session;
  readonly #table: Table;
  readonly #units: HbaseUnits;
  readonly #prefixes = new SeriesPrefixes();
  readonly #durability: Pick<Put, 'durability'>;

  constructor(session: Session) {
    this.#session = session;
    this.#table = session.table('readings');
    this.totals = { table: new HbaseTotals(session), rows: new HbaseGroups(session) };
    this.#units = new HbaseUnits(session);
    // `sync` is the default of HBase.
    this.#durability = session.config.durability === 'fsync' ? { durability: 'fsync' } : {};
  }

  async write(batch: readonly Reading[]): Promise<WriteResult> {
    const puts = new Array<Put>(batch.length);
    for (let index = 0; index < batch.length; index += 1) puts[index] = this.#put(batch[index]!);
    // Puts on one row are applied in order, but a retried one would come last.
    await this.#session.run(() => this.#table.mutateAll(lastOfEach(batch, puts)));
    return { stored: batch.length, duplicate: 0 };
  }

  /** Resolves when every region answers, because a write can go to any region. */
  async probe(): Promise<void> {
    const { place, connect: timeoutMs } = this.#session.config;
    const regions = await this.#session.client.admin.regions(this.#table.name, { timeoutMs });
    const unserved = regions.find(({ server, state }) => server === null || state !== 'OPEN');
    if (unserved?.state === 'CLOSED') {
      // Checks whether the table is disabled.
      await this.#table.exists(firstRow(unserved), { timeoutMs });
    }
    if (unserved !== undefined) {
      const message = `hbase ${place}: region ${unserved.name} is ${unserved.state}`;
      throw new StoreError('UNAVAILABLE', message, { hint: 'see the log of the master' });
    }
    const gets = regions.map((region) => ({ row: firstRow(region), filter: filters.keyOnly() }));
    await this.#table.getAll(gets, { timeoutMs });
  }

  #put(reading: Reading): Put {
    const { device, metric, time } = reading;
    const row = timeKey(this.#prefixes.of(device, metric), time);
    const cell = { family: READING_FAMILY, qualifier: READING_QUALIFIER, value: fromReading(reading) };
    return { type: 'put', row, cells: [cell], ...this.#durability };
  }

  async *range(query: RangeQuery): AsyncGenerator<Reading> {
    const { device, metric } = query;
    const series =
      metric === undefined
        ? await this.#session.run(() => this.#seriesOf(device, MAX_METRICS_READ + 1))
        : [{ metric, prefix: seriesPrefix(device, metric) }];
    demandFewMetrics(device, series.length);
    yield* rangeOfSeries(query, series, (each, page) => this.#page(device, each, page));
  }

  latest(devices: readonly string[], limit: number): Promise<Reading[]> {
    return latestOfSome(devices, limit, DEVICES_AT_ONCE, (some) =>
      this.#session.run(async () => {
        const found = new Map<string, Reading[]>();
        await forEach(some, some.length, async (device) => found.set(device, await this.#latestOf(device)));
        return some.flatMap((device) => found.get(device)!);
      }),
    );
  }

  /**
   * Scans backwards from the end of a device. The first row is the newest of its series, and the next scan starts
   * before that series.
   */
  async #latestOf(device: string): Promise<Reading[]> {
    const prefix = devicePrefix(device);
    const newest: Reading[] = [];
    for (let start = behind(prefix); ; ) {
      const row = await this.#first({ start, includeStart: false, stop: prefix, reversed: true });
      if (row === null) return newest.reverse();
      const { series, metric } = readKey(row.key);
      newest.push(toReading(device, metric, row));
      demandFewMetrics(device, newest.length);
      start = Buffer.from(series);
    }
  }

  setUnits(units: readonly SeriesUnit[]): Promise<void> {
    return this.#units.set(units);
  }

  units(series: readonly SeriesName[]): Promise<(string | null)[]> {
    return this.#units.of(series);
  }

  async metrics(device: string, limit: number): Promise<string[]> {
    const series = await this.#session.run(() => this.#seriesOf(device, limit));
    return series.map(({ metric }) => metric);
  }

  /** Steps from one device to the next by key. */
  async *devices(after?: string): AsyncGenerator<string> {
    for (let start = after === undefined ? Buffer.alloc(0) : behind(devicePrefix(after)); ; ) {
      const from = start;
      const row = await this.#session.run(() => this.#first({ start: from, filter: filters.keyOnly() }));
      if (row === null) return;
      const device = readDevice(row.key);
      yield device;
      start = behind(devicePrefix(device));
    }
  }

  /**
   * Goes from series to series in every region. A delete removes only cells that were read, not later writes.
   */
  async expire(before: number, pace?: Pace): Promise<number> {
    if (before <= 0) return 0;
    let expired = 0;
    await this.#session.run(async () => {
      const regions = await this.#session.client.admin.regions(this.#table.name);
      await forEach(regions, WIDTH, async ({ start, end }) => {
        for (let next: Buffer = start; ; ) {
          const row = await this.#first({ start: next, stop: end, filter: filters.keyOnly() });
          if (row === null) return;
          const series = Buffer.from(readKey(row.key).series);
          const count = await this.#deleteOf(series, 0, before, pace);
          // Not `+= await`, which would use the value from before the wait.
          expired += count;
          next = behind(series);
        }
      });
    });
    return expired;
  }

  async delete({ device, metric, from = 0, to = MAX_TIME + 1 }: DeleteQuery, pace?: Pace): Promise<number> {
    const [first, last] = [Math.max(from, 0), Math.max(to, 0)];
    return this.#session.run(async () => {
      if (metric !== undefined) return this.#deleteOf(seriesPrefix(device, metric), first, last, pace);
      let deleted = 0;
      const prefix = devicePrefix(device);
      for (let start = prefix; ; ) {
        const row = await this.#first({ start, stop: behind(prefix), filter: filters.keyOnly() });
        if (row === null) return deleted;
        const series = Buffer.from(readKey(row.key).series);
        deleted += await this.#deleteOf(series, first, last, pace);
        start = behind(series);
      }
    });
  }

  /** Deletes readings of a series in [from, to). */
  async #deleteOf(series: Buffer, from: number, to: number, pace?: Pace): Promise<number> {
    let deleted = 0;
    if (from >= to) return deleted;
    for (;;) {
      const deletes: { type: 'delete'; row: Bytes; timestamp: number }[] = [];
      const range = { start: timeKey(series, from), stop: timeKey(series, to), limit: DELETE_ROWS };
      for await (const { key, cells } of this.#table.scan({ ...range, filter: filters.keyOnly() })) {
        deletes.push({ type: 'delete', row: key, timestamp: cells[0]!.timestamp });
      }
      await this.#table.mutateAll(deletes);
      deleted += deletes.length;
      await pace?.(deletes.length);
      if (deletes.length < DELETE_ROWS) return deleted;
    }
  }

  /** The series of a device by metric, at most `limit` of them. */
  async #seriesOf(device: string, limit: number): Promise<Series[]> {
    const prefix = devicePrefix(device);
    const stop = behind(prefix);
    const series: Series[] = [];
    for (let start = prefix; ; ) {
      const row = await this.#first({ start, stop, filter: filters.keyOnly() });
      if (row === null || series.length === limit) return series;
      const key = readKey(row.key);
      series.push({ metric: key.metric, prefix: Buffer.from(key.series) });
      start = behind(series.at(-1)!.prefix);
    }
  }

  #page(device: string, { metric, prefix }: Series, page: PageQuery): Promise<Reading[]> {
    const { from, to, order, limit } = page;
    const [first, last] = [timeKey(prefix, Math.max(from, 0)), timeKey(prefix, Math.max(to, 0))];
    const range =
      order === 'asc'
        ? { start: first, stop: last }
        : { start: last, includeStart: false, stop: first, includeStop: true, reversed: true };
    return this.#session.run(async () => {
      const readings: Reading[] = [];
      for await (const row of this.#table.scan({ ...range, limit }))
        readings.push(toReading(device, metric, row));
      return readings;
    });
  }

  async #first(range: Parameters<Table['scan']>[0]): Promise<Row | null> {
    for await (const row of this.#table.scan({ ...range, limit: 1 })) return row;
    return null;
  }
}

/** A key that can be in a region. */
function firstRow({ start }: { readonly start: Buffer }): Buffer {
  return start.length === 0 ? Buffer.from([0]) : start;
}

/** Keeps only the last of several puts on one row. Most batches have none. */
function lastOfEach(batch: readonly Reading[], puts: readonly Put[]): readonly Put[] {
  const newest = new Map<string, Map<string, number>>();
  let ascending = true;
  for (const { device, metric, time } of batch) {
    let metrics = newest.get(device);
    if (metrics === undefined) {
      metrics = new Map();
      newest.set(device, metrics);
    }
    const last = metrics.get(metric);
    if (last !== undefined && last >= time) {
      ascending = false;
      break;
    }
    metrics.set(metric, time);
  }
  if (ascending) return puts;
  const byRow = new Map(puts.map((put) => [(put.row as Buffer).toString('latin1'), put]));
  return [...byRow.values()];
}

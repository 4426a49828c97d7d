import { forEach } from '@tidegauge/parallel';
import { MAX_TIME, type Reading } from '@tidegauge/readings';
import type { BackendReadings } from '../backend.ts';
import type { DeleteQuery, Pace, RangeQuery, SeriesName, SeriesUnit, WriteResult } from '../contract.ts';
import { compareText, demandFewMetrics, latestOfSome } from '../merge.ts';
import { Catalogue } from './catalogue.ts';
import { dayOf } from './day.ts';
import { Days } from './days.ts';
import { translated } from './errors.ts';
import { fingerprintOf, listLogs } from './files.ts';
import { dayName, dayNamed, type Layout } from './schema.ts';
import type { SkippedLines } from './skipped-lines.ts';
import { JsonUnits } from './units.ts';

// Readings that are read at the same time. A text can take 12 KB.
const PAGE = 128;
/** Devices that `latest` reads together. */
const DEVICES_AT_ONCE = 8;
const DAYS_AT_ONCE = 4;
const MAX_LATEST = 50_000;

interface Known {
  readonly day: number;
  readonly fingerprint: string;
  readonly reading: Reading;
}

export class JsonReadings implements BackendReadings {
  readonly #layout: Layout;
  readonly #days: Days;
  readonly #catalogue: Catalogue;
  readonly #units: JsonUnits;
  /**
   * Newest readings of days that are not in memory, so that `latest` of an inactive series does not load its day.
   */
  readonly #latest = new Map<string, Known>();

  constructor(layout: Layout, memoryBytes: number, skipped: SkippedLines) {
    this.#layout = layout;
    this.#days = new Days(layout.readings, memoryBytes, skipped);
    this.#catalogue = new Catalogue(layout.folder, skipped);
    this.#units = new JsonUnits(layout, skipped);
  }

  /** Whether no series has readings. Known after `migrate`. */
  get isEmpty(): boolean {
    return this.#catalogue.allDevices().length === 0;
  }

  /** Bytes of day indexes in memory. */
  get indexBytes(): number {
    return this.#days.bytes;
  }

  /** Reads days that are not in the catalogue: files that were copied there, or a lost catalogue. */
  migrate(): Promise<void> {
    return translated(this.#layout.readings, async () => {
      await this.#catalogue.refresh();
      const known = this.#catalogue.allDays();
      for (const number of await this.#files()) {
        if (known.has(number)) continue;
        const series = await this.#days.use(number, (day) => day.series());
        if (series.length > 0) await this.#catalogue.ensure(number, series);
      }
    });
  }

  write(batch: readonly Reading[]): Promise<WriteResult> {
    return translated(this.#layout.readings, async () => {
      let stored = 0;
      let duplicate = 0;
      await forEach(
        Map.groupBy(batch, ({ time }) => dayOf(time)),
        DAYS_AT_ONCE,
        ([number, readings]) =>
          this.#days.use(number, async (day) => {
            const result = await day.write(readings);
            const steps = [() => day.durable(result.mark), () => this.#catalogue.ensure(number, readings)];
            await forEach(steps, steps.length, (step) => step());
            stored += result.stored;
            duplicate += result.duplicate;
          }),
      );
      return { stored, duplicate };
    });
  }

  async *range(query: RangeQuery): AsyncGenerator<Reading> {
    let { after, limit } = query;
    const days = await this.#daysOf(query);
    if (query.metric === undefined)
      demandFewMetrics(query.device, this.#catalogue.metrics(query.device).length);
    for (const number of days) {
      for (;;) {
        const page = { ...query, limit: Math.min(limit, PAGE), ...(after === undefined ? {} : { after }) };
        const readings = await translated(this.#layout.readings, () =>
          this.#days.use(number, (day) => day.page(page)),
        );
        yield* readings;
        limit -= readings.length;
        if (limit === 0) return;
        if (readings.length < page.limit) break;
        after = readings.at(-1);
      }
    }
  }

  latest(devices: readonly string[], limit: number): Promise<Reading[]> {
    return latestOfSome(devices, limit, DEVICES_AT_ONCE, (some) => this.#latestOf(some));
  }

  async metrics(device: string, limit: number): Promise<string[]> {
    await translated(this.#layout.folder, () => this.#catalogue.refresh());
    return this.#catalogue.metrics(device).slice(0, limit);
  }

  async *devices(after?: string): AsyncGenerator<string> {
    await translated(this.#layout.folder, () => this.#catalogue.refresh());
    for (const device of this.#catalogue.allDevices()) {
      if (after === undefined || compareText(device, after) > 0) yield device;
    }
  }

  setUnits(units: readonly SeriesUnit[]): Promise<void> {
    return this.#units.set(units);
  }

  units(series: readonly SeriesName[]): Promise<(string | null)[]> {
    return this.#units.of(series);
  }

  #latestOf(devices: readonly string[]): Promise<Reading[]> {
    return translated(this.#layout.readings, async () => {
      await this.#catalogue.refresh();
      for (const device of devices) demandFewMetrics(device, this.#catalogue.metrics(device).length);
      const found: Reading[] = [];
      let missing = devices.flatMap((device) =>
        this.#catalogue.metrics(device).map((metric) => ({
          name: { device, metric },
          days: this.#catalogue.days(device, metric),
        })),
      );
      while (missing.length > 0) {
        const older: typeof missing = [];
        for (const [number, series] of Map.groupBy(missing, ({ days }) => days.at(-1)!)) {
          const newest = await this.#newestOn(
            number,
            series.map(({ name }) => name),
          );
          newest.forEach((reading, index) => {
            const { name, days } = series[index]!;
            if (reading !== null) found.push(reading);
            else if (days.length > 1) older.push({ name, days: days.slice(0, -1) });
          });
        }
        missing = older;
      }
      return found.sort((a, b) => compareText(a.device, b.device) || compareText(a.metric, b.metric));
    });
  }

  expire(before: number, pace?: Pace): Promise<number> {
    return translated(this.#layout.readings, async () => {
      const boundary = dayOf(before);
      const days = await this.#files();
      const whole = days.filter((day) => day < boundary);
      await this.#catalogue.drop(whole);
      let gone = 0;
      for (const number of whole) {
        const dropped = await this.#days.use(number, (day) => day.drop());
        gone += dropped;
        await pace?.(dropped);
      }
      if (days.includes(boundary)) {
        const deleted = await this.#days.use(boundary, (day) => day.delete({ from: 0, to: before }));
        gone += deleted;
        await pace?.(deleted);
      }
      return gone;
    });
  }

  async delete({ device, metric, from = 0, to = MAX_TIME + 1 }: DeleteQuery, pace?: Pace): Promise<number> {
    const deletion = { device, ...(metric === undefined ? {} : { metric }), from, to };
    const days = await this.#daysOf(deletion);
    let gone = 0;
    for (const number of days) {
      const deleted = await translated(this.#layout.readings, () =>
        this.#days.use(number, (day) => day.delete(deletion)),
      );
      gone += deleted;
      await pace?.(deleted);
    }
    return gone;
  }

  async close(): Promise<void> {
    await this.#days.close();
    await this.#catalogue.close();
    await this.#units.close();
  }

  /** The days that have a file. */
  async #files(): Promise<number[]> {
    const names = await listLogs(this.#layout.readings);
    return [...names.keys()].map(dayNamed).filter((day) => day !== null);
  }

  /** The days that can have readings of a range, in its order. */
  #daysOf({ device, metric, from = 0, to = MAX_TIME + 1, order = 'desc', after }: Omit<RangeQuery, 'limit'>) {
    return translated(this.#layout.folder, async () => {
      await this.#catalogue.refresh();
      const [ascending, time] = [order === 'asc', after?.time];
      const first = dayOf(ascending ? Math.max(from, time ?? from) : from);
      const last = dayOf(ascending ? to - 1 : Math.min(to - 1, time ?? to));
      const days = this.#catalogue.days(device, metric).filter((day) => day >= first && day <= last);
      return ascending ? days : days.reverse();
    });
  }

  async #newestOn(number: number, series: readonly SeriesName[]): Promise<readonly (Reading | null)[]> {
    const known = this.#days.has(number) ? null : await this.#remembered(number, series);
    if (known !== null) return known;
    return this.#days.use(number, async (day) => {
      const { readings, fingerprint } = await day.newest(series);
      readings.forEach((reading, index) => {
        if (reading === null) return;
        const key = keyOf(series[index]!);
        this.#latest.delete(key);
        this.#latest.set(key, { day: number, fingerprint, reading });
      });
      for (const key of this.#latest.keys()) {
        if (this.#latest.size <= MAX_LATEST) break;
        this.#latest.delete(key);
      }
      return readings;
    });
  }

  /**
   * Cached newest readings of a day that is not in memory. Null if some are missing or the file has changed.
   */
  async #remembered(number: number, series: readonly SeriesName[]): Promise<Reading[] | null> {
    const known = series.map((name) => this.#latest.get(keyOf(name)));
    const fingerprint = known[0]?.fingerprint;
    const complete = known.every((one) => one?.day === number && one.fingerprint === fingerprint);
    if (!complete || fingerprint !== (await fingerprintOf(this.#layout.readings, dayName(number))))
      return null;
    return known.map((one) => one!.reading);
  }
}

function keyOf({ device, metric }: SeriesName): string {
  return `${device}\0${metric}`;
}

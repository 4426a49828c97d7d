import type { Reading } from '@tidegauge/readings';
import { MAX_METRICS_READ } from '../arguments.ts';
import { cachedBytes, MAX_CACHED_BYTES } from '../cached-bytes.ts';
import type { SeriesName, SeriesUnit } from '../contract.ts';
import { compareText } from '../merge.ts';
import type { Database, Row } from './database.ts';

export interface Series {
  readonly id: number;
  readonly metric: string;
}

const FIND = `
  select id, device, metric from unnest($1::text[], $2::text[]) as wanted (device, metric)
  join series using (device, metric)`;
const ADD = `
  insert into series (device, metric) select * from unnest($1::text[], $2::text[]) on conflict do nothing`;

const SET_UNITS = `
  update series set unit = given.unit from unnest($1::text[], $2::text[], $3::text[]) as given (device, metric, unit)
  where series.device = given.device and series.metric = given.metric`;
const UNITS = `
  select unit from unnest($1::text[], $2::text[]) with ordinality as wanted (device, metric, place)
  left join series using (device, metric) order by place`;

type Names = Map<string, Map<string, number>>;

/** Numbers of series, which keep rows of readings small. They never change, so they are cached. */
export class SeriesDictionary {
  readonly #db: Database;
  #known: Names = new Map();
  #bytes = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  clear(): void {
    this.#known = new Map();
    this.#bytes = 0;
  }

  /** The series of each row of a batch. New series are inserted, and stay if the batch fails. */
  async numbers(batch: readonly Reading[]): Promise<number[]> {
    const numbers = batch.map(({ device, metric }) => this.#known.get(device)?.get(metric) ?? -1);
    if (!numbers.includes(-1)) return numbers;
    const found = await this.#findOrAdd(batch.filter((_, row) => numbers[row] === -1));
    return numbers.map((number, row) => {
      const { device, metric } = batch[row]!;
      return number === -1 ? found.get(device)!.get(metric)! : number;
    });
  }

  /** The series of a device by metric, from after `after` on, or only the named one. */
  async of(device: string, metric?: string, limit = MAX_METRICS_READ + 1, after = ''): Promise<Series[]> {
    const sql = 'select id, metric from series where device = $1';
    const { rows } =
      metric === undefined
        ? await this.#db.read(`${sql} and metric > $2 order by metric limit $3`, [device, after, limit])
        : await this.#db.read(`${sql} and metric = $2`, [device, metric]);
    return rows.map(([id, metric]) => ({ id: id as number, metric: metric as string }));
  }

  /** Sets the units of series that exist. */
  async setUnits(units: readonly SeriesUnit[]): Promise<void> {
    // Sorted like new series, so that processes that change the same series rarely wait for each other in a circle.
    const sorted = units.toSorted(
      (a, b) => compareText(a.device, b.device) || compareText(a.metric, b.metric),
    );
    await this.#db.run('ingest', SET_UNITS, [...columns(sorted.map(nameOf)), sorted.map(({ unit }) => unit)]);
  }

  async units(series: readonly SeriesName[]): Promise<(string | null)[]> {
    const { rows } = await this.#db.read(UNITS, columns(series.map(nameOf)));
    return rows.map(([unit]) => unit as string | null);
  }

  async #findOrAdd(missing: readonly Reading[]): Promise<Names> {
    const names: Names = new Map();
    for (const { device, metric } of missing) put(names, device, metric, -1);
    // Sorted, so that processes that insert the same series wait for each other and never deadlock.
    const wanted = [...names]
      .flatMap(([device, metrics]) => [...metrics.keys()].map((metric) => [device, metric] as const))
      .sort((a, b) => compareText(a[0], b[0]) || compareText(a[1], b[1]));
    let rows = await this.#find(wanted);
    if (rows.length < wanted.length) {
      for (const [, device, metric] of rows) put(names, device as string, metric as string, 0);
      const fresh = wanted.filter(([device, metric]) => names.get(device)!.get(metric) === -1);
      await this.#db.run('ingest', ADD, columns(fresh));
      rows = await this.#find(wanted);
    }
    if (this.#bytes >= MAX_CACHED_BYTES) this.clear();
    for (const [id, device, metric] of rows as [number, string, string][]) {
      put(names, device, metric, id);
      put(this.#known, device, metric, id);
      this.#bytes += cachedBytes(device, metric);
    }
    return names;
  }

  async #find(wanted: readonly (readonly [string, string])[]): Promise<readonly Row[]> {
    return (await this.#db.run('ingest', FIND, columns(wanted))).rows;
  }
}

function nameOf({ device, metric }: SeriesName): readonly [string, string] {
  return [device, metric];
}

function columns(names: readonly (readonly [string, string])[]): [string[], string[]] {
  return [names.map(([device]) => device), names.map(([, metric]) => metric)];
}

function put(names: Names, device: string, metric: string, id: number): void {
  const metrics = names.get(device);
  if (metrics === undefined) names.set(device, new Map([[metric, id]]));
  else metrics.set(metric, id);
}

import { forEach } from '@tidegauge/parallel';
import type { SeriesName, SeriesUnit } from '../contract.ts';
import type { Session } from './session.ts';

// Concurrent calls.
const WIDTH = 32;
// Metrics in one statement.
const METRICS = 100;

/** Units of series, a partition per device. They never expire: `series` has a row per day, which expires. */
export class CassandraUnits {
  readonly #session: Session;
  readonly #table: string;

  constructor(session: Session) {
    this.#session = session;
    this.#table = `"${session.keyspace}".tidegauge_units`;
  }

  async set(units: readonly SeriesUnit[]): Promise<void> {
    const query = `insert into ${this.#table} (device, metric, unit) values (?, ?, ?)`;
    await forEach(units, WIDTH, ({ device, metric, unit }) =>
      this.#session.write(query, [device, metric, unit]),
    );
  }

  async of(series: readonly SeriesName[]): Promise<(string | null)[]> {
    const query = `select metric, unit from ${this.#table} where device = ? and metric in ?`;
    const requests: [string, string[]][] = [];
    for (const [device, names] of Map.groupBy(series, (each) => each.device)) {
      for (let start = 0; start < names.length; start += METRICS)
        requests.push([device, names.slice(start, start + METRICS).map(({ metric }) => metric)]);
    }
    const known = new Map<string, string>();
    await forEach(requests, WIDTH, async ([device, metrics]) => {
      for (const { metric, unit } of await this.#session.read(query, [device, metrics]))
        known.set(`${device} ${metric}`, unit as string);
    });
    return series.map(({ device, metric }) => known.get(`${device} ${metric}`) ?? null);
  }
}

import type { InfluxDb } from '@tidegauge/lab/influxdb';
import { parseTime, QUALITIES, type Reading } from '@tidegauge/readings';
import { fetchFor } from '@tidegauge/service';

const WRITE_MS = 60_000;
/** Readings of a query, on average. */
const PAGE = 50_000;

interface Series {
  readonly device: string;
  readonly metric: string;
  readonly first: number;
  last: number;
  count: number;
}

/** Writes readings to InfluxDB as its users would: each part of a reading is a field with a type of InfluxDB. */
export class InfluxFields {
  readonly #server: InfluxDb;
  readonly #database: string;
  readonly #series = new Map<string, Series>();

  constructor(server: InfluxDb, database: string) {
    this.#server = server;
    this.#database = database;
  }

  async write(readings: readonly Reading[]): Promise<void> {
    for (const { device, metric, time } of readings) {
      const name = `${device} ${metric}`;
      const series = this.#series.get(name) ?? { device, metric, first: time, last: time, count: 0 };
      series.last = time;
      series.count += 1;
      this.#series.set(name, series);
    }
    const url = `${this.#server.url}/write?db=${this.#database}&precision=u`;
    const body = readings.map(lineOf).join('\n');
    const response = await fetchFor('write to InfluxDB', url, { method: 'POST', body, timeoutMs: WRITE_MS });
    if (response.status !== 204) throw new Error(`InfluxDB refused readings: ${await response.text()}`);
  }

  async *read(): AsyncGenerator<readonly Reading[]> {
    for (const { device, metric, first, last, count } of this.#series.values()) {
      const span = Math.ceil(((last - first + 1) * PAGE) / Math.max(PAGE, count));
      for (let from = first; from <= last; from += span) {
        const where = `device = '${device}' and metric = '${metric}' and time >= ${from}u and time < ${from + span}u`;
        const rows = await this.#server.query(
          `select value, delay, quality, boot, seq from readings where ${where}`,
          this.#database,
        );
        yield rows.map(([at, value, delay, quality, boot, seq]) => {
          const time = parseTime(at)!;
          const received = time + (delay as number);
          return { device, metric, time, value, received, quality: QUALITIES[quality as number], boot, seq };
        }) as Reading[];
      }
    }
  }
}

function lineOf({ device, metric, time, value, received, quality, boot, seq }: Reading): string {
  const number = Object.is(value, -0) ? '-0' : value;
  const more = boot === null ? '' : `,boot="${boot}",seq=${seq}i`;
  const fields = `value=${number},delay=${received - time}i,quality=${QUALITIES.indexOf(quality)}i${more}`;
  return `readings,device=${device},metric=${metric} ${fields} ${time}`;
}

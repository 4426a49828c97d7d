import type { InfluxDb } from '@tidegauge/lab/influxdb';
import { parseTime, QUALITIES, type Reading } from '@tidegauge/readings';
import { fetchFor } from '@tidegauge/service';

const WRITE_MS = 60_000;
const PAGE = 50_000;

/** Writes readings to InfluxDB as its users would: each part of a reading is a field with a type of InfluxDB. */
export class InfluxFields {
  readonly #server: InfluxDb;
  readonly #database: string;
  readonly #series = new Map<string, Pick<Reading, 'device' | 'metric'>>();

  constructor(server: InfluxDb, database: string) {
    this.#server = server;
    this.#database = database;
  }

  async write(readings: readonly Reading[]): Promise<void> {
    for (const { device, metric } of readings) this.#series.set(`${device} ${metric}`, { device, metric });
    const url = `${this.#server.url}/write?db=${this.#database}&precision=u`;
    const body = readings.map(lineOf).join('\n');
    const response = await fetchFor('write to InfluxDB', url, { method: 'POST', body, timeoutMs: WRITE_MS });
    if (response.status !== 204) throw new Error(`InfluxDB refused readings: ${await response.text()}`);
  }

  async *read(): AsyncGenerator<readonly Reading[]> {
    for (const { device, metric } of this.#series.values()) {
      for (let after = -1; ; ) {
        const where = `device = '${device}' and metric = '${metric}' and time > ${after}u`;
        const rows = await this.#server.query(
          `select value, delay, quality, boot, seq from readings where ${where} order by time limit ${PAGE}`,
          this.#database,
        );
        if (rows.length === 0) break;
        const page = rows.map(([at, value, delay, quality, boot, seq]) => {
          const time = parseTime(at)!;
          const received = time + (delay as number);
          return { device, metric, time, value, received, quality: QUALITIES[quality as number], boot, seq };
        }) as Reading[];
        yield page;
        after = page.at(-1)!.time;
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

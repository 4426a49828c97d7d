import { MAX_TIME, type Reading } from '@tidegauge/readings';
import type { BackendReadings } from '../backend.ts';
import type { DeleteQuery, Pace, RangeQuery, WriteResult } from '../contract.ts';
import { compareText, demandFewMetrics, latestOfSome, rangeOfNames } from '../merge.ts';
import type { Client } from './client.ts';
import { fromReading, toReading } from './mapping.ts';

/** Devices in one statement of `latest`. */
const DEVICES_AT_ONCE = 50;
const SERIES = 'device = $device and metric = $metric';

/** Points of the measurement `readings`. The server replaces the fields of a point with the same series and time. */
export class InfluxdbReadings implements BackendReadings {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  async write(batch: readonly Reading[]): Promise<WriteResult> {
    await this.#client.write(batch.map(fromReading), 'u');
    return { stored: batch.length, duplicate: 0 };
  }

  range(query: RangeQuery): AsyncGenerator<Reading> {
    const { device } = query;
    return rangeOfNames(query, this, async (metric, { from, to, order, limit }) => {
      const rest = `order by time ${order} limit ${limit}`;
      const page = `select n, m from readings where ${SERIES} and ${between(from, to)} ${rest}`;
      return (await this.#client.query(page, { device, metric })).map((row) =>
        toReading(device, metric, row),
      );
    });
  }

  /** One statement for many devices. Derived, it would be one for each metric. */
  latest(devices: readonly string[], limit: number): Promise<Reading[]> {
    return latestOfSome(devices, limit, DEVICES_AT_ONCE, async (some) => {
      const params = Object.fromEntries(some.map((device, index) => [`d${index}`, device]));
      const any = some.map((_, index) => `device = $d${index}`).join(' or ');
      const newest = `select n, m from readings where ${any} group by device, metric order by time desc limit 1`;
      const rows = await this.#client.query(newest, params);
      const found = rows.map((row) => toReading(row.device as string, row.metric as string, row));
      for (const [name, { length }] of Map.groupBy(found, ({ device }) => device))
        demandFewMetrics(name, length);
      return found.sort((a, b) => compareText(a.device, b.device) || compareText(a.metric, b.metric));
    });
  }

  async metrics(device: string, limit: number): Promise<string[]> {
    const names = `show tag values from readings with key = metric where device = $device limit ${limit}`;
    return (await this.#client.query(names, { device })).map(({ value }) => value as string);
  }

  /** The server has the names in memory, and cannot continue after one. */
  async *devices(after?: string): AsyncGenerator<string> {
    const rows = await this.#client.query('show tag values from readings with key = device');
    const names = rows.map(({ value }) => value as string).sort(compareText);
    for (const name of names) if (after === undefined || compareText(name, after) > 0) yield name;
  }

  /** One metric after the other. The server does not count what it deletes. */
  async delete({ device, metric, from = 0, to = MAX_TIME + 1 }: DeleteQuery, pace?: Pace): Promise<null> {
    if (from >= to) return null;
    const metrics = metric === undefined ? await this.metrics(device, Number.MAX_SAFE_INTEGER) : [metric];
    for (const each of metrics) {
      const part = `delete from readings where ${SERIES} and ${between(from, to)}`;
      await this.#client.query(part, { device, metric: each });
      await pace?.(null);
    }
    return null;
  }
}

const between = (from: number, to: number): string => `time >= ${from}u and time < ${to}u`;

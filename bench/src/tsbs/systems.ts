import { mkdir } from 'node:fs/promises';
import { startInfluxDb } from '@tidegauge/lab/influxdb';
import { freePort } from '@tidegauge/process';
import { fetchFor } from '@tidegauge/service';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';
import { type Figures, influxFigures, openTsdbBody, openTsdbFigures, type TsbsQuery } from './queries.ts';

/** The database that TSBS writes to by default. */
const DATABASE = 'benchmark';
const ASK_MS = 300_000;

/** The time from the request to the last byte of the answer, and the figures in it. */
export interface Answer {
  readonly ms: number;
  readonly figures: Figures;
}

/** A system under test, with empty data. */
export interface System {
  /** For `tsbs_load_influx`. */
  readonly url: string;
  /** All its processes. */
  readonly pids: readonly number[];
  /** The folder of all its files. */
  readonly directory: string;
  /** The number of values that it has stored. */
  stored(): Promise<number>;
  /** @throws {Error} it refuses the query */
  ask(query: TsbsQuery): Promise<Answer>;
  /** Stops it. InfluxDB also removes its files. */
  stop(): Promise<unknown>;
}

/** The systems by the name that the table has, in the order of the first turn. */
export const SYSTEMS: Readonly<Record<string, (directory: string) => Promise<System>>> = {
  Tidegauge: startTidegauge,
  'InfluxDB 1.8': startInflux,
};

/**
 * Ingest and the API with SQLite, and their default settings except one: a host of TSBS is a device. Its other nine tags,
 * which never change, are left out, because a device has at most eight segments.
 */
async function startTidegauge(directory: string): Promise<System> {
  await mkdir(directory, { mode: 0o700 });
  const store = `sqlite:${directory}/tidegauge.db`;
  const ingest = await startIngestProcess({
    STORE: store,
    DATA_DIR: directory,
    CLIENT_ID: 'bench-tsbs',
    LISTEN: `mqtt://127.0.0.1:${await freePort()}`,
    INFLUX_DEVICE: '{hostname}',
  });
  const api = await startApiProcess({ STORE: store, INGEST: ingest.url }).catch(async (error: unknown) => {
    await ingest.stop();
    throw error;
  });
  return {
    url: api.url,
    pids: [ingest.pid, api.pid],
    directory,
    stored: async () => (await ingest.ledger()).readings.stored,
    async ask(query) {
      const request = { method: 'POST', body: JSON.stringify(openTsdbBody(query)) };
      const headers = { 'Content-Type': 'application/json' };
      const { ms, body } = await timed(`${api.url}/api/query`, { ...request, headers });
      return { ms, figures: openTsdbFigures(body, query) };
    },
    async stop() {
      await api.stop();
      await ingest.stop();
    },
  };
}

/** InfluxDB with its default settings, except that it compacts its files ten seconds after the last write. */
async function startInflux(): Promise<System> {
  const influxdb = await startInfluxDb({ coldAfter: '10s' });
  return {
    url: influxdb.url,
    pids: [influxdb.pid],
    directory: influxdb.directory,
    async stored() {
      const [row = []] = await influxdb.query('select count(*) from cpu', DATABASE);
      const [, ...counts] = row as readonly number[];
      return counts.reduce((sum, count) => sum + count, 0);
    },
    async ask(query) {
      const parameters = new URLSearchParams({ q: query.influxQl, db: DATABASE });
      const { ms, body } = await timed(`${influxdb.url}/query?${parameters}`, {});
      return { ms, figures: influxFigures(body, query) };
    },
    stop: () => influxdb.stop(),
  };
}

async function timed(
  url: string,
  init: RequestInit,
): Promise<{ readonly ms: number; readonly body: string }> {
  const started = performance.now();
  const response = await fetchFor('send a query of TSBS', url, { ...init, timeoutMs: ASK_MS });
  const body = await response.text();
  const ms = performance.now() - started;
  if (!response.ok) throw new Error(`a query of TSBS was refused with ${response.status}: ${body}`);
  return { ms, body };
}

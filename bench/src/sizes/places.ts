import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { BatchWriter, metricsOf } from '@tidegauge/copy';
import { startCassandra } from '@tidegauge/lab/cassandra';
import { diskUsage } from '@tidegauge/lab/disk-usage';
import { startInfluxDb } from '@tidegauge/lab/influxdb';
import { startPostgres } from '@tidegauge/lab/postgres';
import { temporaryDirectory } from '@tidegauge/process';
import type { Reading } from '@tidegauge/readings';
import { openStore, type Store } from '@tidegauge/storage';
import { InfluxFields } from './influx-fields.ts';
import { ParquetFile, readParquet } from './parquet-file.ts';

/** Where a store keeps data sets, each in its own database or file. */
export interface Place {
  create(name: string): Promise<Sink>;
  stop(): Promise<void>;
}

/** A data set in a store. */
export interface Sink {
  write(readings: readonly Reading[]): Promise<void>;
  /** Brings all that was written into its final form on the disk, and measures it. Called once. */
  measure(): Promise<Size>;
  /** All readings, series by series, each by time. Call it after `measure`. */
  read(): AsyncIterable<readonly Reading[]>;
  close(): Promise<void>;
}

/** Bytes of the readings and their indexes, without write-ahead logs, rollups and the marks for those. */
export interface Size {
  readonly bytes: number;
  /**
   * SQLite only: the same before blocks; and blocks, after newer readings of other sensors have come. Until then, the newest
   * 20,000 readings of the file stay rows.
   */
  readonly sqlite?: {
    readonly rowBytes: number;
    readonly blockBytes: number;
    readonly blockReadings: number;
  };
}

export const PLACES: Readonly<Record<string, () => Promise<Place>>> = {
  sqlite: startSqlite,
  influxdb: startInflux,
  'influxdb-fields': startInfluxFields,
  postgres: startPostgresPlace,
  cassandra: startCassandraPlace,
  parquet: startParquet,
};

/** A data set in a store of Tidegauge. */
async function storeSink(url: string, measure: (store: Store) => Promise<Size>): Promise<Sink> {
  const store = await openStore(url);
  const writer = new BatchWriter(store);
  return {
    async write(readings) {
      for (const reading of readings) {
        const waits = writer.add(reading);
        if (waits !== null) await waits;
      }
    },
    async measure() {
      await writer.flush();
      if (writer.refused > 0) throw new Error(`${store.name} refused ${writer.reasons[0]}`);
      return measure(store);
    },
    read: () => readStore(store),
    close: () => store.close(),
  };
}

async function* readStore(store: Store): AsyncGenerator<readonly Reading[]> {
  for await (const device of store.readings.devices()) {
    if (device.startsWith(LATER)) continue;
    for (const metric of await metricsOf(store, device))
      yield* store.readings.pages({ device, metric, order: 'asc', limit: Number.MAX_SAFE_INTEGER });
  }
}

async function startSqlite(): Promise<Place> {
  const folder = temporaryDirectory('sizes');
  return {
    create: (name) => {
      const path = join(folder.path, `${name}.db`);
      const url = `sqlite:${path}?synchronous=normal`;
      return storeSink(url, async (store) => {
        const rows = tablesOf(path);
        while (await store.compact());
        const { bytes } = tablesOf(path);
        await storeLater(url);
        const { blockBytes, blockReadings } = tablesOf(path);
        return { bytes, sqlite: { rowBytes: rows.bytes, blockBytes, blockReadings } };
      });
    },
    stop: async () => folder.remove(),
  };
}

const LATER = 'later/';

/** Stores newer readings of other sensors, too few of each for a block. A pass over all series begins with a new connection. */
async function storeLater(url: string): Promise<void> {
  const store = await openStore(url);
  const readings = Array.from({ length: 25_000 }, (_, number) => {
    const time = 4_000_000_000_000_000 + number * 1_000_000;
    const stamp = { received: time, boot: null, seq: null, quality: 'ok' } as const;
    return { device: `${LATER}${number % 31}`, metric: 'level', time, value: 1, ...stamp };
  });
  try {
    await store.readings.write(readings);
    while (await store.compact());
  } finally {
    await store.close();
  }
}

/** Bytes of the pages of the tables with readings, and of their indexes. */
function tablesOf(path: string): { bytes: number; blockBytes: number; blockReadings: number } {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    const bytesOf = (...tables: readonly string[]): number => {
      const names = `select name from sqlite_schema where tbl_name in (${tables.map(() => '?').join()})`;
      const sum = `select sum(pgsize) as bytes from dbstat where name in (${names})`;
      return db.prepare(sum).get(...tables)!.bytes as number;
    };
    const count = 'select coalesce(sum(count), 0) as readings from tidegauge_blocks';
    return {
      bytes: bytesOf('series', 'boots', 'readings', 'recent', 'arrivals', 'tidegauge_blocks'),
      blockBytes: bytesOf('tidegauge_blocks'),
      blockReadings: db.prepare(count).get()!.readings as number,
    };
  } finally {
    db.close();
  }
}

async function startInflux(): Promise<Place> {
  const server = await startInfluxDb({ coldAfter: '5s' });
  return {
    create: (name) =>
      storeSink(`influxdb://127.0.0.1:${server.port}/${name}`, () => compactedSize(server.directory, name)),
    stop: () => server.stop(),
  };
}

async function startInfluxFields(): Promise<Place> {
  const server = await startInfluxDb({ coldAfter: '5s' });
  return {
    async create(name) {
      await server.query(`create database "${name}"`);
      const fields = new InfluxFields(server, name);
      return {
        write: (readings) => fields.write(readings),
        measure: () => compactedSize(server.directory, name),
        read: () => fields.read(),
        close: async () => {},
      };
    },
    stop: () => server.stop(),
  };
}

const POLL_MS = 1000;
const COMPACTED_MS = 300_000;
/** A compaction begins within a second of the one before. */
const QUIET_POLLS = 10;

/** Waits until the log of a database is empty, and each shard is one file. */
async function compactedSize(directory: string, database: string): Promise<Size> {
  const late = performance.now() + COMPACTED_MS;
  for (let [quiet, before] = [0, '']; quiet < QUIET_POLLS; ) {
    if (performance.now() > late) throw new Error(`InfluxDB has not compacted ${database}: ${before}`);
    await delay(POLL_MS);
    const files = filesIn(join(directory, 'data', database), /\.(tsm|tmp)$/);
    const log = filesIn(join(directory, 'wal', database), /\.wal$/).filter(({ bytes }) => bytes > 0);
    const shards = new Set(files.map(({ folder }) => folder));
    const now = files.map(({ name, bytes }) => `${name} ${bytes}`).join();
    const isDone = log.length === 0 && files.length === shards.size && now === before;
    quiet = isDone ? quiet + 1 : 0;
    before = now;
  }
  return { bytes: await diskUsage(join(directory, 'data', database)) };
}

function filesIn(folder: string, pattern: RegExp) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && pattern.test(entry.name))
    .map(({ parentPath, name }) => ({
      folder: parentPath,
      name,
      bytes: statSync(join(parentPath, name), { throwIfNoEntry: false })?.size ?? 0,
    }));
}

async function startPostgresPlace(): Promise<Place> {
  const server = await startPostgres();
  const sum = `select sum(pg_total_relation_size(oid)) from pg_class where relname in ('readings', 'series')`;
  return {
    async create(name) {
      await server.query(`create database ${name}`);
      return storeSink(server.url(name), async () => ({ bytes: Number(await server.query(sum, name)) }));
    },
    stop: () => server.stop(),
  };
}

async function startCassandraPlace(): Promise<Place> {
  const server = await startCassandra();
  const [node] = server.nodes;
  return {
    create: (name) =>
      storeSink(server.url(name), async () => {
        await node!.nodetool('flush', name);
        await node!.nodetool('compact', name);
        return { bytes: await untilSteady(join(node!.folder, 'data', name)) };
      }),
    stop: () => server.stop(),
  };
}

/** Bytes of the tables of readings. Compacted files are removed some time later. */
async function untilSteady(keyspace: string): Promise<number> {
  for (let before = -1; ; ) {
    await delay(5 * POLL_MS);
    let bytes = 0;
    for (const name of readdirSync(keyspace))
      if (/^(readings|series)-/.test(name)) bytes += await diskUsage(join(keyspace, name));
    if (bytes === before) return bytes;
    before = bytes;
  }
}

async function startParquet(): Promise<Place> {
  const folder = temporaryDirectory('sizes');
  return {
    async create(name) {
      const path = join(folder.path, `${name}.parquet`);
      const file = new ParquetFile(path);
      return {
        write: async (readings) => file.write(readings),
        async measure() {
          file.close();
          return { bytes: statSync(path).size };
        },
        read: () => readParquet(path),
        close: async () => {},
      };
    },
    stop: async () => folder.remove(),
  };
}

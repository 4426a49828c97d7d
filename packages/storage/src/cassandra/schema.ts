import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isRetryable, newerSchema, StoreError } from '../errors.ts';
import { ROLLUPS_STATE, sinceDocument } from '../rollups/limits.ts';
import { DAY_US } from '../rollups/periods.ts';
import type { CassandraConfig } from './config.ts';
import type { Session } from './session.ts';

/**
 * A partition holds one series of one day. A reading takes about 60 bytes, so one reading per second makes 86,400
 * rows and 5 MB, and ten per second make 52 MB. Cassandra recommends at most 100 MB.
 */
export const BUCKET_US: number = DAY_US;

/** The number of partitions of devices. Each is ordered by name. */
export const DEVICE_SHARDS = 16;

/** Index rows live longer than readings by this time, which exceeds the time that writers cache them. */
const INDEX_MARGIN_S = 3600;

const LOCK_S = 60;
const LOCK_POLL_MS = 100;
const LOCK_WAIT_MS = 90_000;
const KNOWN_MS = 10_000;

/**
 * Statements that upgrade from each version to the next. Released statements never change; new ones are appended.
 */
const STEPS: readonly ((config: CassandraConfig) => readonly string[])[] = [
  (config) => {
    const ks = config.keyspace;
    const { ttl } = config;
    const days = Math.max(1, Math.ceil(ttl / 86_400 / 30));
    const windows = `'class': 'TimeWindowCompactionStrategy', 'compaction_window_unit': 'DAYS', 'compaction_window_size': ${days}`;
    // Cassandra deletes whole files of expired readings if a file holds readings of about one age.
    const compaction = ttl > 0 ? ` and compaction = {${windows}}` : '';
    return [
      `create table if not exists "${ks}".readings (
        device text, metric text, bucket int, time bigint,
        number double, string text, received bigint, boot text, seq bigint, shape tinyint,
        primary key ((device, metric, bucket), time)
      ) with clustering order by (time desc) and compression = ${compression(config)}
        and default_time_to_live = ${ttl}${compaction}`,
      `create table if not exists "${ks}".series (
        device text, metric text, bucket int, primary key (device, metric, bucket)
      ) with clustering order by (metric asc, bucket desc) and compression = ${compression(config)}
        and default_time_to_live = ${ttl === 0 ? 0 : Math.min(ttl + INDEX_MARGIN_S, 630_720_000)}`,
      `create table if not exists "${ks}".devices (
        shard int, name text, site text, city text, kind text, year int, attributes text,
        primary key (shard, name)
      ) with compression = ${compression(config)}`,
      ...['site', 'city', 'kind', 'year'].map(
        (column) => `create index if not exists devices_${column} on "${ks}".devices (${column}) using 'sai'`,
      ),
    ];
  },
  (config) => [
    `create table if not exists "${config.keyspace}".totals (
      year int, day int, metric text, count bigint, sum double, min double, max double,
      primary key (year, day, metric)
    ) with compression = ${compression(config)}`,
    `create table if not exists "${config.keyspace}".rollups (
      scope tinyint, first int, until int, as_of bigint, primary key (scope, first, until)
    ) with compression = ${compression(config)}`,
  ],
  (config) => [
    `create table if not exists "${config.keyspace}".tidegauge_units (
      device text, metric text, unit text, primary key (device, metric)
    ) with compression = ${compression(config)}`,
  ],
  (config) => {
    const table = (name: string, columns: string, options = '') =>
      `create table if not exists "${config.keyspace}".${name} (${columns})
        with compression = ${compression(config)}${options}`;
    // A mark that comes back is only computed again, so tombstones can go soon.
    const marks = ' and gc_grace_seconds = 3600';
    return [
      table(
        'tidegauge_marks',
        `device text, metric text, hour bigint, due bigint, erased boolean,
        primary key ((device, metric), hour, due)`,
        marks,
      ),
      table(
        'tidegauge_mark_queue',
        `slot int, due bigint, device text, metric text, hour bigint, erased boolean,
        primary key (slot, due, device, metric, hour)`,
        marks,
      ),
      table(
        'tidegauge_rollups',
        `device text, metric text, period text, span int, start bigint, figures blob,
        primary key ((device, metric, period, span), start)`,
      ),
      table('tidegauge_state', 'name text primary key, value text'),
    ];
  },
];

export const SCHEMA_VERSION = STEPS.length;

export function compression({ compression: name }: Pick<CassandraConfig, 'compression'>): string {
  return name === 'none'
    ? `{'enabled': 'false'}`
    : `{'class': '${{ lz4: 'LZ4Compressor', zstd: 'ZstdCompressor' }[name]}'}`;
}

/**
 * Creates keyspace and tables, or upgrades them. If everything exists, no right to create is needed.
 * @throws {StoreError} MISCONFIGURED when a newer version wrote the keyspace.
 */
export async function migrate(session: Session): Promise<void> {
  const found = await onceKnown(async () => {
    await createKeyspace(session);
    return version(session);
  });
  if (found === SCHEMA_VERSION) return;
  await withSchemaLock(session, async () => {
    const known = (await version(session)) ?? 0;
    for (const step of STEPS.slice(known)) {
      for (const statement of step(session.config)) await session.define(statement);
    }
    const [some] = await session.readMajority(`select device from "${session.keyspace}".series limit 1`, []);
    await session.writeIf({
      query: `insert into "${session.keyspace}".tidegauge_state (name, value) values (?, ?) if not exists`,
      params: [ROLLUPS_STATE, sinceDocument(some === undefined)],
    });
    const query = `update "${session.keyspace}".tidegauge_schema set value = ? where name = 'version' if value = ?`;
    await session.writeIf({ query, params: [String(SCHEMA_VERSION), known === 0 ? null : String(known)] });
  });
}

/**
 * A new keyspace or table of another process appears in the system tables before the node accepts statements on
 * it.
 */
async function onceKnown<T>(work: () => Promise<T>): Promise<T> {
  for (const deadline = Date.now() + KNOWN_MS; ; await delay(LOCK_POLL_MS)) {
    try {
      return await work();
    } catch (error) {
      const unknown =
        isRetryable(error) || (error instanceof StoreError && /(does not|doesn't) exist/.test(error.message));
      if (!unknown || Date.now() > deadline) throw error;
    }
  }
}

async function createKeyspace(session: Session): Promise<void> {
  const { keyspace, rf, strategy, dc } = session.config;
  const tables = `select table_name from system_schema.tables where keyspace_name = ? and table_name = ?`;
  if ((await session.read(tables, [keyspace, 'tidegauge_schema'])).length > 0) {
    await session.agree();
    return;
  }
  const keyspaces = 'select keyspace_name from system_schema.keyspaces where keyspace_name = ?';
  if ((await session.read(keyspaces, [keyspace])).length === 0) {
    const copies =
      strategy === 'simple'
        ? `'class': 'SimpleStrategy', 'replication_factor': ${rf}`
        : `'class': 'NetworkTopologyStrategy', '${dc}': ${rf}`;
    await session.define(`create keyspace if not exists "${keyspace}" with replication = {${copies}}`);
  } else {
    await session.agree();
  }
  // If two processes create one table at the same time on two nodes, two tables of one name result, which
  // Cassandra cannot repair. The same id makes them one table. All other tables are created under a lock in it.
  await session.define(
    `create table if not exists "${keyspace}".tidegauge_schema (name text primary key, value text)
      with id = ${tableId(keyspace)}`,
  );
}

/** The schema's version, or null before the first. */
async function version(session: Session): Promise<number | null> {
  const { keyspace } = session;
  const query = `select value from "${keyspace}".tidegauge_schema where name = 'version'`;
  const [row] = await session.readShared(query, []);
  if (row === undefined || row.value === null) return null;
  const found = Number(row.value);
  if (found <= SCHEMA_VERSION) return found;
  throw newerSchema(`cassandra ${session.config.place}`, found, SCHEMA_VERSION, 'keyspace');
}

/** One process at a time changes tables. The lock of a crashed process expires. */
export async function withSchemaLock(session: Session, work: () => Promise<void>): Promise<void> {
  const table = `"${session.keyspace}".tidegauge_schema`;
  const holder = randomUUID();
  const deadline = Date.now() + LOCK_WAIT_MS;
  while (!(await takeLock(session, table, holder))) {
    if (Date.now() > deadline) {
      const message = `cassandra ${session.config.place}: other processes keep changing the schema`;
      throw new StoreError('UNAVAILABLE', message, { hint: 'wait until they are done' });
    }
    await delay(LOCK_POLL_MS * (1 + Math.random()));
  }
  try {
    await work();
  } finally {
    const release = `delete from ${table} where name = 'lock' if value = ?`;
    await session.writeIf({ query: release, params: [holder] });
  }
}

async function takeLock(session: Session, table: string, holder: string): Promise<boolean> {
  const query = `insert into ${table} (name, value) values ('lock', ?) if not exists using ttl ${LOCK_S}`;
  try {
    if (await session.writeIf({ query, params: [holder] })) return true;
    const [row] = await session.readShared(`select value from ${table} where name = 'lock'`, []);
    return row?.value === holder;
  } catch (error) {
    // Concurrent attempts can make each other fail. The attempt may still have succeeded.
    if (isRetryable(error)) return false;
    throw error;
  }
}

/** A UUID of version 5 style from the keyspace's name. */
function tableId(keyspace: string): string {
  const bytes = createHash('sha1').update(`tidegauge ${keyspace}`).digest();
  bytes[6] = (bytes[6]! & 0x0f) | 0x50;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

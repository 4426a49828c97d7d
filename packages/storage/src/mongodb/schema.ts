import { setTimeout as delay } from 'node:timers/promises';
import { type Db, type IndexDescription, MongoServerError } from 'mongodb';
import { newerSchema } from '../errors.ts';
import { ROLLUPS_STATE, sinceDocument } from '../rollups/limits.ts';
import type { Database } from './database.ts';
import { isDeadlock, isDuplicateKey } from './errors.ts';

export const SCHEMA_VERSION = 2;

const NAMESPACE_EXISTS = 48;
/** Attempts of migrations that deadlock. After each failure, at least one other process continues. */
const ATTEMPTS = 10;
const RETRY_MS = 200;

/**
 * - readings: {_id: {s: series, t: time}, ...}. Ranges, latest and duplicates all use the index on _id, which always
 *   exists. In a sharded cluster, shard by {_id: 1}: series numbers are random, so series spread.
 * - series: {_id: number, d: device, m: metric, u: unit}
 * - devices: {_id: name, ...}
 * - tidegauge_schema: {_id: 'schema', version}
 * - tidegauge_leases: {_id: name, holder, expires}; its first document makes it
 * - tidegauge_marks: {_id: {d: device, m: metric, h: hour}, due, erased}
 * - tidegauge_rollups: {_id: {d: device, m: metric, p: period, s: start}, f: figures}
 * - tidegauge_state: {_id: name, value}
 * - tidegauge_tables: {_id: UUID of a collection, table}, the collections of records that Tidegauge made; its first
 *   document makes it
 */
const COLLECTIONS: Readonly<Record<string, readonly IndexDescription[]>> = {
  tidegauge_schema: [],
  readings: [],
  series: [{ name: 'device_metric', key: { d: 1, m: 1 }, unique: true }],
  tidegauge_marks: [{ name: 'due', key: { due: 1 } }],
  tidegauge_rollups: [{ name: 'period_start', key: { '_id.p': 1, '_id.s': 1 } }],
  tidegauge_state: [],
  devices: ['year', 'city', 'site', 'kind'].map((field) => ({ name: field, key: { [field]: 1, _id: 1 } })),
};

/**
 * Creates what is missing. Several processes can do every step at the same time. On PostgreSQL with DocumentDB,
 * concurrent creation of indexes can deadlock: a refused process tries again.
 */
export async function migrate(database: Database): Promise<void> {
  await database.run(async (db) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await create(db, database);
      } catch (error) {
        if (attempt === ATTEMPTS || !isDeadlock(error)) throw error;
        await delay(Math.random() * RETRY_MS);
      }
    }
  });
}

async function create(db: Db, database: Database): Promise<void> {
  const version = (await database.schema.findOne({ _id: 'schema' }))?.version ?? 0;
  if (version > SCHEMA_VERSION)
    throw newerSchema(`mongodb ${database.place}`, version, SCHEMA_VERSION, 'database');
  if (version === SCHEMA_VERSION) return;
  for (const [name, indexes] of Object.entries(COLLECTIONS)) {
    await createCollection(db, name);
    if (indexes.length > 0) await db.collection(name).createIndexes([...indexes]);
  }
  await setSince(database);
  await record(database);
}

async function createCollection(db: Db, name: string): Promise<void> {
  try {
    await db.createCollection(name);
  } catch (error) {
    if (!isNamespaceExists(error)) throw error;
  }
}

export function isNamespaceExists(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === NAMESPACE_EXISTS;
}

/** Several processes can do it: the first document stays. */
async function setSince({ series, states }: Database): Promise<void> {
  const isEmpty = (await series.findOne({})) === null;
  const document = { _id: ROLLUPS_STATE, value: sinceDocument(isEmpty) };
  await states.insertOne(document).catch((error: unknown) => {
    if (!isDuplicateKey(error)) throw error;
  });
}

async function record({ schema }: Database): Promise<void> {
  const set = () =>
    schema.updateOne({ _id: 'schema' }, { $max: { version: SCHEMA_VERSION } }, { upsert: true });
  // If two processes find no document, one of them is refused.
  await set().catch((error: unknown) => {
    if (!isDuplicateKey(error)) throw error;
    return set();
  });
}

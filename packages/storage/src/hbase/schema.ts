import { setTimeout as delay } from 'node:timers/promises';
import type { CreateTableOptions } from '@tidegauge/hbase-client';
import { newerSchema, StoreError } from '../errors.ts';
import { ROLLUPS_STATE, sinceDocument } from '../rollups/limits.ts';
import { TABLE_MARK } from '../tables.ts';
import type { HbaseConfig } from './config.ts';
import { failedWith } from './errors.ts';
import { saltSplits } from './keys.ts';
import { FAMILY, RECORD_FAMILY } from './mapping.ts';
import { HbaseRollups } from './rollups.ts';
import type { Session } from './session.ts';

/**
 * - readings: a row per reading, see `keys.ts` and `mapping.ts`
 * - devices: a row per device by its name, with a column per field. Rows before the first name have the version of the
 *   schema, and the units of series: see `units.ts`
 * - tidegauge_rollups (since version 3): marks and rows of rollups, see `rollups.ts`
 * - totals (since version 2): a row per day with totals, see `totals.ts`
 */
export const SCHEMA_VERSION = 3;

/** Sorts before every device, because names cannot contain this character. */
const SCHEMA_ROW = '\0schema';
const VERSION = { family: FAMILY, qualifier: 'version' } as const;
const POLL_MS = 50;
/** A slow board opens regions one after the other. */
export const DEFINE: { readonly timeoutMs: number } = { timeoutMs: 120_000 };

/**
 * Creates missing namespaces and tables. Several processes can do this at the same time. If everything exists, no
 * right to create is needed.
 * @throws {StoreError} MISCONFIGURED when a newer version wrote the namespace.
 */
export async function migrate(session: Session): Promise<void> {
  await session.run(async () => {
    const known = await version(session);
    if (known === SCHEMA_VERSION) return;
    const { admin } = session.client;
    await admin.createNamespace(session.config.namespace, DEFINE).catch((error: unknown) => {
      if (!failedWith(error, 'NAMESPACE_EXISTS')) throw error;
    });
    await createTable(session, 'readings', readingsTable(session.config));
    await createTable(session, 'devices', { families: { [FAMILY]: compression(session.config) } });
    await createTable(session, 'totals', { families: { [FAMILY]: compression(session.config) } });
    await createTable(session, 'tidegauge_rollups', { families: { [FAMILY]: compression(session.config) } });
    let isEmpty = true;
    for await (const _row of session.table('readings').scan({ limit: 1 })) isEmpty = false;
    await new HbaseRollups(session).ensureState(ROLLUPS_STATE, sinceDocument(isEmpty));
    const table = session.table('devices');
    const put = { type: 'put', cells: [{ ...VERSION, value: String(SCHEMA_VERSION) }] } as const;
    await table.checkAndMutate(SCHEMA_ROW, { ...VERSION, value: known === null ? null : String(known) }, put);
    await version(session);
  });
}

/** The attribute of a table with the mark that Tidegauge created it. */
export const MARK = { name: 'TIDEGAUGE', value: TABLE_MARK } as const;

/** The table of records for YCSB's binding, whose keys begin with `user` and a digit. */
export function recordsTable(config: HbaseConfig): CreateTableOptions {
  const { presplit } = config;
  const splitKeys = Array.from({ length: presplit - 1 }, (_, index) => {
    return `user${Math.floor(1000 + ((index + 1) * 9000) / presplit)}`;
  });
  const families = { [RECORD_FAMILY]: compression(config) };
  return { families, splitKeys, attributes: { [MARK.name]: MARK.value } };
}

/** Creates the table unless it exists. Resolves when all its regions have a server. */
export async function createTable(
  session: Session,
  table: string,
  options: CreateTableOptions,
): Promise<void> {
  const { admin } = session.client;
  const name = session.nameOf(table);
  try {
    await admin.createTable(name, { ...options, ...DEFINE });
  } catch (error) {
    if (failedWith(error, 'REJECTED')) throw refused(session, table, error);
    if (!failedWith(error, 'TABLE_EXISTS')) throw error;
  }
  for (const deadline = Date.now() + DEFINE.timeoutMs; !(await admin.isEnabled(name)); ) {
    if (Date.now() > deadline) {
      const message = `hbase ${session.config.place}: table ${table} exists and is not enabled`;
      throw new StoreError('MISCONFIGURED', message, { hint: 'enable the table' });
    }
    await delay(POLL_MS);
  }
}

/** The row with the version of the schema. */
export async function checkSchema(session: Session): Promise<void> {
  await session.table('devices').exists(SCHEMA_ROW);
}

/** The schema's version, or null before the first. */
async function version(session: Session): Promise<number | null> {
  let text: string | undefined;
  try {
    const row = await session.table('devices').get(SCHEMA_ROW);
    text = row?.value(VERSION.family, VERSION.qualifier)?.toString();
  } catch (error) {
    if (failedWith(error, 'TABLE_NOT_FOUND')) return null;
    throw error;
  }
  if (text === undefined) return null;
  const found = Number(text);
  if (found <= SCHEMA_VERSION) return found;
  throw newerSchema(`hbase ${session.config.place}`, found, SCHEMA_VERSION, 'namespace');
}

function readingsTable(config: HbaseConfig): CreateTableOptions {
  const family = {
    ...compression(config),
    ttlSeconds: config.ttl === 0 ? null : config.ttl,
    // Readings are scanned, never read by key, so a bloom filter would only take memory.
    bloomFilter: 'NONE',
    // An index of rows in each block. Without one, newest first takes five times as long as oldest first.
    blockEncoding: 'ROW_INDEX_V1',
  } as const;
  return { families: { [FAMILY]: family }, splitKeys: saltSplits(config.presplit) };
}

function compression({ compression }: HbaseConfig) {
  const names = { none: 'NONE', gz: 'GZ', snappy: 'SNAPPY', lz4: 'LZ4', zstd: 'ZSTD' } as const;
  return { compression: names[compression], maxVersions: 1 };
}

/** The master refuses a table. The most likely reason is a missing library of a compression. */
function refused({ config }: Session, table: string, cause: unknown): StoreError {
  const message = `hbase ${config.place}: table ${table} is refused: ${(cause as Error).message}`;
  return new StoreError('MISCONFIGURED', message, { hint: 'correct the options of the URL', cause });
}

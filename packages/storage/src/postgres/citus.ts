import type { Capabilities } from '../contract.ts';
import { StoreError } from '../errors.ts';
import { CITUS_OPTIONS, type Distribution } from './config.ts';
import type { Connection } from './database.ts';
import { type Dialect, POSTGRES_CAPABILITIES } from './dialect.ts';

const CAPABILITIES: Capabilities = Object.freeze({
  ...POSTGRES_CAPABILITIES,
  maxReplicationFactor: Number(/to (\d+)/.exec(CITUS_OPTIONS.rf.takes)?.[1]),
});

/**
 * Citus, through its coordinator. Readings and records are distributed by series and key. Devices and the
 * dictionary of series are reference tables, which every node has. Workers that join later get reference tables
 * automatically, and shards when the operator runs `citus_rebalance_start()`.
 */
export function citus(distribution: Distribution): Dialect {
  return {
    name: 'citus',
    capabilities: CAPABILITIES,
    // Citus cannot send a limit inside a lateral subquery to the shards.
    lateral: false,
    // Citus counts the rows that an `insert ... select` sent to the shards, not the rows that changed there.
    countsUpserts: false,
    // The keys are on several nodes.
    readsTogether: false,
    // Such an insert locks shards with several copies twice, the first time shared, so two inserts can deadlock.
    takesTurns: distribution.rf > 1,
    // Each connection to a worker takes part in the commit separately.
    settings: { 'citus.max_adaptive_executor_pool_size': '1' },
    // An upsert of many series has a connection for each shard, whatever the size of that pool is. They stay open.
    ingestSettings: { 'citus.max_cached_conns_per_worker': String(distribution.shards) },
    isPlaced,
    prepare: createExtension,
    async begin(connection) {
      // These settings apply to new tables. Existing tables keep their distribution.
      await connection.query(`set local citus.shard_count = ${distribution.shards}`);
      await connection.query(`set local citus.shard_replication_factor = ${distribution.rf}`);
      // After a transaction has used reference tables, it must not use several connections per worker.
      await connection.query(`set local citus.multi_shard_modify_mode = 'sequential'`);
    },
    async distribute(connection, table, column) {
      if (await isPlaced(connection, table)) return;
      await connection.query('select create_distributed_table($1::regclass, $2)', [`"${table}"`, column]);
    },
    async replicate(connection, table) {
      if (await isPlaced(connection, table)) return;
      await connection.query('select create_reference_table($1::regclass)', [`"${table}"`]);
    },
  };
}

async function isPlaced(connection: Connection, table: string): Promise<boolean> {
  const known = await connection.query(`select 1 from pg_extension where extname = 'citus'`);
  if (known.count === 0) return false;
  const sql = 'select 1 from pg_dist_partition where logicalrelid = to_regclass($1)';
  return (await connection.query(sql, [`"${table}"`])).count > 0;
}

async function createExtension(connection: Connection): Promise<void> {
  const sql = `select installed_version is not null from pg_available_extensions where name = 'citus'`;
  const [row] = (await connection.query(sql)).rows;
  if (row === undefined) {
    throw new StoreError(
      'MISCONFIGURED',
      `${connection.place}: the citus extension is not available on the server`,
      {
        hint: 'install Citus on the coordinator and its workers, or use postgres:// for one server without it',
      },
    );
  }
  if (row[0] === true) return;
  await connection.query('create extension if not exists citus');
}

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
 * Citus, spoken to on its coordinator: readings and records are cut into shards by series and key, devices and
 * the dictionary of series are reference tables, whole on every node. Workers that join later get reference
 * tables by themselves, and shards when the operator runs `citus_rebalance_start()`.
 */
export function citus(distribution: Distribution): Dialect {
  return {
    name: 'citus',
    capabilities: CAPABILITIES,
    // A limit inside a lateral subquery cannot be sent to the shards.
    lateral: false,
    // It counts the rows that an `insert ... select` brought to the shards, whatever became of them there.
    countsUpserts: false,
    // Such an insert locks shards with several copies twice, first shared: two of them wait for each other.
    takesTurns: distribution.rf > 1,
    // Each connection to a worker takes part in the commit by itself.
    settings: { 'citus.max_adaptive_executor_pool_size': '1' },
    isPlaced,
    prepare: createExtension,
    async begin(connection) {
      // Set with the table, not the session, in mind: tables that exist keep what they were made with.
      await connection.query(`set local citus.shard_count = ${distribution.shards}`);
      await connection.query(`set local citus.shard_replication_factor = ${distribution.rf}`);
      // A transaction that touched reference tables must not go on over several connections per worker.
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
    throw new StoreError('MISCONFIGURED', `${connection.place}: the citus extension is not available there`, {
      hint: 'install Citus on the coordinator and its workers, or use postgres:// for one server without it',
    });
  }
  if (row[0] === true) return;
  await connection.query('create extension if not exists citus');
}

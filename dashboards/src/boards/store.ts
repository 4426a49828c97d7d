import { board } from '../board.ts';
import { bucketRates, CHOSEN, heat, lines, quantile, rate } from '../panels.ts';

const BACKEND = ', backend=~"$backend"';

export const store = board({
  uid: 'tidegauge-store',
  title: 'Tidegauge / Store',
  description:
    'The store as Tidegauge sees it, and as each database says of itself through its usual exporter.',
  chosenFrom: 'up',
  variables: { backend: 'tidegauge_store_seconds_count' },
  rows: {
    'As Tidegauge sees it': [
      lines({
        title: 'Calls',
        description: 'Calls to the store per second. Writes are batches: few and large is well.',
        unit: 'ops',
        queries: { '{{backend}} {{op}}': rate('tidegauge_store_seconds_count', 'backend, op', BACKEND) },
      }),
      lines({
        title: 'Errors',
        description:
          'UNAVAILABLE: is it up? TIMEOUT, OVERLOADED: it is too slow; see Boards. REJECTED: see the quarantine.',
        unit: 'ops',
        queries: { '{{backend}} {{kind}}': rate('tidegauge_store_errors_total', 'backend, kind', BACKEND) },
      }),
      lines({
        title: 'Duration (p99)',
        description:
          'By operation. Writes slow alone: the disk (fsync). All slow: CPU, memory or the network.',
        unit: 's',
        queries: {
          '{{backend}} {{op}}': quantile(0.99, 'tidegauge_store_seconds', BACKEND, 'backend, op'),
        },
      }),
      heat({
        title: 'Duration of all calls',
        description:
          'A second band far above the first: pauses of the database (checkpoints, compaction, garbage).',
        unit: 's',
        queries: { calls: bucketRates('tidegauge_store_seconds', BACKEND) },
      }),
      heat({
        title: 'Readings per write',
        description: 'Larger batches cost the store less. Small ones under load: it is fast enough.',
        unit: 'short',
        queries: { readings: bucketRates('tidegauge_batch_readings') },
      }),
    ],
    'PostgreSQL and Citus (postgres_exporter)': [
      lines({
        title: 'Transactions',
        description: 'Commits and rollbacks per second. Rollbacks: the log of PostgreSQL says why.',
        unit: 'ops',
        queries: {
          'commits {{instance}}': rate('pg_stat_database_xact_commit', 'instance'),
          'rollbacks {{instance}}': rate('pg_stat_database_xact_rollback', 'instance'),
        },
      }),
      lines({
        title: 'Connections to PostgreSQL',
        description: 'Near max_connections: lower the pools of the services, or raise it.',
        unit: 'short',
        queries: { '{{instance}}': `sum by (instance) (pg_stat_database_numbackends{${CHOSEN}})` },
      }),
      lines({
        title: 'Found in memory',
        description:
          'Share of blocks found in the buffer cache. Below 0.9 for long: more shared_buffers, or a narrower query.',
        unit: 'percentunit',
        queries: {
          '{{instance}}':
            `${rate('pg_stat_database_blks_hit', 'instance')} / (${rate('pg_stat_database_blks_hit', 'instance')}` +
            ` + ${rate('pg_stat_database_blks_read', 'instance')})`,
        },
      }),
      lines({
        title: 'Size of the databases',
        description:
          'Grows with the readings; beyond that, autovacuum does not keep up. The disk is on Boards.',
        unit: 'bytes',
        queries: {
          '{{instance}} {{datname}}': `max by (instance, datname) (pg_database_size_bytes{${CHOSEN}})`,
        },
      }),
    ],
    'MariaDB (mysqld_exporter)': [
      lines({
        title: 'Statements',
        description: 'Per second. Many slow ones: see the slow query log.',
        unit: 'ops',
        queries: {
          'all {{instance}}': rate('mysql_global_status_queries', 'instance'),
          'slow {{instance}}': rate('mysql_global_status_slow_queries', 'instance'),
        },
      }),
      lines({
        title: 'Connections to MariaDB',
        description: 'Near max_connections: lower the pools of the services, or raise it.',
        unit: 'short',
        queries: { '{{instance}}': `sum by (instance) (mysql_global_status_threads_connected{${CHOSEN}})` },
      }),
      lines({
        title: 'Reads that miss the buffer pool',
        description:
          'Share of InnoDB reads that go to the disk. Above 0.05 for long: a larger innodb_buffer_pool_size.',
        unit: 'percentunit',
        queries: {
          '{{instance}}':
            `${rate('mysql_global_status_innodb_buffer_pool_reads', 'instance')}` +
            ` / ${rate('mysql_global_status_innodb_buffer_pool_read_requests', 'instance')}`,
        },
      }),
    ],
    'MongoDB (mongodb_exporter)': [
      lines({
        title: 'Operations',
        description: 'Per second by type. Commands far above the rest: clients reconnect all the time.',
        unit: 'ops',
        queries: { '{{legacy_op_type}}': rate('mongodb_ss_opcounters', 'legacy_op_type') },
      }),
      lines({
        title: 'Connections to MongoDB',
        description: 'Near its limit: lower maxPoolSize in STORE.',
        unit: 'short',
        queries: {
          '{{instance}}': `sum by (instance) (mongodb_ss_connections{${CHOSEN}, conn_type="current"})`,
        },
      }),
    ],
    'Cassandra and HBase (JMX exporter)': [
      lines({
        title: 'Heap',
        description: 'A saw is well. A line near the top: give the JVM more, or the node fewer tables.',
        unit: 'bytes',
        queries: {
          'used {{instance}}': `sum by (instance) (jvm_memory_used_bytes{${CHOSEN}, area="heap"})`,
          'most {{instance}}': `sum by (instance) (jvm_memory_max_bytes{${CHOSEN}, area="heap"})`,
        },
      }),
      lines({
        title: 'Time in garbage collection',
        description: 'Share of the time. Above 0.1: writes time out in the pauses; more heap or less load.',
        unit: 'percentunit',
        queries: { '{{instance}}': rate('jvm_gc_collection_seconds_sum', 'instance') },
      }),
      lines({
        title: 'CPU of the JVM',
        description: 'Cores in use. All of them for long: compaction cannot keep up with the writes.',
        unit: 'short',
        queries: {
          '{{instance}}': rate('process_cpu_seconds_total', 'instance', ', job=~"cassandra|hbase"'),
        },
      }),
    ],
  },
});

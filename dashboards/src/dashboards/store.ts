import { dashboard } from '../dashboard.ts';
import { bucketRates, CHOSEN, heat, lines, quantile, rate } from '../panels.ts';

const BACKEND = ', backend=~"$backend"';

export const store = dashboard({
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
          'UNAVAILABLE: is it up? TIMEOUT, OVERLOADED: it is too slow; see Boards. REJECTED, UNEXPECTED: see the quarantine and the log.',
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
        queries: {
          '{{instance}}': `sum by (instance) (pg_stat_database_numbackends{${CHOSEN}})`,
          'most {{instance}}': `max by (instance) (pg_settings_max_connections{${CHOSEN}})`,
        },
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
        queries: {
          '{{instance}}': `sum by (instance) (mysql_global_status_threads_connected{${CHOSEN}})`,
          'most {{instance}}': `max by (instance) (mysql_global_variables_max_connections{${CHOSEN}})`,
        },
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
      lines({
        title: 'Redo log in use',
        description:
          'Share of it. Near 1 writes wait for pages to be written: a larger innodb_log_file_size.',
        unit: 'percentunit',
        queries: {
          '{{instance}}':
            `max by (instance) (mysql_global_status_innodb_checkpoint_age{${CHOSEN}}` +
            ` / mysql_global_status_innodb_checkpoint_max_age{${CHOSEN}})`,
        },
      }),
    ],
    'MongoDB (mongodb_exporter)': [
      lines({
        title: 'MongoDB answers',
        description:
          "0: the exporter cannot reach it, or its login is refused; the exporter's log says which.",
        unit: 'short',
        queries: { '{{instance}}': `min by (instance) (mongodb_up{${CHOSEN}})` },
      }),
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
    'Cassandra (JMX exporter)': [
      lines({
        title: 'Requests at Cassandra',
        description:
          'Per second, by the node that coordinates. One node far above the rest: clients know no other.',
        unit: 'reqps',
        queries: {
          '{{request}} {{instance}}': rate('cassandra_client_requests_total', 'request, instance'),
        },
      }),
      lines({
        title: 'Duration of requests (p99)',
        description:
          'Slow writes: the disk of the commit log. Slow reads alone: compactions that wait, or wide ranges.',
        unit: 's',
        queries: {
          '{{request}} {{instance}}': `max by (request, instance) (cassandra_client_request_seconds{${CHOSEN}, quantile="0.99"})`,
        },
      }),
      lines({
        title: 'Requests that fail',
        description:
          'Unavailables: fewer nodes are up than the consistency level asks. Timeouts: they are too slow; see Boards.',
        unit: 'ops',
        queries: {
          '{{request}} {{kind}}': rate('cassandra_client_request_errors_total', 'request, kind'),
        },
      }),
      lines({
        title: 'Messages between nodes dropped',
        description: 'Any for long: a node cannot keep up, and copies differ until they are repaired.',
        unit: 'ops',
        queries: { '{{message}}': rate('cassandra_dropped_messages_total', 'message') },
      }),
      lines({
        title: 'Compactions and hints that wait',
        description: 'Compactions growing for hours: the disk is too slow. Hints: a node is away.',
        unit: 'short',
        queries: {
          'compactions {{instance}}': `max by (instance) (cassandra_compaction_pending_tasks{${CHOSEN}})`,
          'hints {{instance}}': `max by (instance) (cassandra_hints_in_progress{${CHOSEN}})`,
        },
      }),
      lines({
        title: 'Data of each node',
        description:
          'Bytes. Compaction needs as much again at its worst: above half of the disk, add a node.',
        unit: 'bytes',
        queries: { '{{instance}}': `max by (instance) (cassandra_storage_load_bytes{${CHOSEN}})` },
      }),
    ],
    'HBase (JMX exporter)': [
      lines({
        title: 'Requests at region servers',
        description: 'Per second. One far above the rest: too few regions; presplit in STORE.',
        unit: 'reqps',
        queries: {
          '{{request}} {{instance}}': rate('hbase_region_server_requests_total', 'request, instance'),
        },
      }),
      lines({
        title: 'Queues of region servers',
        description:
          'Calls: no handler or CPU is free. Flushes, compactions: the disk is too slow; writes will be held back.',
        unit: 'short',
        queries: {
          '{{queue}} {{instance}}': `max by (queue, instance) (hbase_region_server_queue_length{${CHOSEN}})`,
          'calls {{instance}}': `max by (instance) (hbase_region_server_calls_waiting{${CHOSEN}})`,
        },
      }),
      lines({
        title: 'Memory and files of region servers',
        description: 'Bytes. A memstore near 0.4 of the heap: writes wait for flushes; see the queues.',
        unit: 'bytes',
        queries: {
          'memstore {{instance}}': `max by (instance) (hbase_region_server_memstore_bytes{${CHOSEN}})`,
          'files {{instance}}': `max by (instance) (hbase_region_server_store_file_bytes{${CHOSEN}})`,
        },
      }),
      lines({
        title: 'Region servers and regions',
        description:
          'Dead ones: see their log. Regions in transition for minutes cannot be read: see the log of the master.',
        unit: 'short',
        queries: {
          servers: `max(hbase_master_region_servers{${CHOSEN}})`,
          dead: `max(hbase_master_dead_region_servers{${CHOSEN}})`,
          'regions in transition': `max(hbase_master_regions_in_transition{${CHOSEN}})`,
        },
      }),
    ],
    'JVMs of Cassandra and HBase (JMX exporter)': [
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

import { CONFIG } from '../config.ts';
import { dashboard } from '../dashboard.ts';
import {
  bucketRates,
  CHOSEN,
  count,
  events,
  HOURS,
  heat,
  lines,
  ofProcesses,
  orZero,
  quantile,
  rate,
} from '../panels.ts';

const { jobs, thresholds: limit } = CONFIG;
const BACKEND = ', backend=~"$backend"';

export const store = dashboard({
  uid: 'tidegauge-store',
  title: 'Tidegauge / Store',
  description:
    'The store as measured by Tidegauge, and each database as measured by its usual exporter. Open the row of your database.',
  chosenFrom: 'up',
  chosenWhere: `job=~"${[jobs.ingest, jobs.api, jobs.backup, ...jobs.stores].join('|')}"`,
  // Only one of these databases is in use.
  closed: /exporter/,
  variables: { backend: 'tidegauge_store_seconds_count' },
  rows: {
    'Measured by Tidegauge': [
      lines({
        title: 'Store calls',
        description:
          'Calls per second. Writes are batches. Few large batches are better than many small ones.',
        unit: 'ops',
        queries: { '{{backend}} {{op}}': rate('tidegauge_store_seconds_count', 'backend, op', BACKEND) },
      }),
      events({
        title: 'Store errors',
        description:
          'Failed calls in each interval. UNAVAILABLE: check that the store runs. TIMEOUT, OVERLOADED: it is too slow, see the dashboard Boards. REJECTED, UNEXPECTED: see the quarantine and the log.',
        unit: 'short',
        queries: {
          '{{backend}} {{kind}}': orZero(count('tidegauge_store_errors_total', 'backend, kind', BACKEND), {
            kind: 'none',
          }),
        },
      }),
      lines({
        title: 'Duration of store calls (p99)',
        description:
          'By operation. If only writes are slow, check the disk (fsync). If all are slow, check CPU, memory and network.',
        unit: 's',
        log: true,
        queries: {
          '{{backend}} {{op}}': quantile(0.99, 'tidegauge_store_seconds', BACKEND, 'backend, op'),
        },
      }),
      heat({
        title: 'Duration of all calls',
        description:
          'A second band far above the first one shows pauses of the database (checkpoints, compaction, garbage collection).',
        unit: 's',
        cells: 'ops',
        queries: { calls: bucketRates('tidegauge_store_seconds', BACKEND) },
      }),
      heat({
        title: 'Readings per write',
        description:
          'Larger batches cost the store less. Small batches under load mean that the store is fast enough.',
        unit: 'short',
        cells: 'ops',
        queries: { readings: bucketRates('tidegauge_batch_readings') },
      }),
      lines({
        title: 'Rollups overdue',
        description:
          'For how many hours the oldest hour that is not in rollups could have been computed. See the runbook TidegaugeRollupsOverdue.',
        unit: HOURS,
        bad: limit.rollupOverdueSeconds / 3600,
        queries: { overdue: `max(tidegauge_rollup_overdue_seconds{${CHOSEN}}) / 3600` },
      }),
      lines({
        title: 'Age of the newest backup',
        description:
          'In intervals of the schedule: 1 when the next backup is due. There is no line without the service for backups. See the runbook TidegaugeBackupOverdue.',
        unit: 'short',
        bad: limit.backupIntervals,
        queries: {
          '{{nodename}}': ofProcesses(
            `(time() - max by (instance) (tidegauge_backup_last_timestamp_seconds{${CHOSEN}}))` +
              ` / max by (instance) (tidegauge_backup_interval_seconds{${CHOSEN}})`,
          ),
        },
      }),
    ],
    'PostgreSQL and Citus (postgres_exporter)': [
      lines({
        title: 'Transactions',
        description:
          'Commits and rollbacks per second. The log of PostgreSQL shows the reasons of rollbacks.',
        unit: 'ops',
        queries: {
          'commits {{instance}}': rate('pg_stat_database_xact_commit', 'instance'),
          'rollbacks {{instance}}': rate('pg_stat_database_xact_rollback', 'instance'),
        },
      }),
      lines({
        title: 'Connections to PostgreSQL',
        description: 'Near max_connections, lower the pools of the services, or raise max_connections.',
        unit: 'short',
        queries: {
          '{{instance}}': `sum by (instance) (pg_stat_database_numbackends{${CHOSEN}})`,
          'maximum {{instance}}': `max by (instance) (pg_settings_max_connections{${CHOSEN}})`,
        },
      }),
      lines({
        title: 'Buffer cache hits',
        description:
          'Share of blocks that were in the buffer cache. If it stays below 0.9, raise shared_buffers, or limit the queries.',
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
          'It grows with the readings. If it grows faster, autovacuum is too slow. The dashboard Boards shows the free space of the disk.',
        unit: 'bytes',
        queries: {
          '{{instance}} {{datname}}': `max by (instance, datname) (pg_database_size_bytes{${CHOSEN}})`,
        },
      }),
    ],
    'MariaDB (mysqld_exporter)': [
      lines({
        title: 'Statements',
        description: 'Per second. If many are slow, read the slow query log.',
        unit: 'ops',
        queries: {
          'all {{instance}}': rate('mysql_global_status_queries', 'instance'),
          'slow {{instance}}': rate('mysql_global_status_slow_queries', 'instance'),
        },
      }),
      lines({
        title: 'Connections to MariaDB',
        description: 'Near max_connections, lower the pools of the services, or raise max_connections.',
        unit: 'short',
        queries: {
          '{{instance}}': `sum by (instance) (mysql_global_status_threads_connected{${CHOSEN}})`,
          'maximum {{instance}}': `max by (instance) (mysql_global_variables_max_connections{${CHOSEN}})`,
        },
      }),
      lines({
        title: 'Buffer pool misses',
        description:
          'Share of InnoDB reads from the disk. If it stays above 0.05, raise innodb_buffer_pool_size.',
        unit: 'percentunit',
        queries: {
          '{{instance}}':
            `${rate('mysql_global_status_innodb_buffer_pool_reads', 'instance')}` +
            ` / ${rate('mysql_global_status_innodb_buffer_pool_read_requests', 'instance')}`,
        },
      }),
      lines({
        title: 'Redo log usage',
        description: 'Used share. Near 1, writes wait until pages are written: raise innodb_log_file_size.',
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
        title: 'MongoDB up',
        description: '0: the exporter cannot connect or log in. The log of the exporter has the reason.',
        unit: 'short',
        words: { 0: 'down', 1: 'up' },
        queries: { '{{instance}}': `min by (instance) (mongodb_up{${CHOSEN}})` },
      }),
      lines({
        title: 'Operations',
        description:
          'Per second, by type. If there are far more commands than other operations, clients reconnect often.',
        unit: 'ops',
        queries: { '{{legacy_op_type}}': rate('mongodb_ss_opcounters', 'legacy_op_type') },
      }),
      lines({
        title: 'Connections to MongoDB',
        description: 'Near the limit, lower maxPoolSize in STORE.',
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
          'Per second, by coordinating node. If one node gets most of them, the clients have no other contact point.',
        unit: 'reqps',
        queries: {
          '{{request}} {{instance}}': rate('cassandra_client_requests_total', 'request, instance'),
        },
      }),
      lines({
        title: 'Duration of requests (p99)',
        description:
          'If writes are slow, check the disk of the commit log. If only reads are slow, check pending compactions and wide ranges.',
        unit: 's',
        queries: {
          '{{request}} {{instance}}': `max by (request, instance) (cassandra_client_request_seconds{${CHOSEN}, quantile="0.99"})`,
        },
      }),
      events({
        title: 'Failed requests',
        description:
          'In each interval. Unavailables: fewer nodes are up than the consistency level needs. Timeouts: the nodes are too slow, see the dashboard Boards.',
        unit: 'short',
        queries: {
          '{{request}} {{kind}}': orZero(count('cassandra_client_request_errors_total', 'request, kind'), {
            request: 'none',
          }),
        },
      }),
      events({
        title: 'Dropped messages between nodes',
        description:
          'In each interval. If there are many, a node is too slow, and replicas differ until they are repaired.',
        unit: 'short',
        queries: {
          '{{message}}': orZero(count('cassandra_dropped_messages_total', 'message'), { message: 'none' }),
        },
      }),
      lines({
        title: 'Pending compactions and hints',
        description: 'If compactions grow for hours, the disk is too slow. Hints: a node is down.',
        unit: 'short',
        queries: {
          'compactions {{instance}}': `max by (instance) (cassandra_compaction_pending_tasks{${CHOSEN}})`,
          'hints {{instance}}': `max by (instance) (cassandra_hints_in_progress{${CHOSEN}})`,
        },
      }),
      lines({
        title: 'Data of each node',
        description: 'Bytes. Compaction can need as much space again. Above half of the disk, add a node.',
        unit: 'bytes',
        queries: { '{{instance}}': `max by (instance) (cassandra_storage_load_bytes{${CHOSEN}})` },
      }),
    ],
    'HBase (JMX exporter)': [
      lines({
        title: 'Requests at region servers',
        description:
          'Per second. If one server gets most of them, there are too few regions: set presplit in STORE.',
        unit: 'reqps',
        queries: {
          '{{request}} {{instance}}': rate('hbase_region_server_requests_total', 'request, instance'),
        },
      }),
      lines({
        title: 'Queues of region servers',
        description:
          'Calls: no handler or no CPU is free. Flushes, compactions: the disk is too slow, and writes will have to wait.',
        unit: 'short',
        queries: {
          '{{queue}} {{instance}}': `max by (queue, instance) (hbase_region_server_queue_length{${CHOSEN}})`,
          'calls {{instance}}': `max by (instance) (hbase_region_server_calls_waiting{${CHOSEN}})`,
        },
      }),
      lines({
        title: 'Memory and files of region servers',
        description: 'Bytes. If a memstore is near 0.4 of the heap, writes wait for flushes: see the queues.',
        unit: 'bytes',
        queries: {
          'memstore {{instance}}': `max by (instance) (hbase_region_server_memstore_bytes{${CHOSEN}})`,
          'files {{instance}}': `max by (instance) (hbase_region_server_store_file_bytes{${CHOSEN}})`,
        },
      }),
      lines({
        title: 'Region servers and regions',
        description:
          'Dead servers: read their logs. Regions that stay in transition cannot be read: read the log of the master.',
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
        description:
          'A sawtooth is normal. If the line stays near the maximum, give the JVM more memory or the node fewer tables.',
        unit: 'bytes',
        queries: {
          'used {{instance}}': `sum by (instance) (jvm_memory_used_bytes{${CHOSEN}, area="heap"})`,
          'maximum {{instance}}': `sum by (instance) (jvm_memory_max_bytes{${CHOSEN}, area="heap"})`,
        },
      }),
      lines({
        title: 'Time in garbage collection',
        description:
          'Share of the time. Above 0.1, writes time out during pauses: use a larger heap, or reduce the load.',
        unit: 'percentunit',
        queries: { '{{instance}}': rate('jvm_gc_collection_seconds_sum', 'instance') },
      }),
      lines({
        title: 'CPU of the JVM',
        description: 'Used cores. If all are used for long, compaction cannot keep up with the writes.',
        unit: 'short',
        queries: {
          '{{instance}}': rate('process_cpu_seconds_total', 'instance', ', job=~"cassandra|hbase"'),
        },
      }),
    ],
  },
});

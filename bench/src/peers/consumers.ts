import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { launchServer, type Mosquitto } from '@tidegauge/lab';
import type { InfluxDb } from '@tidegauge/lab/influxdb';
import type { Postgres } from '@tidegauge/lab/postgres';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';

/** What a Telegraf of any database needs. */
interface TelegrafServers {
  /** The program. */
  readonly telegraf: string;
  /** For its configuration. */
  readonly directory: string;
  readonly broker: Mosquitto;
}

/** What the trials of all consumers share. */
export interface Servers extends TelegrafServers {
  readonly postgres: Postgres;
  readonly influxdb: InfluxDb;
}

/** A consumer with its own database. Its session stays at the broker when the consumer stops. */
export interface Consumer {
  start(): Promise<{ readonly pid: number; kill(): Promise<unknown>; stop(): Promise<unknown> }>;
  /** The main process of its database. */
  readonly databasePid: number;
  /** Messages in its database. */
  stored(): Promise<number>;
  /** Removes its database. */
  remove(): Promise<void>;
}

/** Makes a consumer with an empty database. `id` names its session and files. */
export type MakeConsumer = (servers: Servers, id: string) => Promise<Consumer>;

/** Plugins that Telegraf must have. */
export const PLUGINS = ['inputs.mqtt_consumer', 'outputs.influxdb', 'outputs.postgresql', 'parsers.json'];

/** By the name that the table has. The first is compared with each of the others. */
export const CONSUMERS: Readonly<Record<string, MakeConsumer>> = {
  'ingest, PostgreSQL': ingest,
  'Telegraf, PostgreSQL': telegrafToPostgres,
  'Telegraf, InfluxDB': telegrafToInfluxDb,
};

async function ingest({ postgres, broker, directory }: Servers, id: string): Promise<Consumer> {
  const database = await postgres.createDatabase();
  const environment = {
    STORE: postgres.url(database),
    BROKER: broker.url,
    CLIENT_ID: id,
    DATA_DIR: join(directory, id),
  };
  return {
    start: () => startIngestProcess(environment),
    ...inPostgres(postgres, database, 'readings'),
  };
}

/**
 * Settings of Telegraf that are both fast and safe: a persistent session, so that it acknowledges after its output has
 * accepted a message, 20,000 undelivered messages, COPY over four connections.
 */
export async function telegrafToPostgres(servers: Omit<Servers, 'influxdb'>, id: string): Promise<Consumer> {
  const { postgres } = servers;
  const database = await postgres.createDatabase();
  const { port, user, password } = postgres;
  const connection = `host=127.0.0.1 port=${port} user=${user} password=${password} dbname=${database} sslmode=disable pool_max_conns=4`;
  const start = telegraf(servers, id, `[[outputs.postgresql]]\n  connection = "${connection}"\n`);
  return { start, ...inPostgres(postgres, database, 'mqtt_consumer') };
}

export async function telegrafToInfluxDb(servers: Omit<Servers, 'postgres'>, id: string): Promise<Consumer> {
  const { influxdb } = servers;
  const output = `[[outputs.influxdb]]\n  urls = ["${influxdb.url}"]\n  database = "${id}"\n`;
  return {
    start: telegraf(servers, id, output),
    databasePid: influxdb.pid,
    async stored() {
      const [row] = await influxdb.query('select count(v) from mqtt_consumer', id).catch(() => []);
      return Number(row?.[1] ?? 0);
    },
    remove: async () => void (await influxdb.query(`drop database "${id}"`)),
  };
}

function inPostgres(postgres: Postgres, database: string, table: string): Omit<Consumer, 'start'> {
  return {
    databasePid: postgres.pid,
    stored: async () =>
      Number(await postgres.query(`select count(*) from ${table}`, database).catch(() => '0')),
    remove: async () => void (await postgres.query(`drop database ${database} with (force)`)),
  };
}

function telegraf(
  { broker, directory, telegraf }: TelegrafServers,
  id: string,
  output: string,
): Consumer['start'] {
  const file = join(directory, `${id}.conf`);
  const configuration = `
[agent]
  interval = "1s"
  flush_interval = "1s"
  metric_batch_size = 5000
  metric_buffer_limit = 100000
  omit_hostname = true
  quiet = true
[[inputs.mqtt_consumer]]
  servers = ["tcp://127.0.0.1:${broker.port}"]
  topics = ["sensors/#"]
  qos = 1
  client_id = "${id}"
  persistent_session = true
  max_undelivered_messages = 20000
  data_format = "json"
  json_time_key = "t"
  json_time_format = "unix_us"
  json_string_fields = ["boot"]
${output}`;
  writeFileSync(file, configuration, { mode: 0o600 });
  return () =>
    launchServer({
      name: 'telegraf',
      command: telegraf,
      args: ['--config', file],
      ready: async () => true,
      readyMs: 10_000,
    });
}

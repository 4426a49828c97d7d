import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Mosquitto, startMosquitto } from '@tidegauge/lab';
import { startInfluxDb } from '@tidegauge/lab/influxdb';
import { startPostgres } from '@tidegauge/lab/postgres';
import { buildTelegraf } from '@tidegauge/lab/telegraf';
import { provideFolder } from '@tidegauge/loadtests/targets/targets';
import { type Consumer, PLUGINS, telegrafToInfluxDb, telegrafToPostgres } from '../peers/consumers.ts';
import { BROKER_PAUSE_MS, makeSession, queuedAt, SESSION_ID } from './broker-target.ts';
import type { CutTarget } from './cut-target.ts';
import { Traffic } from './traffic.ts';

/** A database for Telegraf, with all its files in one folder. */
interface Database {
  /** The consumer that Telegraf is, and which fills this database. */
  consumer(servers: { telegraf: string; directory: string; broker: Mosquitto }): Promise<Consumer>;
  /** The values of all messages. */
  values(): Promise<readonly number[]>;
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** Of PostgreSQL on loopback, and the same for each start on what a disk holds. */
const PASSWORD = 'power-cuts';
/** The first one that is made on a server, and what Telegraf makes in it. */
const DATABASE = 'place_1';
const TABLE = 'mqtt_consumer';

/** They start a database in a folder, also with the files of one that was killed. */
const DATABASES = { postgres: startPostgresIn, influxdb: startInfluxDbIn } as const;

/**
 * mosquitto as Debian installs it, from which Telegraf reads into a database, all on one disk. A message that is neither in
 * the database nor in the session of Telegraf is lost.
 */
export function telegrafTarget(database: keyof typeof DATABASES): CutTarget {
  const open = (disk: string): Promise<Database> => DATABASES[database](join(disk, 'database'));
  const startBroker = (disk: string): Promise<Mosquitto> =>
    startMosquitto({ directory: join(disk, 'broker'), persistence: true });
  return {
    mustKeep: false,
    files: [],
    pauseMs: BROKER_PAUSE_MS,
    async start(disk, closers) {
      const broker = await startBroker(disk);
      closers.add(() => broker.stop());
      const server = await open(disk);
      closers.add(() => server.stop());
      await makeSession(broker, disk);
      const directory = provideFolder(closers);
      const program = await buildTelegraf(PLUGINS);
      const consumer = await server.consumer({ telegraf: program, directory, broker });
      const telegraf = await consumer.start();
      closers.add(async () => void (await telegraf.stop()));
      const source = await Traffic.start(broker.url, 'reading');
      closers.add(() => source.stop());
      return {
        source,
        pid: null,
        kill: async () => void (await Promise.all([broker.kill(), telegraf.kill(), server.kill()])),
      };
    },
    async found(disk) {
      const server = await open(disk);
      const broker = await startBroker(disk);
      try {
        return new Set([...(await server.values()), ...((await queuedAt(broker.url)) ?? [])]);
      } finally {
        await Promise.all([broker.stop(), server.stop()]);
      }
    },
  };
}

async function startPostgresIn(directory: string): Promise<Database> {
  // The process whose disk was copied still runs, and this file names it.
  rmSync(join(directory, 'data/postmaster.pid'), { force: true });
  const postgres = await startPostgres({ directory, password: PASSWORD });
  return {
    consumer: (servers) => telegrafToPostgres({ ...servers, postgres }, SESSION_ID),
    async values() {
      // Telegraf makes its table when the first message arrives.
      const table = await postgres.query(`select to_regclass('${TABLE}')`, DATABASE);
      if (table.trim() === '') return [];
      return (await postgres.query(`select v from ${TABLE}`, DATABASE))
        .split('\n')
        .filter(Boolean)
        .map(Number);
    },
    kill: () => postgres.kill(),
    stop: () => postgres.stop(),
  };
}

async function startInfluxDbIn(directory: string): Promise<Database> {
  const influxdb = await startInfluxDb({ directory });
  // Also in place of Telegraf.
  await influxdb.query(`create database "${SESSION_ID}"`);
  return {
    consumer: (servers) => telegrafToInfluxDb({ ...servers, influxdb }, SESSION_ID),
    async values() {
      const rows = await influxdb.query(`select v from ${TABLE}`, SESSION_ID);
      return rows.map(([, value]) => Number(value));
    },
    kill: () => influxdb.kill(),
    stop: () => influxdb.stop(),
  };
}

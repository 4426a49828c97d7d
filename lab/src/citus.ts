import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from './debian.ts';
import { type Postgres, startPostgres } from './postgres.ts';

const run = promisify(execFile);

// A batch over several shards is a two-phase commit; what a killed coordinator leaves of one is resolved soon.
// Nodes talk without TLS on loopback.
const SETTINGS = [
  'shared_preload_libraries=citus',
  'max_prepared_transactions=120',
  'citus.recover_2pc_interval=2000',
  'citus.node_conninfo=sslmode=prefer',
];

export interface Citus {
  readonly coordinator: Postgres;
  readonly workers: readonly Postgres[];
  /** The URL of a database on the coordinator. */
  url(database: string): string;
  /** Makes an empty database on every node, joined to one cluster; gone with them. Resolves to its name. */
  createDatabase(): Promise<string>;
  /** Kills the coordinator as a power cut would, and starts it again. */
  restartCoordinator(): Promise<void>;
  stop(): Promise<void>;
}

/** Whether PostgreSQL here has the citus extension; Debian does not package it. */
export async function hasCitus(): Promise<boolean> {
  try {
    const config = await findProgram('pg_config', 'postgresql-common', ['/usr/lib/postgresql/15/bin']);
    const { stdout } = await run(config, ['--sharedir']);
    await access(join(stdout.trim(), 'extension', 'citus.control'));
    return true;
  } catch {
    return false;
  }
}

/** Starts a coordinator and workers on loopback, as children of this process. */
export async function startCitus({ workers: count = 2 } = {}): Promise<Citus> {
  // Nodes log in at each other, so they share the password.
  const password = randomBytes(18).toString('base64url');
  const nodes: Postgres[] = [];
  const stop = async (): Promise<void> => {
    for (const node of nodes) await node.stop();
  };
  try {
    while (nodes.length <= count) {
      nodes.push(await startPostgres({ password, sharedBuffers: 48, settings: SETTINGS }));
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const [coordinator, ...workers] = nodes as [Postgres, ...Postgres[]];
  return {
    coordinator,
    workers,
    url: (database) => coordinator.url(database, 'citus'),
    async createDatabase() {
      const database = await coordinator.createDatabase();
      for (const worker of workers) await worker.query(`create database ${database}`);
      for (const node of nodes) await node.query('create extension citus', database);
      const setHost = `select citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`;
      await coordinator.query(setHost, database);
      for (const { port } of workers) {
        await coordinator.query(`select citus_add_node('127.0.0.1', ${port})`, database);
      }
      return database;
    },
    async restartCoordinator() {
      await coordinator.kill();
      await coordinator.restart();
    },
    stop,
  };
}

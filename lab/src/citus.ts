import { randomBytes } from 'node:crypto';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '@tidegauge/process';
import { findProgram } from './debian.ts';
import type { NodeGroup } from './node-group.ts';
import { type Postgres, startPostgres } from './postgres.ts';

// A batch over several shards is a two-phase commit. The settings resolve the transactions of a killed coordinator
// quickly. Nodes connect without TLS on loopback. Each database has a maintenance process, and each shard that is moved
// needs a replication slot. Each writer keeps a connection to each shard.
export const CITUS_SETTINGS: readonly string[] = [
  'shared_preload_libraries=citus',
  'max_prepared_transactions=120',
  'max_connections=120',
  'max_worker_processes=48',
  'wal_level=logical',
  'citus.recover_2pc_interval=2000',
  'citus.node_conninfo=sslmode=prefer',
];

export interface Citus {
  readonly coordinator: Postgres;
  readonly workers: readonly Postgres[];
  /** The URL of a database on the coordinator. */
  url(database: string): string;
  /** Makes an empty database on every node and joins the nodes to a cluster for it. Resolves to its name. */
  createDatabase(name?: string): Promise<string>;
  /** Starts one more worker and joins it, without shards, to the cluster of a database. */
  addWorker(database: string): Promise<Postgres>;
  stop(): Promise<void>;
}

/** Whether PostgreSQL on this machine has the citus extension. Debian has no package of it. */
export async function hasCitus(): Promise<boolean> {
  try {
    const config = await findProgram('pg_config', 'postgresql-common', ['/usr/lib/postgresql/15/bin']);
    const { stdout } = await runProgram(config, ['--sharedir']);
    await access(join(stdout.trim(), 'extension', 'citus.control'));
    return true;
  } catch {
    return false;
  }
}

export interface CitusOptions {
  /** Default 2. */
  readonly workers?: number;
  /** Page cache of each node in MiB; default 48. */
  readonly sharedBuffers?: number;
  /** A group for the coordinator, and then one for each worker. Default: no limit of memory. */
  readonly groups?: readonly NodeGroup[];
}

/**
 * Starts a coordinator and workers on loopback, as children of this process. Rejects if PostgreSQL has no citus
 * extension.
 */
export async function startCitus(options: CitusOptions = {}): Promise<Citus> {
  const { workers: count = 2, sharedBuffers = 48, groups = [] } = options;
  if (!(await hasCitus()))
    throw new Error('PostgreSQL here has no citus extension: install it, or use postgres');
  // Nodes log in to each other, so they share the password.
  const password = randomBytes(18).toString('base64url');
  const nodes: Postgres[] = [];
  const startNode = async (): Promise<Postgres> => {
    const node = await startPostgres({
      password,
      sharedBuffers,
      group: groups[nodes.length] ?? null,
      settings: CITUS_SETTINGS,
    });
    nodes.push(node);
    return node;
  };
  const stop = async (): Promise<void> => {
    for (const node of nodes) await node.stop();
  };
  let coordinator: Postgres;
  try {
    coordinator = await startNode();
    while (nodes.length <= count) await startNode();
  } catch (error) {
    await stop();
    throw error;
  }
  const joinTo = async (worker: Postgres, database: string): Promise<void> => {
    await worker.query(`create database "${database}"`);
    await worker.query('create extension citus', database);
    await coordinator.query(`select citus_add_node('127.0.0.1', ${worker.port})`, database);
  };
  let databases = 0;
  return {
    coordinator,
    get workers() {
      return nodes.slice(1);
    },
    url: (database) => coordinator.url(database, 'citus'),
    async createDatabase(name) {
      databases += 1;
      const database = name ?? `place_${databases}`;
      await coordinator.query(`create database "${database}"`);
      await coordinator.query('create extension citus', database);
      const setHost = `select citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`;
      await coordinator.query(setHost, database);
      for (const worker of nodes.slice(1, count + 1)) await joinTo(worker, database);
      return database;
    },
    async addWorker(database) {
      const worker = await startNode();
      await joinTo(worker, database);
      return worker;
    },
    stop,
  };
}

import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort, launchServer, type ServerProcess, temporaryDirectory } from '@tidegauge/process';
import { MongoClient } from 'mongodb';
import { lookUp } from './debian.ts';
import { FERRETDB, startFerretdb } from './ferretdb.ts';
import { inGroup, type NodeGroup } from './node-group.ts';

const READY_MS = 30_000;
const PROBE = { serverSelectionTimeoutMS: 500, connectTimeoutMS: 500, socketTimeoutMS: 5000 };
const USER = 'tidegauge';

export interface MongodbOptions {
  /** Default: a free one. */
  readonly port?: number;
  /** The server runs in it. Default: no limit of memory. */
  readonly group?: NodeGroup | null;
  /** Cache of mongod in MiB; default 256, for a board of 1 GB. FerretDB does not use it. */
  readonly cacheMegabytes?: number;
}

export interface Mongodb {
  /** The kind of server: `mongod`, the compatible `FerretDB`, or the server that `MONGODB_URL` names. */
  readonly server: 'mongod' | 'FerretDB' | 'MONGODB_URL';
  /** On 127.0.0.1. 0: `MONGODB_URL` names the server. */
  readonly port: number;
  /** The URL of a database, which may not exist yet, with the given options. */
  url(database: string, options?: Readonly<Record<string, string>>): string;
  /** The name of the server and its version. */
  versions(): Promise<Readonly<Record<string, string>>>;
  /** null: the server was running before. */
  readonly control: MongodbControl | null;
  /** Stops it in an orderly way, and removes its data. May be called twice. A server that was running before stays. */
  stop(): Promise<void>;
}

export interface MongodbControl {
  readonly pid: number;
  /** All processes of the server. */
  pids(): readonly number[];
  /** The folder of its data. */
  readonly directory: string;
  /** Kills it without a shutdown, as a power failure would. */
  kill(): Promise<void>;
  /** Starts it again on the same port with its data. If it runs, it is stopped first, in an orderly way. */
  restart(): Promise<void>;
}

/**
 * Returns the server that `MONGODB_URL` names. Without the variable, starts `mongod` if it is on the PATH, and FerretDB
 * with DocumentDB otherwise. A started server listens on loopback, is durable, checks logins with a password generated
 * for this start, and uses as much memory as a small board has.
 */
export async function startMongodb(options: MongodbOptions = {}): Promise<Mongodb> {
  const given = process.env.MONGODB_URL;
  if (given !== undefined && given !== '') {
    const url = (database: string, more = {}): string => withDatabase(given, database, more);
    const versions = async () => ({ mongodb: await versionOf(url('admin')) });
    return { server: 'MONGODB_URL', port: 0, url, versions, control: null, stop: async () => {} };
  }
  const mongod = await lookUp('mongod', []);
  const port = options.port ?? (await freePort());
  const server =
    mongod === null
      ? await startFerretdb(port, options.group ?? null)
      : await startMongod(mongod, port, options);
  const base = `mongodb://${server.user}:${server.password}@127.0.0.1:${port}/?authSource=admin`;
  const url = (database: string, more = {}): string => withDatabase(base, database, more);
  return {
    server: mongod === null ? 'FerretDB' : 'mongod',
    port,
    url,
    // FerretDB answers with the version of MongoDB with which it is compatible.
    versions: async () =>
      mongod === null ? { ferretdb: FERRETDB.slice(1) } : { mongodb: await versionOf(url('admin')) },
    control: server,
    stop: () => server.stop(),
  };
}

// The URL class takes one host only.
const URL_PARTS = /^(mongodb:\/\/[^/?]+)(?:\/[^?]*)?(?:\?(.*))?$/;

function withDatabase(base: string, database: string, options: Readonly<Record<string, string>>): string {
  const [, server, query] = URL_PARTS.exec(base) ?? [];
  if (server === undefined) throw new Error('MONGODB_URL is not like mongodb://user:password@host:port/');
  const search = new URLSearchParams({ ...Object.fromEntries(new URLSearchParams(query)), ...options });
  return `${server}/${database}?${search}`;
}

async function versionOf(url: string): Promise<string> {
  const client = new MongoClient(url, PROBE);
  try {
    return String((await client.db('admin').command({ buildInfo: 1 })).version);
  } finally {
    await client.close();
  }
}

async function startMongod(command: string, port: number, options: MongodbOptions) {
  const directory = temporaryDirectory('mongodb');
  const data = join(directory.path, 'data');
  await mkdir(data);
  const password = randomBytes(18).toString('base64url');
  const cache = String((options.cacheMegabytes ?? 256) / 1024);
  const args = ['--dbpath', data, '--port', String(port), '--bind_ip', '127.0.0.1', '--auth'];
  const launch = (): Promise<ServerProcess> =>
    launchServer(
      inGroup(options.group ?? null, {
        name: `mongod on 127.0.0.1:${port}`,
        command,
        args: [...args, '--nounixsocket', '--wiredTigerCacheSizeGB', cache, '--quiet'],
        ready: () => onAdmin(port, { hello: 1 }).then(yes, no),
        readyMs: READY_MS,
      }),
    );
  let running = await launch();
  // While there is no user, a client on loopback may create the first one.
  await onAdmin(port, { createUser: USER, pwd: password, roles: ['root'] });
  return {
    user: USER,
    password,
    get pid() {
      return running.pid;
    },
    pids: () => [running.pid],
    directory: data,
    async stop() {
      await running.stop();
      directory.remove();
    },
    kill: () => running.kill(),
    async restart() {
      await running.stop();
      running = await launch();
    },
  };
}

async function onAdmin(port: number, command: Record<string, unknown>): Promise<void> {
  const client = new MongoClient(`mongodb://127.0.0.1:${port}`, PROBE);
  try {
    await client.db('admin').command(command);
  } finally {
    await client.close();
  }
}

const yes = (): boolean => true;
const no = (): boolean => false;

import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort, launchServer, type ServerProcess, temporaryDirectory } from '@tidegauge/process';
import { MongoClient } from 'mongodb';
import { lookUp } from './debian.ts';
import { startFerretdb } from './ferretdb.ts';

const READY_MS = 30_000;
const PROBE = { serverSelectionTimeoutMS: 500, connectTimeoutMS: 500, socketTimeoutMS: 5000 };
const USER = 'tidegauge';

export interface MongodbOptions {
  /** Default: a free one. */
  readonly port?: number;
}

export interface Mongodb {
  /** The kind of server: `mongod`, the compatible `FerretDB`, or the server that `MONGODB_URL` names. */
  readonly server: 'mongod' | 'FerretDB' | 'MONGODB_URL';
  /** The URL of a database, which may not exist yet, with the given options. */
  url(database: string, options?: Readonly<Record<string, string>>): string;
  /** null: the server was running before. */
  readonly control: MongodbControl | null;
  /** Stops it in an orderly way, and removes its data. May be called twice. A server that was running before stays. */
  stop(): Promise<void>;
}

export interface MongodbControl {
  readonly pid: number;
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
    return { server: 'MONGODB_URL', url, control: null, stop: async () => {} };
  }
  const mongod = await lookUp('mongod', []);
  const port = options.port ?? (await freePort());
  const server = mongod === null ? await startFerretdb(port) : await startMongod(mongod, port);
  const base = `mongodb://${server.user}:${server.password}@127.0.0.1:${port}/?authSource=admin`;
  return {
    server: mongod === null ? 'FerretDB' : 'mongod',
    url: (database, more = {}) => withDatabase(base, database, more),
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

async function startMongod(command: string, port: number) {
  const directory = temporaryDirectory('mongodb');
  const data = join(directory.path, 'data');
  await mkdir(data);
  const password = randomBytes(18).toString('base64url');
  const args = ['--dbpath', data, '--port', String(port), '--bind_ip', '127.0.0.1', '--auth'];
  const launch = (): Promise<ServerProcess> =>
    launchServer({
      name: `mongod on 127.0.0.1:${port}`,
      command,
      args: [...args, '--nounixsocket', '--wiredTigerCacheSizeGB', '0.25', '--quiet'],
      ready: () => onAdmin(port, { hello: 1 }).then(yes, no),
      readyMs: READY_MS,
    });
  let running = await launch();
  // While there is no user, a client on loopback may create the first one.
  await onAdmin(port, { createUser: USER, pwd: password, roles: ['root'] });
  return {
    user: USER,
    password,
    get pid() {
      return running.pid;
    },
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

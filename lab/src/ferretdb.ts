import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  freePort,
  launchServer,
  runProgram,
  type ServerProcess,
  temporaryDirectory,
} from '@tidegauge/process';
import { buildOnce } from './build-once.ts';
import { inRoot, unpackDebian } from './debian-root.ts';
import { go } from './go.ts';
import { inGroup, type NodeGroup } from './node-group.ts';
import { requireRoot } from './root.ts';

export const FERRETDB = 'v2.7.0';
const BUILD = { timeoutMs: 900_000 };
const READY_MS = 30_000;
const RELAUNCH_MS = 20_000;
const USER = 'tidegauge';

export interface FerretdbServer {
  readonly user: string;
  readonly password: string;
  readonly pid: number;
  pids(): readonly number[];
  readonly directory: string;
  stop(): Promise<void>;
  kill(): Promise<void>;
  restart(): Promise<void>;
}

/**
 * Starts FerretDB 2 on PostgreSQL with DocumentDB. It is compatible with MongoDB's protocol, but it is not MongoDB. It
 * checks logins (SCRAM-SHA-256), but no rights: every user who can log in can do everything. Every commit is on the
 * disk, regardless of the options w and j.
 */
export async function startFerretdb(port: number, group: NodeGroup | null = null): Promise<FerretdbServer> {
  requireRoot('FerretDB, which replaces a missing mongod,');
  const ferretdb = join(await buildOnce(`ferretdb/${FERRETDB}`, buildFerretdb), 'ferretdb');
  const root = await buildOnce('documentdb/sid', buildDocumentdb, { resume: true });
  const postgres = await preparePostgres(root, group);
  const { directory, password, postgresPort } = postgres;

  const launchPostgres = async (): Promise<ServerProcess> => {
    // Child processes of a killed server use its shared memory for a moment longer.
    for (const deadline = Date.now() + RELAUNCH_MS; ; await delay(200)) {
      try {
        return await postgres.launch();
      } catch (error) {
        if (!/still in use/.test(String(error)) || Date.now() > deadline) throw error;
      }
    }
  };
  const launchFerretdb = (): Promise<ServerProcess> =>
    launchServer(
      inGroup(group, {
        name: `ferretdb on 127.0.0.1:${port}`,
        command: ferretdb,
        args: [`--listen-addr=127.0.0.1:${port}`, '--debug-addr=-', `--state-dir=${directory.path}`],
        env: {
          FERRETDB_POSTGRESQL_URL: `postgres://${USER}:${password}@127.0.0.1:${postgresPort}/postgres`,
          FERRETDB_TELEMETRY: 'disable',
          FERRETDB_LOG_LEVEL: 'ERROR',
          GOMEMLIMIT: '128MiB',
        },
        ready: () => succeeds(ferretdb, ['ping', `--listen-addr=127.0.0.1:${port}`, '--debug-addr=-']),
        readyMs: READY_MS,
      }),
    );

  let database = await launchPostgres();
  await postgres.query('create extension if not exists documentdb cascade');
  let front = await launchFerretdb();
  return {
    user: USER,
    password,
    get pid() {
      return front.pid;
    },
    pids: () => [front.pid, database.pid],
    directory: join(directory.path, 'data'),
    async stop() {
      await front.stop();
      await database.stop();
      directory.remove();
    },
    async kill() {
      await Promise.all([front.kill(), database.kill()]);
    },
    async restart() {
      await front.stop();
      await database.stop();
      database = await launchPostgres();
      front = await launchFerretdb();
    },
  };
}

async function preparePostgres(root: string, group: NodeGroup | null) {
  const [version] = await readdir(join(root, 'usr/lib/postgresql'));
  const bin = `/usr/lib/postgresql/${version}/bin`;
  const directory = temporaryDirectory('documentdb');
  const password = randomBytes(18).toString('base64url');
  const postgresPort = await freePort();
  const data = join(directory.path, 'data');
  const secrets: Record<string, string> = {
    password: `${password}\n`,
    // DocumentDB creates collections over a separate connection to the same server.
    pgpass: `*:*:*:${USER}:${password}\n`,
  };
  const { uid, gid } = await account(root);
  await mkdir(data, { mode: 0o700 });
  await chmod(directory.path, 0o755);
  await chown(data, uid, gid);
  for (const [name, text] of Object.entries(secrets)) {
    const path = join(directory.path, name);
    await writeFile(path, text, { mode: 0o600 });
    await chown(path, uid, gid);
  }
  /** Arguments of unshare for a program of the root. It runs as user postgres, with `directory` mounted as /mnt. */
  const inside = (...command: string[]): string[] =>
    inRoot(root, command, { user: 'postgres', bind: directory.path });
  const initdb = [`${bin}/initdb`, '-D', '/mnt/data', '-N', '-U', USER, '--pwfile=/mnt/password', '-A'];
  await runProgram('unshare', inside(...initdb, 'scram-sha-256', '-E', 'UTF8', '--locale=C.UTF-8'), BUILD);
  await rm(join(directory.path, 'password'));
  const client = ['-h', '127.0.0.1', '-p', String(postgresPort), '-U', USER, '-d', 'postgres', '-c'];
  const env = { PGPASSFILE: '/mnt/pgpass' };
  return {
    directory,
    password,
    postgresPort,
    query: (sql: string) => runProgram('unshare', inside(`${bin}/psql`, ...client, sql), { ...BUILD, env }),
    launch: () =>
      launchServer(
        inGroup(group, {
          name: `postgres with DocumentDB on 127.0.0.1:${postgresPort}`,
          command: 'unshare',
          args: inside(`${bin}/postgres`, '-D', '/mnt/data', ...settings(postgresPort)),
          env: { PGPASSFILE: '/mnt/pgpass' },
          ready: () => succeeds('unshare', inside(`${bin}/psql`, ...client, 'select 1'), env),
          readyMs: READY_MS,
          stopSignal: 'SIGINT',
        }),
      ),
  };
}

function settings(port: number): string[] {
  return [
    'listen_addresses=127.0.0.1',
    `port=${port}`,
    'unix_socket_directories=',
    'shared_preload_libraries=pg_cron,pg_documentdb_core,pg_documentdb',
    'cron.database_name=postgres',
    'dynamic_shared_memory_type=sysv',
    'shared_buffers=96MB',
    'max_wal_size=512MB',
    'max_connections=60',
  ].flatMap((setting) => ['-c', setting]);
}

async function account(root: string): Promise<{ uid: number; gid: number }> {
  const users = await readFile(join(root, 'etc/passwd'), 'utf8');
  const [, uid, gid] = /^postgres:[^:]*:(\d+):(\d+):/m.exec(users) ?? [];
  return { uid: Number(uid), gid: Number(gid) };
}

async function buildFerretdb(directory: string): Promise<void> {
  const module = `github.com/FerretDB/FerretDB/v2/cmd/ferretdb@${FERRETDB}`;
  process.stderr.write(`Building ${module} (once, about a minute)...\n`);
  await mkdir(directory);
  await go(['install', '-ldflags=-s -w', module], { env: { GOBIN: directory } });
}

/** Builds a root of Debian sid with PostgreSQL and DocumentDB. Continues an earlier attempt that failed. */
async function buildDocumentdb(directory: string): Promise<void> {
  const root = await unpackDebian('sid', directory, 2.5 * 2 ** 30);
  // The version of PostgreSQL in sid changes over time. Use the newest.
  const newest = (await root.packageNames('postgresql-'))
    .filter((name) => /^postgresql-\d+-documentdb$/.test(name))
    .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .at(-1);
  if (newest === undefined) throw new Error('Debian sid has no postgresql-*-documentdb today');
  await root.install(newest);
}

function succeeds(
  command: string,
  args: string[],
  env: Readonly<Record<string, string>> = {},
): Promise<boolean> {
  return runProgram(command, args, { timeoutMs: 5000, env }).then(
    () => true,
    () => false,
  );
}

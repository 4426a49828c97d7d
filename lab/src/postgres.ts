import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chown, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort, launchServer, runProgram, type ServerProcess } from '@tidegauge/process';
import { findProgram } from './debian.ts';
import { inGroup, type NodeGroup } from './node-group.ts';
import { serverDirectory } from './server-directory.ts';

const READY_MS = 60_000;
const USER = 'tidegauge';
// Debian installs the servers of each version in a separate folder, which is not on the PATH.
const FOLDERS = ['/usr/lib/postgresql/15/bin'];

export interface PostgresOptions {
  /** An address of loopback. Default 127.0.0.1. */
  readonly address?: string;
  /** Default: a free one. */
  readonly port?: number;
  /** Page cache in MiB; default 96, for a board of 1 GB. */
  readonly sharedBuffers?: number;
  /** Default: a password generated for this start. */
  readonly password?: string;
  /** Further settings, `name=value`, such as `shared_preload_libraries=citus`. */
  readonly settings?: readonly string[];
  /** The server runs in it. Default: no limit of memory. */
  readonly group?: NodeGroup | null;
  /**
   * The directory of its files, which `stop` keeps. It is empty, or has those of an earlier server with the same password.
   * Default: a temporary one, which `stop` removes.
   */
  readonly directory?: string;
}

export interface Postgres {
  readonly address: string;
  readonly port: number;
  readonly pid: number;
  /** The folder of its data. */
  readonly directory: string;
  /** A superuser. */
  readonly user: string;
  /** Generated for this start. */
  readonly password: string;
  /** The URL of a database, which may not exist yet. */
  url(database: string, scheme?: string): string;
  /**
   * Runs SQL, with one transaction per statement. Resolves to one line per row, with `|` between columns. The default
   * of `timeoutMs` is 30 s.
   */
  query(sql: string, database?: string, timeoutMs?: number): Promise<string>;
  /** Creates an empty database with a new name, which is removed with the server; resolves to the name. */
  createDatabase(): Promise<string>;
  /** Stops it in an orderly way, and removes a temporary directory. May be called twice. */
  stop(): Promise<void>;
  /** Kills it without a shutdown, as a power failure would. */
  kill(): Promise<void>;
  /**
   * Starts it again with its data. If it runs, it is stopped first, in an orderly way. It listens on the same port, at
   * the same address or at another one, as after a container was rescheduled.
   */
  restart(address?: string): Promise<void>;
}

/**
 * Starts Debian's PostgreSQL 15 on loopback as a child of this process. It uses SCRAM passwords, fsync, and as much
 * memory as a small board has. Its default collation is linguistic, so that queries that need a byte order must request
 * it. Rejects when it cannot be installed or does not answer a query within a minute.
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres> {
  const server = await findProgram('postgres', 'postgresql-15', FOLDERS);
  const client = await findProgram('psql', 'postgresql-client-15', FOLDERS);
  const account = await serverAccount();
  let address = options.address ?? '127.0.0.1';
  const port = options.port ?? (await freePort(address));
  const password = options.password ?? randomBytes(18).toString('base64url');
  const { path: directory, remove } = await serverDirectory('postgres', options.directory);
  if (account !== null) await chown(directory, account.uid, account.gid);
  const data = join(directory, 'data');
  if (!existsSync(data)) await installData(directory, data, password, account);
  const passwords = join(directory, 'pgpass');
  await writePrivate(passwords, `*:*:*:${USER}:${password}\n`, account);

  const query = async (sql: string, database = 'postgres', timeoutMs = 30_000): Promise<string> => {
    const place = [`--host=${address}`, `--port=${port}`, `--username=${USER}`, `--dbname=${database}`];
    const form = ['--no-psqlrc', '--quiet', '--no-align', '--tuples-only', '--set=ON_ERROR_STOP=1'];
    const env = { PGPASSWORD: password, PGCONNECT_TIMEOUT: '5' };
    const { stdout } = await runProgram(client, [...place, ...form, '--command', sql], {
      env,
      timeoutMs,
    });
    return stdout;
  };
  const answers = (): Promise<boolean> =>
    query('select 1').then(
      () => true,
      () => false,
    );
  const launch = (): Promise<ServerProcess> =>
    launchServer(
      inGroup(options.group ?? null, {
        name: `postgres on ${address}:${port}`,
        command: server,
        args: serverOptions(data, address, port, options),
        cwd: directory,
        ...(account ?? {}),
        // The passwords with which a server of a cluster logs in to the others.
        env: { PGPASSFILE: passwords },
        ready: answers,
        readyMs: READY_MS,
        // Fast shutdown. SIGTERM would wait until every client has disconnected.
        stopSignal: 'SIGINT',
      }),
    );
  let running = await launch();
  let databases = 0;
  return {
    get address() {
      return address;
    },
    port,
    get pid() {
      return running.pid;
    },
    directory: data,
    user: USER,
    password,
    url: (database, scheme = 'postgres') => `${scheme}://${USER}:${password}@${address}:${port}/${database}`,
    query,
    async createDatabase() {
      databases += 1;
      const database = `place_${databases}`;
      await query(`create database ${database}`);
      return database;
    },
    async stop() {
      await running.stop();
      remove();
    },
    async kill() {
      const children = running.running ? await childrenOf(running.pid) : [];
      await running.kill();
      for (const child of children) killQuietly(child);
    },
    async restart(elsewhere = address) {
      await running.stop();
      address = elsewhere;
      running = await launch();
    },
  };
}

interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL refuses to run as root: as root it runs as its package's user. */
async function serverAccount(): Promise<Account | null> {
  if (process.getuid?.() !== 0) return null;
  const [uid, gid] = await Promise.all(
    ['-u', '-g'].map(async (flag) => Number((await runProgram('id', [flag, 'postgres'])).stdout)),
  );
  return { uid: uid!, gid: gid! };
}

async function installData(
  directory: string,
  data: string,
  password: string,
  account: Account | null,
): Promise<void> {
  const initdb = await findProgram('initdb', 'postgresql-15', FOLDERS);
  const file = join(directory, 'password');
  await writePrivate(file, password, account);
  const access = [`--username=${USER}`, '--auth=scram-sha-256', `--pwfile=${file}`];
  const locale = ['--encoding=UTF8', '--locale=C.UTF-8', '--locale-provider=icu', '--icu-locale=en-US'];
  // Without a sync at the end: the server writes its own changes to the disk, and a new database can be made again.
  await runProgram(initdb, [`--pgdata=${data}`, '--no-sync', ...access, ...locale], {
    cwd: directory,
    ...(account ?? {}),
  });
  await rm(file);
}

async function writePrivate(file: string, text: string, account: Account | null): Promise<void> {
  await writeFile(file, text, { mode: 0o600 });
  if (account !== null) await chown(file, account.uid, account.gid);
}

function serverOptions(
  data: string,
  address: string,
  port: number,
  { sharedBuffers = 96, settings = [] }: PostgresOptions,
) {
  const lines = [
    `port=${port}`,
    `listen_addresses=${address}`,
    'unix_socket_directories=',
    `shared_buffers=${sharedBuffers}MB`,
    'effective_cache_size=256MB',
    'work_mem=2MB',
    'maintenance_work_mem=32MB',
    'max_wal_size=512MB',
    'jit=off',
    ...settings,
  ];
  return ['-D', data, ...lines.flatMap((line) => ['-c', line])];
}

/** `kill` must also end the backends. A backend that outlives its parent keeps the data directory locked. */
async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return text.split(' ').filter(Boolean).map(Number);
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has already ended.
  }
}

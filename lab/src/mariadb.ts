import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  freePort,
  launchServer,
  runProgram,
  type ServerProcess,
  temporaryDirectory,
} from '@tidegauge/process';
import { buildOnce } from './build-once.ts';
import { findProgram } from './debian.ts';
import { inGroup, type NodeGroup } from './node-group.ts';

const READY_MS = 60_000;
const USER = 'tidegauge';

export interface MariadbOptions {
  /** Default: a free one. */
  readonly port?: number;
  /** Page cache in MiB; default 96, for a board of 1 GB. */
  readonly bufferPool?: number;
  /** Further settings, `--name=value`. */
  readonly settings?: readonly string[];
  /** The server runs in it. Default: no limit of memory. */
  readonly group?: NodeGroup | null;
}

export interface Mariadb {
  readonly port: number;
  readonly pid: number;
  /** The folder of its data. */
  readonly directory: string;
  /** A user with all rights, who can log in from this machine only. */
  readonly user: string;
  /** Generated for this start. */
  readonly password: string;
  /** The URL of a database, which may not exist yet. */
  url(database: string): string;
  /** Runs SQL with Debian's client. Resolves to one line per row, with tabs between columns. */
  query(sql: string): Promise<string>;
  /** Stops it in an orderly way, and removes its data. May be called twice. */
  stop(): Promise<void>;
  /** Kills it without a shutdown, as a power failure would. */
  kill(): Promise<void>;
  /** Starts it again on the same port with its data. If it runs, it is stopped first, in an orderly way. */
  restart(): Promise<void>;
}

/**
 * Starts Debian's MariaDB on loopback as a child of this process. It is durable (a commit is on the disk) and uses as
 * much memory as a small board has. Rejects when it cannot be installed or does not answer a query within a minute.
 */
export async function startMariadb(options: MariadbOptions = {}): Promise<Mariadb> {
  const server = await findProgram('mariadbd', 'mariadb-server');
  const client = await findProgram('mariadb', 'mariadb-client');
  const account = await serverAccount();
  const port = options.port ?? (await freePort());
  const password = randomBytes(18).toString('base64url');
  const directory = temporaryDirectory('mariadb');
  const data = join(directory.path, 'data');
  await chmod(directory.path, 0o755);
  const setup = join(directory.path, 'setup.sql');
  await writeFile(setup, setupSql(password), { mode: 0o600 });
  if (account !== null) {
    await chown(directory.path, account.uid, account.gid);
    await chown(setup, account.uid, account.gid);
  }
  await makeData(server, data, account !== null);

  const query = async (sql: string): Promise<string> => {
    const args = ['--no-defaults', '--protocol=tcp', '--host=127.0.0.1', `--port=${port}`, `--user=${USER}`];
    const env = { MYSQL_PWD: password };
    const { stdout } = await runProgram(
      client,
      [...args, '--batch', '--skip-column-names', '--execute', sql],
      {
        env,
        timeoutMs: 30_000,
      },
    );
    return stdout;
  };
  const launch = (...further: string[]): Promise<ServerProcess> =>
    launchServer(
      inGroup(options.group ?? null, {
        name: `mariadb on 127.0.0.1:${port}`,
        command: server,
        args: [
          ...serverOptions(data, port, options.bufferPool ?? 96),
          ...(options.settings ?? []),
          ...further,
        ],
        ...(account ?? {}),
        ready: () =>
          query('select 1').then(
            () => true,
            () => false,
          ),
        readyMs: READY_MS,
      }),
    );
  let running = await launch(`--init-file=${setup}`);
  await rm(setup);
  return {
    port,
    get pid() {
      return running.pid;
    },
    directory: data,
    user: USER,
    password,
    url: (database) => `mariadb://${USER}:${password}@127.0.0.1:${port}/${database}`,
    query,
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

/** mariadbd refuses to run as root: as root it runs as its package's user. */
async function serverAccount(): Promise<{ uid: number; gid: number } | null> {
  if (process.getuid?.() !== 0) return null;
  const [uid, gid] = await Promise.all(
    ['-u', '-g'].map(async (flag) => Number((await runProgram('id', [flag, 'mysql'])).stdout)),
  );
  return { uid: uid!, gid: gid! };
}

/** Makes the files of a new server. They are the same each time, and to install them takes ten times as long as a copy. */
async function makeData(server: string, data: string, asRoot: boolean): Promise<void> {
  const { stdout: version } = await runProgram(server, ['--version']);
  const key = createHash('sha256').update(`${version} ${asRoot}`).digest('hex').slice(0, 12);
  const template = await buildOnce(`mariadb/${key}`, async (directory) => {
    await installData(data, asRoot);
    await runProgram('cp', ['-a', data, directory]);
  });
  if (!existsSync(data)) await runProgram('cp', ['-a', template, data]);
}

async function installData(data: string, asRoot: boolean): Promise<void> {
  const install = await findProgram('mariadb-install-db', 'mariadb-server');
  const options = ['--no-defaults', `--datadir=${data}`, '--skip-test-db', '--skip-name-resolve'];
  await runProgram(install, [...options, ...(asRoot ? ['--user=mysql'] : [])]);
}

// Removes all accounts without a password. The accounts of the installer can log in only as their Unix users, on the
// socket.
function setupSql(password: string): string {
  return [
    `create user '${USER}'@'127.0.0.1' identified by '${password}';`,
    `grant all on *.* to '${USER}'@'127.0.0.1' with grant option;`,
    '',
  ].join('\n');
}

function serverOptions(data: string, port: number, bufferPool: number): string[] {
  return [
    '--no-defaults',
    `--datadir=${data}`,
    `--socket=${join(data, 'server.sock')}`,
    `--pid-file=${join(data, 'server.pid')}`,
    `--port=${port}`,
    '--bind-address=127.0.0.1',
    '--skip-name-resolve',
    '--skip-log-bin',
    '--performance-schema=off',
    '--innodb-flush-log-at-trx-commit=1',
    `--innodb-buffer-pool-size=${bufferPool}M`,
    '--innodb-log-file-size=96M',
    '--key-buffer-size=1M',
    '--aria-pagecache-buffer-size=8M',
    '--max-connections=100',
  ];
}

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePorts, launchServer, runProgram, type ServerProcess } from '@tidegauge/process';
import { fetchFor } from '@tidegauge/service';
import { buildGoProgram } from './go-program.ts';
import { inGroup, type NodeGroup } from './node-group.ts';
import { serverDirectory } from './server-directory.ts';

/** The last version 1 with its source in a Go module that builds without a compiler for Rust. */
export const INFLUXDB_VERSION = '1.8.10';
const MODULE = 'github.com/influxdata/influxdb';
const READY_MS = 30_000;
const ASK_MS = 30_000;

export interface InfluxDbOptions {
  /** The server runs in it. Default: no limit of memory. */
  readonly group?: NodeGroup | null;
  /**
   * Time after the last write, such as `10s`, at which it moves its log into files and compacts them completely. Its
   * defaults are ten minutes and four hours.
   */
  readonly coldAfter?: string;
  /** The directory of its files, which `stop` keeps. Default: a temporary one, which `stop` removes. */
  readonly directory?: string;
}

export interface InfluxDb {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** The folder of its data. */
  readonly directory: string;
  /** Runs a statement in InfluxQL. Resolves to the rows of the first series of its result. */
  query(statement: string, database?: string): Promise<readonly (readonly unknown[])[]>;
  /** Writes all databases to a file in line protocol, with its program `influx_inspect`, which is built once. */
  exportTo(file: string): Promise<void>;
  /** Kills it without a shutdown, as a power failure would. */
  kill(): Promise<void>;
  /** Starts it again on the same port with its data. If it runs, it is stopped first, in an orderly way. */
  restart(): Promise<void>;
  /** Stops it in an orderly way, and removes a temporary directory. May be called twice. */
  stop(): Promise<void>;
}

/**
 * Starts InfluxDB 1.8 on loopback, as a child of this process, with its default settings: the write-ahead log is synced
 * before a write is acknowledged, and no login is needed. Builds it from its Go module once.
 *
 * @throws {Error} when it cannot be built, or is not ready within 30 s
 */
export async function startInfluxDb({
  group = null,
  coldAfter,
  directory: kept,
}: InfluxDbOptions = {}): Promise<InfluxDb> {
  const command = await buildGoProgram({
    name: 'influxd',
    module: MODULE,
    version: `v${INFLUXDB_VERSION}`,
    main: './cmd/influxd',
  });
  const { path: directory, remove } = await serverDirectory('influxdb', kept);
  const [port, backupPort] = (await freePorts(2)) as [number, number];
  const url = `http://127.0.0.1:${port}`;
  const config = join(directory, 'influxdb.conf');
  await mkdir(join(directory, 'data'), { recursive: true });
  await writeFile(config, configuration(directory, port, backupPort, coldAfter));
  const launch = (): Promise<ServerProcess> =>
    launchServer(
      inGroup(group, {
        name: `influxd on 127.0.0.1:${port}`,
        command,
        args: ['run', '-config', config],
        ready: () => answers(`${url}/ping`),
        readyMs: READY_MS,
      }),
    );
  let server = await launch().catch((error: unknown) => {
    remove();
    throw error;
  });
  return {
    url,
    port,
    get pid() {
      return server.pid;
    },
    directory: join(directory, 'data'),
    async query(statement, database) {
      const query = new URLSearchParams({
        q: statement,
        ...(database === undefined ? {} : { db: database }),
      });
      const response = await fetchFor('query InfluxDB', `${url}/query?${query}`, {
        method: 'POST',
        timeoutMs: ASK_MS,
      });
      const { results } = (await response.json()) as QueryAnswer;
      const [result] = results;
      if (result?.error !== undefined) throw new Error(`InfluxDB: ${result.error}`);
      return result?.series?.[0]?.values ?? [];
    },
    async exportTo(file) {
      const program = await buildGoProgram({
        name: 'influx_inspect',
        module: MODULE,
        version: `v${INFLUXDB_VERSION}`,
        main: './cmd/influx_inspect',
      });
      const folders = ['-datadir', join(directory, 'data/data'), '-waldir', join(directory, 'data/wal')];
      await runProgram(program, ['export', ...folders, '-out', file]);
    },
    kill: () => server.kill(),
    async restart() {
      await server.stop();
      server = await launch();
    },
    async stop() {
      await server.stop();
      remove();
    },
  };
}

interface QueryAnswer {
  readonly results: readonly {
    readonly error?: string;
    readonly series?: readonly { readonly values: readonly (readonly unknown[])[] }[];
  }[];
}

function configuration(
  directory: string,
  port: number,
  backupPort: number,
  coldAfter: string | undefined,
): string {
  const cold =
    coldAfter === undefined
      ? ''
      : `
  cache-snapshot-write-cold-duration = "${coldAfter}"
  compact-full-write-cold-duration = "${coldAfter}"`;
  return `
reporting-disabled = true
bind-address = "127.0.0.1:${backupPort}"
[meta]
  dir = "${directory}/data/meta"
[data]
  dir = "${directory}/data/data"
  wal-dir = "${directory}/data/wal"
  query-log-enabled = false${cold}
[http]
  bind-address = "127.0.0.1:${port}"
  log-enabled = false
[logging]
  level = "warn"
[monitor]
  store-enabled = false
`;
}

async function answers(url: string): Promise<boolean> {
  return fetchFor('ping InfluxDB', url, { timeoutMs: 2000 }).then(
    () => true,
    () => false,
  );
}

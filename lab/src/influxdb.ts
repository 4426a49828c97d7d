import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  freePorts,
  launchServer,
  runProgram,
  type ServerProcess,
  temporaryDirectory,
} from '@tidegauge/process';
import { fetchFor } from '@tidegauge/service';
import { buildGoProgram } from './go-program.ts';
import { inGroup, type NodeGroup } from './node-group.ts';

/** The last version 1 with its source in a Go module that builds without a compiler for Rust. */
export const INFLUXDB_VERSION = '1.8.10';
const MODULE = 'github.com/influxdata/influxdb';
const READY_MS = 30_000;
const ASK_MS = 30_000;

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
  /** Stops it in an orderly way, and removes its data. May be called twice. */
  stop(): Promise<void>;
}

/**
 * Starts InfluxDB 1.8 on loopback, as a child of this process, with its default settings: the write-ahead log is synced
 * before a write is acknowledged, and no login is needed. Builds it from its Go module once.
 *
 * @param group the server runs in it; null: no limit of memory
 * @param compactsAtOnce shards get their final form some seconds after the last write, instead of four hours
 * @throws {Error} when it cannot be built, or is not ready within 30 s
 */
export async function startInfluxDb(
  group: NodeGroup | null = null,
  { compactsAtOnce = false } = {},
): Promise<InfluxDb> {
  const command = await buildGoProgram({
    name: 'influxd',
    module: MODULE,
    version: `v${INFLUXDB_VERSION}`,
    main: './cmd/influxd',
  });
  const directory = temporaryDirectory('influxdb');
  const [port, backupPort] = (await freePorts(2)) as [number, number];
  const url = `http://127.0.0.1:${port}`;
  const config = join(directory.path, 'influxdb.conf');
  await mkdir(join(directory.path, 'data'));
  await writeFile(config, configuration(directory.path, port, backupPort, compactsAtOnce));
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
    directory.remove();
    throw error;
  });
  return {
    url,
    port,
    get pid() {
      return server.pid;
    },
    directory: join(directory.path, 'data'),
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
      const folders = [
        '-datadir',
        join(directory.path, 'data/data'),
        '-waldir',
        join(directory.path, 'data/wal'),
      ];
      await runProgram(program, ['export', ...folders, '-out', file]);
    },
    kill: () => server.kill(),
    async restart() {
      await server.stop();
      server = await launch();
    },
    async stop() {
      await server.stop();
      directory.remove();
    },
  };
}

interface QueryAnswer {
  readonly results: readonly {
    readonly error?: string;
    readonly series?: readonly { readonly values: readonly (readonly unknown[])[] }[];
  }[];
}

function configuration(directory: string, port: number, backupPort: number, compactsAtOnce: boolean): string {
  const names = ['cache-snapshot-write-cold-duration', 'compact-full-write-cold-duration'];
  const cold = compactsAtOnce ? names.map((name) => `  ${name} = "5s"`) : [];
  return `
reporting-disabled = true
bind-address = "127.0.0.1:${backupPort}"
[meta]
  dir = "${directory}/data/meta"
[data]
  dir = "${directory}/data/data"
  wal-dir = "${directory}/data/wal"
  query-log-enabled = false
${cold.join('\n')}
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

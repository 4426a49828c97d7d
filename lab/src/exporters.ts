import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort, launchServer, runProgram, temporaryDirectory } from '@tidegauge/process';
import { buildOnce } from './build-once.ts';
import { findProgram } from './debian.ts';
import { go } from './go.ts';

const READY_MS = 30_000;
/** Where the additional disk is, for the exporter only. Legends of dashboards have room for such a name. */
const MOUNT = '/srv';

/** The exporters that stacks/monitoring deploys, in the same versions, by database. */
export const EXPORTERS = {
  postgres: exporter(
    'github.com/prometheus-community/postgres_exporter',
    'v0.17.1',
    './cmd/postgres_exporter',
  ),
  mariadb: exporter('github.com/prometheus/mysqld_exporter', 'v0.16.0', '.'),
  mongodb: exporter('github.com/percona/mongodb_exporter', 'v0.43.1', '.'),
} as const;

interface ExporterModule {
  readonly module: string;
  readonly version: string;
  readonly main: string;
}

/** A process that exports the metrics of another process to Prometheus. */
export interface Exporter {
  /** `host:port` for Prometheus to scrape. */
  readonly target: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/**
 * Starts the exporter of a database on loopback. If it is missing, it is built from its Go module in 5 to 40 seconds.
 * `args` (flags) and `env` contain the address of the database. Put passwords in `env`.
 */
export async function startExporter(
  database: keyof typeof EXPORTERS,
  options: Pick<Launch, 'args' | 'env'>,
): Promise<Exporter> {
  return launch(`${database} exporter`, await build(database), options);
}

/** Starts Debian's node exporter on loopback. */
export async function startNodeExporter(): Promise<Exporter> {
  return launch('node exporter', await nodeExporter());
}

/** A node exporter with one additional disk. */
export interface NodeExporterWithDisk extends Exporter {
  /** The folder of the disk, as a path for this process. */
  readonly disk: string;
}

/**
 * Starts Debian's node exporter with a small disk (ext4 in a file). The disk is mounted only for the exporter, and is
 * removed with it. Needs root and a free loop device.
 */
export async function startNodeExporterWithDisk(megabytes: number): Promise<NodeExporterWithDisk> {
  const mkfs = await findProgram('mkfs.ext4', 'e2fsprogs');
  const directory = temporaryDirectory('disk');
  const image = join(directory.path, 'image');
  try {
    await runProgram('truncate', ['--size', `${megabytes}M`, image]);
    await runProgram(mkfs, ['-q', '-m', '0', image]);
    // A separate process namespace, because the exporter reads the mounts of process 1.
    const alone = ['--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child', '--mount-proc'];
    const script = 'mount -o loop "$1" "$2"; shift 2; exec "$@"';
    const command = ['sh', '-ec', script, 'sh', image, MOUNT, await nodeExporter()];
    // unshare does not forward SIGTERM. With --kill-child the exporter ends when unshare is killed.
    const server = await launch('node exporter', 'unshare', {
      args: [...alone, ...command],
      stopSignal: 'SIGKILL',
    });
    const children = await readFile(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8');
    return {
      ...server,
      disk: join('/proc', children.trim(), 'root', MOUNT),
      async stop() {
        await server.stop();
        directory.remove();
      },
    };
  } catch (error) {
    directory.remove();
    throw error;
  }
}

function nodeExporter(): Promise<string> {
  return findProgram('prometheus-node-exporter', 'prometheus-node-exporter');
}

interface Launch {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly stopSignal?: NodeJS.Signals;
}

/** Starts the command with `args` before the listen address, so that the command can be a wrapper of the exporter. */
async function launch(name: string, command: string, options: Launch = {}): Promise<Exporter> {
  const target = `127.0.0.1:${await freePort()}`;
  const server = await launchServer({
    ...options,
    name: `${name} on ${target}`,
    command,
    args: [...(options.args ?? []), `--web.listen-address=${target}`],
    ready: () => answers(`http://${target}/`),
    readyMs: READY_MS,
  });
  return { target, pid: server.pid, stop: () => server.stop() };
}

async function build(database: keyof typeof EXPORTERS): Promise<string> {
  const { module, version, main } = EXPORTERS[database];
  const directory = await buildOnce(`exporters/${database}-${version}`, async (target) => {
    process.stderr.write(`Building ${module} ${version} (once)...\n`);
    const { Dir: source } = JSON.parse(await go(['mod', 'download', '-json', `${module}@${version}`])) as {
      Dir: string;
    };
    await mkdir(target);
    await go(['build', '-ldflags=-s -w', '-o', join(target, 'exporter'), main], { cwd: source });
  });
  return join(directory, 'exporter');
}

function exporter(module: string, version: string, main: string): ExporterModule {
  return { module, version, main };
}

function answers(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(2000) }).then(
    async (response) => {
      await response.body?.cancel();
      return response.ok;
    },
    () => false,
  );
}

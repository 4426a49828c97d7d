import { freePort, launchServer, type ServerProcess, temporaryDirectory } from '@tidegauge/process';
import { findProgram } from './debian.ts';
import { jvmOptions, LOG_LINES, writeStandaloneConf } from './hbase-conf.ts';
import { type HbaseVersion, hbaseJars } from './hbase-jars.ts';
import { LaunchedProcess } from './hbase-process.ts';
import { firstPut } from './hbase-ready.ts';
import { inGroup, type NodeGroup } from './node-group.ts';

const READY_MS = 120_000;

export interface HbaseOptions {
  /** Default 2.6.1. */
  readonly version?: HbaseVersion;
  /** The user of this process has all rights, and other users only the rights that they are granted. Default false. */
  readonly checksRights?: boolean;
  /** Further arguments of the JVM, such as an agent's. */
  readonly jvm?: readonly string[];
  /** Default 256. */
  readonly heapMegabytes?: number;
  /** The server runs in it. Default: no limit of memory. */
  readonly group?: NodeGroup | null;
}

export interface Hbase {
  /** ZooKeeper's port on 127.0.0.1. Clients connect to it first. */
  readonly port: number;
  readonly pid: number;
  /** The folder of its data. */
  readonly directory: string;
  /** The URL of a namespace, which may not exist yet. */
  url(namespace: string): string;
  /** Kills it without a shutdown, as a power failure would. */
  kill(): Promise<void>;
  /** Stops it in an orderly way if it runs, and starts it again with its data. */
  restart(): Promise<void>;
  /** Ends it at once, and removes its data. May be called twice. */
  stop(): Promise<void>;
  log(): string;
}

/**
 * Starts a standalone HBase on loopback. Master, region server and ZooKeeper run in one child of this process, with a
 * heap of 256 MB. Maven downloads HBase once. Rejects when the download fails, or when no put succeeds within 2
 * minutes.
 */
export async function startHbase(options: HbaseOptions = {}): Promise<Hbase> {
  const { version = '2.6.1', checksRights = false, jvm = [], heapMegabytes = 256, group = null } = options;
  const java = await findProgram('java', 'default-jre-headless');
  const jars = await hbaseJars(version);
  const [port, masterPort, regionServerPort] = [await freePort(), await freePort(), await freePort()];
  const directory = temporaryDirectory('hbase');
  const folder = directory.path;
  await writeStandaloneConf({ folder, zookeeperPort: port, masterPort, regionServerPort, checksRights });
  const launch = (): Promise<ServerProcess> =>
    launchServer(
      inGroup(group, {
        name: `hbase ${version} on 127.0.0.1:${port}`,
        command: java,
        args: [
          ...jvmOptions(folder, jars, { heapMegabytes }),
          ...jvm,
          ...['org.apache.hadoop.hbase.master.HMaster', 'start'],
        ],
        ready: async (log) => LOG_LINES.takesOrders.test(log),
        readyMs: READY_MS,
      }),
    );
  const server = new LaunchedProcess(`hbase ${version}`, port, launch);
  const stop = async (): Promise<void> => {
    // The data is removed anyway, so an orderly shutdown of several seconds is not needed.
    await server.kill();
    directory.remove();
  };
  try {
    await server.restart();
    await firstPut(port);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    port,
    get pid() {
      return server.pid;
    },
    directory: folder,
    url: (namespace) => `hbase://127.0.0.1:${port}/${namespace}`,
    kill: () => server.kill(),
    async restart() {
      await server.stop();
      await server.restart();
    },
    stop,
    log: () => server.log(),
  };
}

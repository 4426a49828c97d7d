import { connect } from 'node:net';
import { freePort, launchServer, listens, runProgram, temporaryDirectory } from '@tidegauge/process';
import { findProgram } from './debian.ts';
import { type JvmOptions, jvmOptions, LOG_LINES, writeClusterConf } from './hbase-conf.ts';
import { hbaseJars } from './hbase-jars.ts';
import { type HbaseProcess, LaunchedProcess } from './hbase-process.ts';
import { firstPut } from './hbase-ready.ts';
import { inGroup, type NodeGroup } from './node-group.ts';

const READY_MS = 180_000;
const MAX_REGION_SERVERS = 3;
const MAX_MASTERS = 2;
const MAX_COPIES = 3;
// Region servers have most of the load. The other processes compile with less effort (`isBrief`).
const JVMS = {
  zookeeper: { heapMegabytes: 64, isBrief: true },
  hdfs: { heapMegabytes: 128, isBrief: true },
  master: { heapMegabytes: 192, isBrief: true },
};

export interface HbaseClusterOptions {
  /** 1 to 3. Default 3. */
  readonly regionServers?: number;
  /** 1 or 2. The second master becomes active when the first one fails. Default 1. */
  readonly masters?: number;
  /** Copies of each block of HDFS, 1 to 3, each on its own data node. Default 1. */
  readonly copies?: number;
  /** Heap of a region server. Default 256. */
  readonly heapMegabytes?: number;
  /** A group for each region server, in which it runs. Default: no limit of memory. */
  readonly groups?: readonly NodeGroup[];
}

export interface HbaseCluster {
  /** ZooKeeper's port on 127.0.0.1. Clients connect to it first. */
  readonly port: number;
  readonly zookeeper: HbaseProcess;
  readonly nameNode: HbaseProcess;
  /** One for each copy. */
  readonly dataNodes: readonly HbaseProcess[];
  /** The folder of the data of all processes. */
  readonly directory: string;
  /** The first master is active until it ends. */
  readonly masters: readonly HbaseProcess[];
  readonly regionServers: readonly HbaseProcess[];
  /** The URL of a namespace, which may not exist yet. */
  url(namespace: string): string;
  /** Ends all processes at once, and removes their data. May be called twice. */
  stop(): Promise<void>;
}

/** How one process of the cluster is started. */
interface Part {
  readonly name: string;
  readonly port: number;
  readonly jvm: JvmOptions;
  readonly program: string;
  readonly args?: readonly string[];
  readonly ready: (log: string) => boolean | Promise<boolean>;
  readonly group?: NodeGroup | null;
}

/**
 * Starts a cluster of HBase 2.6 on loopback. Every part is a child of this process: ZooKeeper, HDFS, masters,
 * and region servers with a heap of 256 MB each. Three region servers and one copy need 1.3 GB in total. Maven downloads
 * HBase once. Rejects when the download fails, or when no put succeeds within 3 minutes.
 */
export async function startHbaseCluster(options: HbaseClusterOptions = {}): Promise<HbaseCluster> {
  const { regionServers: regionServerCount = 3, masters: masterCount = 1, copies = 1, groups = [] } = options;
  requireWithin('regionServers', regionServerCount, MAX_REGION_SERVERS);
  requireWithin('masters', masterCount, MAX_MASTERS);
  requireWithin('copies', copies, MAX_COPIES);
  const java = await findProgram('java', 'default-jre-headless');
  const jars = await hbaseJars('2.6.1');
  const port = await freePort();
  const nameNodePort = await freePort();
  const directory = temporaryDirectory('hbase');
  const folder = directory.path;
  await writeClusterConf({ folder, zookeeperPort: port, nameNodePort, regionServerCount, copies });

  const prepare = (part: Part): LaunchedProcess =>
    new LaunchedProcess(part.name, part.port, () =>
      launchServer(
        inGroup(part.group ?? null, {
          name: `hbase ${part.name} on 127.0.0.1:${part.port}`,
          command: java,
          args: [...jvmOptions(folder, jars, part.jvm), part.program, ...(part.args ?? [])],
          ready: async (log) => part.ready(log),
          readyMs: READY_MS,
        }),
      ),
    );
  const zookeeper = prepare({
    name: 'ZooKeeper',
    port,
    jvm: JVMS.zookeeper,
    program: 'org.apache.zookeeper.server.quorum.QuorumPeerMain',
    args: [`${folder}/conf/zoo.cfg`],
    ready: () => servesZnodes(port),
  });
  const nameNode = prepare({
    name: 'name node',
    port: nameNodePort,
    jvm: JVMS.hdfs,
    program: NAME_NODE,
    ready: () => listens(nameNodePort),
  });
  const dataNodes: LaunchedProcess[] = [];
  for (let number = 1; number <= copies; number += 1) {
    const dataNodePort = await freePort();
    const properties = {
      'dfs.datanode.address': `127.0.0.1:${dataNodePort}`,
      'dfs.datanode.data.dir': `${folder}/blocks-${number}`,
    };
    dataNodes.push(
      prepare({
        name: `data node ${number}`,
        port: dataNodePort,
        jvm: JVMS.hdfs,
        program: 'org.apache.hadoop.hdfs.server.datanode.DataNode',
        args: Object.entries(properties).flatMap(([name, value]) => ['-D', `${name}=${value}`]),
        ready: (log) => LOG_LINES.storesBlocks.test(log),
      }),
    );
  }
  const masters: LaunchedProcess[] = [];
  for (let number = 1; number <= masterCount; number += 1) {
    const name = `master ${number}`;
    const masterPort = await freePort();
    masters.push(
      prepare({
        name,
        port: masterPort,
        jvm: JVMS.master,
        program: 'org.apache.hadoop.hbase.master.HMaster',
        args: ['-D', `hbase.master.port=${masterPort}`, 'start'],
        ready: (log) => LOG_LINES.takesOrders.test(log) || LOG_LINES.waitsAsBackup.test(log),
      }),
    );
  }
  const regionServers: LaunchedProcess[] = [];
  for (let number = 1; number <= regionServerCount; number += 1) {
    const regionServerPort = await freePort();
    regionServers.push(
      prepare({
        name: `region server ${number}`,
        port: regionServerPort,
        jvm: { heapMegabytes: options.heapMegabytes ?? 256 },
        group: groups[number - 1] ?? null,
        program: 'org.apache.hadoop.hbase.regionserver.HRegionServer',
        args: ['-D', `hbase.regionserver.port=${regionServerPort}`, 'start'],
        ready: (log) => LOG_LINES.servesRegions.test(log),
      }),
    );
  }
  const parts = [zookeeper, nameNode, ...dataNodes, ...masters, ...regionServers];
  const stop = async (): Promise<void> => {
    // The data is removed anyway, so an orderly shutdown of several seconds is not needed.
    await Promise.all(parts.map((part) => part.kill()));
    directory.remove();
  };
  try {
    const format = [...jvmOptions(folder, jars, JVMS.hdfs), NAME_NODE, '-format', '-nonInteractive'];
    await runProgram(java, format, { timeoutMs: READY_MS });
    await startAll([zookeeper, nameNode, ...dataNodes]);
    const [first, ...others] = masters;
    await startAll([first!, ...regionServers]);
    await startAll(others);
    await firstPut(port);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    port,
    directory: folder,
    zookeeper,
    nameNode,
    dataNodes,
    masters,
    regionServers,
    url: (namespace) => `hbase://127.0.0.1:${port}/${namespace}`,
    stop,
  };
}

const NAME_NODE = 'org.apache.hadoop.hdfs.server.namenode.NameNode';

/** Starts all parts. Rejects only after the start of every part has ended, so that all can be stopped. */
async function startAll(parts: readonly LaunchedProcess[]): Promise<void> {
  const starts = await Promise.allSettled(parts.map((part) => part.restart()));
  for (const start of starts) if (start.status === 'rejected') throw start.reason;
}

/** ZooKeeper accepts connections before it is ready. Its command `srvr` reports whether it is. */
function servesZnodes(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: 1000 }, () => socket.write('srvr'));
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
    });
    socket.on('timeout', () => socket.destroy());
    socket.on('error', () => {});
    socket.on('close', () => resolve(/^Mode: /m.test(answer)));
  });
}

function requireWithin(name: string, value: number, most: number): void {
  if (!(Number.isInteger(value) && value >= 1 && value <= most))
    throw new TypeError(`${name} is 1 to ${most}`);
}

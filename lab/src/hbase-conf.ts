import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compilerOptions } from './jvm.ts';

type Properties = Readonly<Record<string, string | number | boolean>>;

/** Settings of every HBase process, server or client. */
function common(zookeeperPort: number): Properties {
  return {
    'hbase.zookeeper.quorum': '127.0.0.1',
    'hbase.zookeeper.property.clientPort': zookeeperPort,
    // The time until a dead region server is detected, in milliseconds.
    'zookeeper.session.timeout': 6000,
  };
}

/** Settings of masters and region servers: loopback only, with threads and caches for a board of 1 GB. */
function serving(regionServerCount: number): Properties {
  return {
    'hbase.master.hostname': '127.0.0.1',
    'hbase.unsafe.regionserver.hostname': '127.0.0.1',
    'hbase.master.ipc.address': '127.0.0.1',
    'hbase.regionserver.ipc.address': '127.0.0.1',
    'hbase.master.info.port': -1,
    'hbase.regionserver.info.port': -1,
    'hbase.regionserver.handler.count': 8,
    'hbase.regionserver.metahandler.count': 4,
    'hbase.regionserver.replication.handler.count': 1,
    'hbase.master.handler.count': 8,
    'hfile.block.cache.size': 0.2,
    'hbase.regionserver.global.memstore.size': 0.25,
    // Steps of a procedure are sent at once. The default collects them in batches for large clusters.
    'hbase.procedure.remote.dispatcher.delay.msec': 10,
    'hbase.regionserver.msginterval': 1000,
    // A starting master waits for all region servers, but only for a short time.
    'hbase.master.wait.on.regionservers.maxtostart': regionServerCount,
    'hbase.master.wait.on.regionservers.timeout': 1500,
    'hbase.master.wait.on.regionservers.interval': 200,
  };
}

export interface StandaloneConf {
  readonly folder: string;
  readonly zookeeperPort: number;
  readonly masterPort: number;
  readonly regionServerPort: number;
  readonly checksRights: boolean;
}

const ACCESS_CONTROLLER = 'org.apache.hadoop.hbase.security.access.AccessController';
/** Rights are checked, but identities are not. The user who started HBase has all rights. */
const RIGHTS: Properties = {
  'hbase.security.authorization': true,
  'hbase.coprocessor.master.classes': ACCESS_CONTROLLER,
  'hbase.coprocessor.region.classes': ACCESS_CONTROLLER,
  'hbase.coprocessor.regionserver.classes': ACCESS_CONTROLLER,
};

/** Writes the configuration of a standalone HBase: one process, with local files. */
export async function writeStandaloneConf(conf: StandaloneConf): Promise<void> {
  const { folder, zookeeperPort, masterPort, regionServerPort, checksRights } = conf;
  await writeConf(folder, {
    'hbase-site.xml': {
      ...common(zookeeperPort),
      ...serving(1),
      ...(checksRights ? RIGHTS : {}),
      'hbase.cluster.distributed': false,
      'hbase.rootdir': `file://${folder}/data`,
      'hbase.tmp.dir': `${folder}/tmp`,
      'hbase.unsafe.stream.capability.enforce': false,
      'hbase.wal.provider': 'filesystem',
      'hbase.localcluster.assign.random.ports': false,
      'hbase.master.port': masterPort,
      'hbase.regionserver.port': regionServerPort,
      'hbase.zookeeper.property.clientPortAddress': '127.0.0.1',
      'hbase.zookeeper.property.dataDir': `${folder}/zookeeper`,
      'hbase.zookeeper.property.maxClientCnxns': 0,
    },
  });
}

export interface ClusterConf {
  readonly folder: string;
  readonly zookeeperPort: number;
  readonly nameNodePort: number;
  readonly regionServerCount: number;
  /** Of each block of HDFS. */
  readonly copies: number;
}

/** Writes the configuration of all processes of a cluster. Several processes of one kind have their ports as arguments. */
export async function writeClusterConf(conf: ClusterConf): Promise<void> {
  const { folder, zookeeperPort, nameNodePort, regionServerCount, copies } = conf;
  const hdfs = `hdfs://127.0.0.1:${nameNodePort}`;
  await writeConf(folder, {
    'hbase-site.xml': {
      ...common(zookeeperPort),
      ...serving(regionServerCount),
      'hbase.cluster.distributed': true,
      'hbase.rootdir': `${hdfs}/hbase`,
      'hbase.tmp.dir': `${folder}/tmp`,
    },
    'core-site.xml': { 'fs.defaultFS': hdfs, 'hadoop.tmp.dir': `${folder}/tmp` },
    'hdfs-site.xml': {
      'dfs.namenode.name.dir': `${folder}/name`,
      'dfs.replication': copies,
      'dfs.permissions.enabled': false,
      'dfs.namenode.http-address': '127.0.0.1:0',
      'dfs.namenode.datanode.registration.ip-hostname-check': false,
      'dfs.safemode.threshold.pct': 0,
      'dfs.datanode.http.address': '127.0.0.1:0',
      'dfs.datanode.ipc.address': '127.0.0.1:0',
      // There are as many data nodes as copies, so a failed data node cannot be replaced.
      'dfs.client.block.write.replace-datanode-on-failure.policy': 'NEVER',
    },
  });
  const zookeeper = [
    'tickTime=1000',
    `dataDir=${folder}/zookeeper`,
    `clientPort=${zookeeperPort}`,
    'clientPortAddress=127.0.0.1',
    'minSessionTimeout=2000',
    'maxClientCnxns=0',
    'admin.enableServer=false',
    '4lw.commands.whitelist=srvr',
  ];
  await writeFile(join(folder, 'conf', 'zoo.cfg'), `${zookeeper.join('\n')}\n`);
  // HDFS does not start without the folders of its web applications. Its jars do not contain them.
  for (const name of ['hdfs', 'datanode', 'static']) {
    await mkdir(join(folder, 'conf', 'webapps', name), { recursive: true });
  }
}

/** Writes the configuration of a Java client or a gateway. */
export async function writeClientConf(folder: string, zookeeperPort: number): Promise<void> {
  await writeConf(folder, { 'hbase-site.xml': common(zookeeperPort) });
}

async function writeConf(folder: string, sites: Readonly<Record<string, Properties>>): Promise<void> {
  const conf = join(folder, 'conf');
  await mkdir(conf, { recursive: true });
  for (const [name, properties] of Object.entries(sites)) await writeFile(join(conf, name), xml(properties));
  await writeFile(join(conf, 'log4j.properties'), LOG4J);
}

function xml(properties: Properties): string {
  const lines = Object.entries(properties).map(
    ([name, value]) => `<property><name>${name}</name><value>${value}</value></property>\n`,
  );
  return `<configuration>\n${lines.join('')}</configuration>\n`;
}

/** Lines that servers log when they are ready. Their ports are open long before. */
export const LOG_LINES = {
  takesOrders: /Master has completed initialization/,
  waitsAsBackup: /Another master is the active master/,
  servesRegions: /HRegionServer Serving as /,
  storesBlocks: /successfully registered with NN/,
};

// The log line has level INFO.
const LOG4J = `log4j.rootLogger=WARN, E
log4j.logger.org.apache.hadoop.hbase.master.HMaster=INFO
log4j.logger.org.apache.hadoop.hbase.master.ActiveMasterManager=INFO
log4j.logger.org.apache.hadoop.hbase.regionserver.HRegionServer=INFO
log4j.logger.org.apache.hadoop.hdfs.server.datanode.DataNode=INFO
log4j.appender.E=org.apache.log4j.ConsoleAppender
log4j.appender.E.target=System.err
log4j.appender.E.layout=org.apache.log4j.PatternLayout
log4j.appender.E.layout.ConversionPattern=%d{ISO8601} %p %c{1} %m%n
`;

const OPENS = ['java.nio', 'sun.nio.ch', 'java.lang', 'jdk.internal.ref', 'java.lang.reflect', 'java.util'];
const EXPORTS = [
  ...['java.base/jdk.internal.misc', 'java.base/sun.net.dns', 'java.base/sun.net.util'],
  'java.security.jgss/sun.security.krb5',
];

export interface JvmOptions {
  readonly heapMegabytes: number;
  /** Whether it starts with less effort (`compilerOptions`). Default false. */
  readonly isBrief?: boolean;
}

/** The JVM arguments for HBase, HDFS and ZooKeeper on Java 17, up to the name of the class. */
export function jvmOptions(
  folder: string,
  jars: string,
  { heapMegabytes, isBrief = false }: JvmOptions,
): string[] {
  return [
    `-Xmx${heapMegabytes}m`,
    ...compilerOptions(isBrief),
    ...['-Xss256k', '-XX:+UseSerialGC', '-XX:+ExitOnOutOfMemoryError'],
    '-Dorg.apache.hbase.thirdparty.io.netty.tryReflectionSetAccessible=true',
    '-Djava.net.preferIPv4Stack=true',
    '--add-modules=jdk.unsupported',
    ...[...OPENS, 'java.util.concurrent'].flatMap((name) => ['--add-opens', `java.base/${name}=ALL-UNNAMED`]),
    ...EXPORTS.flatMap((name) => ['--add-exports', `${name}=ALL-UNNAMED`]),
    ...['-cp', `${join(folder, 'conf')}:${jars}/*`],
  ];
}

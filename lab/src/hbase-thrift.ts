import { freePort, launchServer, listens, temporaryDirectory } from '@tidegauge/process';
import { findProgram } from './debian.ts';
import { jvmOptions, writeClientConf } from './hbase-conf.ts';
import { thriftJars } from './hbase-jars.ts';

const READY_MS = 60_000;
const JVM = { heapMegabytes: 128 };

export interface ThriftGateway {
  readonly port: number;
  readonly pid: number;
  /** May be called twice. */
  stop(): Promise<void>;
}

/**
 * Starts HBase's Thrift2 gateway on loopback, as a child of this process, with the binary protocol, unframed. It serves
 * the HBase whose ZooKeeper listens on `zookeeperPort` of 127.0.0.1. Rejects when it does not listen within a minute.
 */
export async function startThriftGateway(zookeeperPort: number): Promise<ThriftGateway> {
  const java = await findProgram('java', 'default-jre-headless');
  const jars = await thriftJars();
  const port = await freePort();
  const directory = temporaryDirectory('hbase-thrift');
  await writeClientConf(directory.path, zookeeperPort);
  try {
    const server = await launchServer({
      name: `hbase thrift2 gateway on 127.0.0.1:${port}`,
      command: java,
      args: [
        ...jvmOptions(directory.path, jars, JVM),
        ...['org.apache.hadoop.hbase.thrift2.ThriftServer', '-p', String(port), '--bind', '127.0.0.1'],
        ...['--infoport', '-1', 'start'],
      ],
      ready: () => listens(port),
      readyMs: READY_MS,
    });
    return {
      port,
      pid: server.pid,
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

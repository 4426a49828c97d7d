import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePorts, launchServer, type ServerProcess, temporaryDirectory } from '@tidegauge/process';
import { CACHE } from './build-once.ts';
import { jvmOptions, yaml } from './cassandra-conf.ts';
import { type NodeAdmin, openAdmin } from './cassandra-nodetool.ts';
import { runCql } from './cql.ts';
import { findProgram } from './debian.ts';
import { runInstaller } from './installer.ts';
import { inGroup, type NodeGroup } from './node-group.ts';
import { proxyHost } from './toxiproxy.ts';

export const CASSANDRA_VERSION = '5.0.9';
const FOLDER = join(CACHE, 'cassandra');
/** Of each node: the nodes of a cluster start at once, and share the processors. */
const READY_MS = 120_000;
const MAX_NODES = 6;
const USER = 'tidegauge';

export interface CassandraOptions {
  /** 1 to 6, on 127.0.0.1, 127.0.0.2, …, because every node must have the same port. Default 1. */
  readonly nodes?: number;
  /** PEM file of a key and its certificate: clients may then encrypt, on the same port. */
  readonly identity?: string;
  /** Further arguments of each JVM, such as an agent's. An agent that listens on a port works with one node only. */
  readonly jvm?: readonly string[];
  /** Of each node; the new generation is a third of it. Default: 430, and 400 for several nodes. */
  readonly heapMegabytes?: number;
  /** A group for each node, in which it runs. Default: no limit of memory. */
  readonly groups?: readonly NodeGroup[];
  /** The nodes announce 127.0.1.1, … to clients, where a proxy must listen on the same port. Default: false. */
  readonly isProxied?: boolean;
}

export interface CassandraNode {
  readonly host: string;
  /** Its data, logs and configuration. */
  readonly folder: string;
  readonly pid: number;
  readonly running: boolean;
  /** Kills it without a shutdown, as a power failure would. */
  kill(): Promise<void>;
  /** Kills it if it runs, and starts it again with its data. */
  restart(): Promise<void>;
  /** Runs nodetool for this node. Resolves to its output. Rejects when nodetool fails. */
  nodetool(...command: string[]): Promise<string>;
  log(): string;
}

export interface Cassandra {
  readonly port: number;
  readonly nodes: readonly CassandraNode[];
  /** The folder of the data of all nodes. */
  readonly directory: string;
  /** The only superuser. Cassandra's default superuser is dropped. */
  readonly user: string;
  /** Generated for this start. */
  readonly password: string;
  /** The URL of a keyspace, which may not exist yet. */
  url(keyspace: string): string;
  /** Runs one CQL statement on the first node that runs. */
  query(statement: string): Promise<void>;
  /** Ends all nodes at once, and removes their data. May be called twice. */
  stop(): Promise<void>;
}

/**
 * Starts Cassandra on loopback as children of this process, with memory for a small board (heap 430 MB, new
 * generation 142 MB; 400 and 132 each for several nodes), password authentication and permissions on.
 * Downloads it by Maven once. Rejects when that fails or a node does not answer a query within 2 minutes,
 * multiplied by the number of nodes.
 */
export async function startCassandra(options: CassandraOptions = {}): Promise<Cassandra> {
  const { nodes: count = 1, identity = null, jvm = [], groups = [] } = options;
  const heapMegabytes = options.heapMegabytes ?? (count === 1 ? 430 : 400);
  const readyMs = READY_MS * count;
  if (!(Number.isInteger(count) && count >= 1 && count <= MAX_NODES)) {
    throw new TypeError(`nodes is 1 to ${MAX_NODES}`);
  }
  const java = await findProgram('java', 'default-jre-headless');
  const jars = await cassandraJars();
  const hosts = Array.from({ length: count }, (_, index) => `127.0.0.${index + 1}`);
  const [port, storagePort] = [await commonPort(hosts), await commonPort(hosts)];
  const adminPorts = await freePorts(count);
  const password = randomBytes(18).toString('base64url');
  const directory = temporaryDirectory('cassandra');
  let login = { user: 'cassandra', password: 'cassandra' };

  const nodes = hosts.map((host, index) => {
    const folder = join(directory.path, `node-${index + 1}`);
    const adminOptions = { folder, java, jars, port: adminPorts[index]!, password };
    const launch = async () => {
      await mkdir(folder, { recursive: true });
      const admin = await openAdmin(adminOptions);
      const announced = options.isProxied ? proxyHost(host) : null;
      const conf = { folder, host, announced, port, storagePort, index, count, identity };
      await writeFile(join(folder, 'cassandra.yaml'), yaml(conf));
      await writeFile(join(folder, 'logback.xml'), LOGBACK);
      const java17 = jvmOptions({ folder, jars, count, heapMegabytes });
      const running = await launchServer(
        inGroup(groups[index] ?? null, {
          name: `cassandra on ${host}:${port}`,
          command: java,
          args: [...java17, ...admin.jvm, ...jvm, 'org.apache.cassandra.service.CassandraDaemon'],
          ready: () => answers({ host, port, ...login }),
          readyMs,
        }),
      );
      return { running, admin };
    };
    return new Node(host, folder, launch, readyMs);
  });
  const query = (statement: string): Promise<void> => {
    const node = nodes.find(({ running }) => running) ?? nodes[0]!;
    return runCql({ host: node.host, port, ...login }, statement);
  };
  const stop = async (): Promise<void> => {
    // The data is removed anyway, so an orderly shutdown of several seconds is not needed.
    await Promise.all(nodes.map((node) => node.kill()));
    directory.remove();
  };

  try {
    await startTogether(nodes, directory.path);
    const create = `create role if not exists ${USER} with superuser = true and login = true and password = '${password}'`;
    await insist(() => query(create), readyMs);
    login = { user: USER, password };
    await insist(() => query('drop role if exists cassandra'), readyMs);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    port,
    nodes,
    directory: directory.path,
    user: USER,
    password,
    url: (keyspace) =>
      `cassandra://${USER}:${password}@${hosts.map((host) => `${host}:${port}`).join(',')}/${keyspace}`,
    query,
    stop,
  };
}

/**
 * Starts all nodes at once. On a busy machine they may not agree on the members of the cluster. The first node then
 * creates no role, and no login is possible. The nodes contain no data yet, so they are started once more from empty
 * folders.
 */
async function startTogether(nodes: readonly Node[], folder: string): Promise<void> {
  for (let isLast = false; ; isLast = true) {
    const starts = await Promise.allSettled(nodes.map((node) => node.restart()));
    // All nodes can be stopped only when the start of each of them has ended.
    const failed = starts.find((start) => start.status === 'rejected');
    if (failed === undefined) return;
    if (isLast || !/some nodes were not ready/.test((failed.reason as Error).message)) throw failed.reason;
    await Promise.all(nodes.map((node) => node.kill()));
    for (const entry of await readdir(folder)) await rm(join(folder, entry), { recursive: true });
  }
}

interface Launched {
  readonly running: ServerProcess;
  readonly admin: NodeAdmin;
}

class Node implements CassandraNode {
  readonly host: string;
  readonly folder: string;
  readonly #launch: () => Promise<Launched>;
  readonly #readyMs: number;
  #launched: Launched | null = null;

  constructor(host: string, folder: string, launch: () => Promise<Launched>, readyMs: number) {
    this.host = host;
    this.folder = folder;
    this.#launch = launch;
    this.#readyMs = readyMs;
  }

  get #process(): ServerProcess | null {
    return this.#launched?.running ?? null;
  }

  get pid(): number {
    return this.#process?.pid ?? -1;
  }

  get running(): boolean {
    return this.#process?.running === true;
  }

  async nodetool(...command: string[]): Promise<string> {
    if (this.#launched === null) throw new TypeError('the node was not started');
    return this.#launched.admin.nodetool(...command);
  }

  log(): string {
    return this.#process?.log() ?? '';
  }

  async kill(): Promise<void> {
    await this.#process?.kill();
  }

  async restart(): Promise<void> {
    await this.kill();
    for (const deadline = Date.now() + this.#readyMs; ; ) {
      try {
        this.#launched = await this.#launch();
        return;
      } catch (error) {
        // On a busy machine the other nodes may start later than this node waits for them.
        const alone = /Unable to gossip with any peers/.test((error as Error).message);
        if (!alone || Date.now() > deadline) throw error;
      }
    }
  }
}

const LOGBACK = `<configuration><appender name="E" class="ch.qos.logback.core.ConsoleAppender"><encoder>
<pattern>%level %logger{0} %msg%n</pattern></encoder></appender><root level="WARN"><appender-ref ref="E"/></root></configuration>
`;

/** Retries, because a new cluster needs a moment to agree on its members. */
async function insist(attempt: () => Promise<void>, limitMs: number): Promise<void> {
  for (const deadline = Date.now() + limitMs; ; await delay(200)) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
  }
}

function answers(login: Parameters<typeof runCql>[0]): Promise<boolean> {
  return runCql(login, 'select key from system.local', 2000).then(
    () => true,
    () => false,
  );
}

/** The folder with Cassandra's jars. Maven downloads them if the folder does not exist. */
export async function cassandraJars(): Promise<string> {
  const folder = join(FOLDER, CASSANDRA_VERSION);
  if (existsSync(folder)) return folder;
  const maven = await findProgram('mvn', 'maven');
  process.stderr.write(`Downloading Cassandra ${CASSANDRA_VERSION} (once, 70 MB)...\n`);
  await mkdir(FOLDER, { recursive: true });
  const work = await mkdtemp(join(FOLDER, 'download-'));
  try {
    await writeFile(join(work, 'pom.xml'), POM);
    const args = [
      '-q',
      '-B',
      'dependency:copy-dependencies',
      '-DoutputDirectory=lib',
      '-DincludeScope=runtime',
    ];
    await runInstaller(`download Cassandra ${CASSANDRA_VERSION}`, maven, args, { cwd: work });
    // The folder appears only when it is complete, even if two processes download at the same time.
    await rename(join(work, 'lib'), folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return folder;
}

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tidegauge</groupId><artifactId>lab-cassandra</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId><version>${CASSANDRA_VERSION}</version></dependency>
  </dependencies>
</project>
`;

/** A port that is free on all of the hosts, because nodes of a cluster find each other by host only. */
async function commonPort(hosts: readonly string[]): Promise<number> {
  for (let attempt = 0; attempt < 20; attempt += 1) {
    let port = 0;
    const held: (() => void)[] = [];
    try {
      for (const host of hosts) {
        const server = createServer();
        await new Promise<void>((resolve, reject) => {
          server.once('error', reject).listen(port, host, resolve);
        });
        held.push(() => void server.close());
        port = (server.address() as { port: number }).port;
      }
      return port;
    } catch {
      // The port is in use on another host. Try the next one.
    } finally {
      for (const release of held) release();
    }
  }
  throw new Error(`no port is free on all of ${hosts.join(', ')}`);
}

import type { DatabaseCopies } from './database-copies.ts';
import { diskUsage } from './disk-usage.ts';
import type { HbaseProcess } from './hbase-process.ts';
import { makeNodeGroup, type NodeGroup } from './node-group.ts';

/** A database server, in which each test, benchmark or command has its own database. */
export interface StoreServer {
  /** Makes an empty database (or keyspace, or namespace) with this name. Resolves to its STORE URL. */
  create(place: string): Promise<string>;
  /** The processes of the server. Empty: it is embedded in its client, or was running before. */
  readonly nodes: readonly StoreNode[];
  /** The folders of its data on this machine, logs of transactions included. Empty: they are elsewhere. */
  readonly directories: readonly string[];
  /** Versions of the servers, such as `{ cassandra: '5.0.9' }`. */
  versions(): Promise<Readonly<Record<string, string>>>;
  /** Where clients connect, as `host:port`. Empty: the server is embedded, or cannot be behind a proxy. */
  readonly endpoints: readonly string[];
  /** Writes data in memory to the data folders. null: the server has no cheap command for it. */
  readonly flush: (() => Promise<void>) | null;
  /** Copies loaded data on the server. null: not supported. */
  readonly copies: DatabaseCopies | null;
  stop(): Promise<void>;
}

export interface StoreNode {
  readonly name: string;
  /** Child processes are not listed. */
  pids(): readonly number[];
  /** Directory of its control group. null: its memory is not limited. */
  readonly cgroup: string | null;
  /** null: the server is not made for the failure of this node. */
  readonly fault: NodeFault | null;
}

/** The failure of a node. */
export interface NodeFault {
  /** Kills it without a shutdown, as a power failure would. */
  kill(): Promise<void>;
  /** Starts it again with its data. Resolves when it serves. */
  restart(): Promise<void>;
}

/** Copies in the keyspace of a new database, with as many nodes or more. */
const COPIES = 3;

export interface StoreServerOptions {
  /**
   * Memory limit of each node, in bytes. Heaps and caches of the database get the same share of it as they have of 1 GiB
   * by default. With several HBase nodes, it applies to each region server. Default: no limit.
   */
  readonly memory?: number;
  /** Nodes announce 127.0.1.N instead of 127.0.0.N to clients, where a proxy must listen on the same ports. */
  readonly isProxied?: boolean;
  /** HBase with several nodes: copies of each block of HDFS. Other stores have them by an option of the URL. Default 1. */
  readonly copies?: number;
}

export interface StoreServerEntry {
  readonly summary: string;
  /** The highest number of nodes. */
  readonly maxNodes: number;
  /** The smallest memory limit of a node with which the server starts reliably, in bytes. */
  readonly minMemory: number;
  readonly start: (nodes: number, options?: StoreServerOptions) => Promise<StoreServer>;
}

const MEBIBYTE = 2 ** 20;

/** Servers of stores by scheme. Each module is loaded when its server is started. */
export const STORE_SERVERS: Readonly<Record<string, StoreServerEntry>> = {
  postgres: {
    summary: 'PostgreSQL 15 of Debian',
    maxNodes: 1,
    minMemory: 128 * MEBIBYTE,
    start: (_nodes, { memory } = {}) =>
      withGroups(1, memory, async (groups) => {
        const { startPostgres } = await import('./postgres.ts');
        const { postgresCopies } = await import('./postgres-copies.ts');
        const group = groups[0] ?? null;
        const server = await startPostgres({ group, sharedBuffers: shareOf(memory, 96) });
        return {
          async create(place) {
            await server.query(`create database "${place}"`);
            return server.url(place);
          },
          endpoints: [`127.0.0.1:${server.port}`],
          nodes: [nodeOf('postgres', server, group)],
          directories: [server.directory],
          versions: async () => ({ postgres: firstWord(await server.query('show server_version')) }),
          flush: async () => void (await server.query('checkpoint', 'postgres', 300_000)),
          copies: postgresCopies(server),
          stop: () => server.stop(),
        };
      }),
  },
  citus: {
    summary: 'Citus where PostgreSQL has the extension: a coordinator, and a worker for each node',
    maxNodes: 6,
    minMemory: 128 * MEBIBYTE,
    start: (workers, { memory } = {}) =>
      withGroups(workers + 1, memory, async (groups) => {
        const { startCitus } = await import('./citus.ts');
        const server = await startCitus({ workers, groups, sharedBuffers: shareOf(memory, 48) });
        const { coordinator } = server;
        const version = `select default_version from pg_available_extensions where name = 'citus'`;
        return {
          create: async (place) => server.url(await server.createDatabase(place)),
          endpoints: [`127.0.0.1:${coordinator.port}`],
          nodes: [coordinator, ...server.workers].map((node, index) =>
            nodeOf(index === 0 ? 'coordinator' : `worker-${index}`, node, groups[index] ?? null),
          ),
          directories: [coordinator, ...server.workers].map(({ directory }) => directory),
          versions: async () => ({
            citus: (await coordinator.query(version)).trim(),
            postgres: firstWord(await coordinator.query('show server_version')),
          }),
          flush: null,
          copies: null,
          stop: () => server.stop(),
        };
      }),
  },
  mariadb: {
    summary: 'MariaDB of Debian',
    maxNodes: 1,
    minMemory: 256 * MEBIBYTE,
    start: (_nodes, { memory } = {}) =>
      withGroups(1, memory, async (groups) => {
        const { startMariadb } = await import('./mariadb.ts');
        const { mariadbCopies } = await import('./mariadb-copies.ts');
        const group = groups[0] ?? null;
        const server = await startMariadb({ group, bufferPool: shareOf(memory, 96) });
        return {
          async create(place) {
            await server.query(`create database \`${place}\``);
            return server.url(place);
          },
          endpoints: [`127.0.0.1:${server.port}`],
          nodes: [nodeOf('mariadb', server, group)],
          directories: [server.directory],
          versions: async () => ({ mariadb: firstWord(await server.query('select version()')) }),
          flush: null,
          copies: mariadbCopies(server),
          stop: () => server.stop(),
        };
      }),
  },
  cassandra: {
    summary: 'Cassandra from Maven Central, up to 6 nodes',
    maxNodes: 6,
    minMemory: 768 * MEBIBYTE,
    start: (nodes, { memory, ...options } = {}) =>
      withGroups(nodes, memory, async (groups) => {
        const { CASSANDRA_VERSION, startCassandra } = await import('./cassandra.ts');
        const { cassandraCopies } = await import('./cassandra-copies.ts');
        const heapMegabytes = shareOf(memory, nodes === 1 ? 430 : 400);
        const server = await startCassandra({ nodes, heapMegabytes, groups, ...options });
        const copies = nodes > 1 ? `?rf=${Math.min(nodes, COPIES)}` : '';
        return {
          // The first store that opens the URL creates the keyspace.
          create: async (place) => `${server.url(place)}${copies}`,
          endpoints: server.nodes.map(({ host }) => `${host}:${server.port}`),
          nodes: server.nodes.map((node, index) =>
            nodeOf(`cassandra-${index + 1}`, node, groups[index] ?? null),
          ),
          directories: [server.directory],
          versions: async () => ({ cassandra: CASSANDRA_VERSION }),
          flush: null,
          copies: cassandraCopies(server),
          stop: () => server.stop(),
        };
      }),
  },
  hbase: {
    summary: 'HBase 2.6 from Maven Central: one process, or HDFS and up to 3 region servers',
    maxNodes: 3,
    minMemory: 768 * MEBIBYTE,
    start: (nodes, { memory, copies = 1 } = {}) =>
      withGroups(nodes, memory, async (groups) => {
        const heapMegabytes = shareOf(memory, 256);
        const { hbaseCopies } = await import('./hbase-copies.ts');
        const common = {
          // Clients find its servers in ZooKeeper, by addresses that the servers use among each other too.
          endpoints: [],
          versions: async () => ({ hbase: '2.6.1' }),
          flush: null,
        };
        if (nodes === 1) {
          const group = groups[0] ?? null;
          const server = await (await import('./hbase.ts')).startHbase({ heapMegabytes, group });
          return {
            ...common,
            // The first store that opens the URL creates the namespace.
            create: async (place) => server.url(place),
            nodes: [nodeOf('hbase', server, group)],
            directories: [server.directory],
            // The archive has the files that only snapshots need.
            copies: hbaseCopies(server.port, () => diskUsage(`${server.directory}/data/archive`)),
            stop: () => server.stop(),
          };
        }
        const { startHbaseCluster } = await import('./hbase-cluster.ts');
        const server = await startHbaseCluster({ regionServers: nodes, copies, heapMegabytes, groups });
        const { zookeeper, nameNode, dataNodes, masters, regionServers } = server;
        // HBase does not work without one of them, and a data node is not replaced.
        const others = [zookeeper, nameNode, ...dataNodes, ...masters];
        const nameOf = (part: HbaseProcess): string => part.name.replaceAll(' ', '-').toLowerCase();
        return {
          ...common,
          create: async (place) => server.url(place),
          nodes: [
            ...regionServers.map((part, index) => nodeOf(nameOf(part), part, groups[index] ?? null)),
            ...others.map((part) => ({ ...nodeOf(nameOf(part), part, null), fault: null })),
          ],
          directories: [server.directory],
          // Blocks of HDFS do not show whose they are.
          copies: hbaseCopies(server.port, async () => null),
          stop: () => server.stop(),
        };
      }),
  },
  mongodb: {
    summary: 'mongod where it is installed, else FerretDB, which is MongoDB-compatible',
    maxNodes: 1,
    minMemory: 512 * MEBIBYTE,
    start: (_nodes, { memory } = {}) =>
      withGroups(1, memory, async (groups) => {
        const { startMongodb } = await import('./mongodb.ts');
        const { mongodbCopies } = await import('./mongodb-copies.ts');
        const group = groups[0] ?? null;
        const server = await startMongodb({ group, cacheMegabytes: shareOf(memory, 256) });
        const { control } = server;
        return {
          // The first write creates the database.
          create: async (place) => server.url(place),
          endpoints: control === null ? [] : [`127.0.0.1:${server.port}`],
          nodes:
            control === null ? [] : [{ ...nodeOf('mongodb', control, group), pids: () => control.pids() }],
          directories: control === null ? [] : [control.directory],
          versions: () => server.versions(),
          flush: null,
          copies: mongodbCopies(server),
          stop: () => server.stop(),
        };
      }),
  },
  influxdb: {
    summary: 'InfluxDB 1.8, built from its Go module',
    maxNodes: 1,
    minMemory: 256 * MEBIBYTE,
    start: (_nodes, { memory } = {}) =>
      withGroups(1, memory, async (groups) => {
        const { INFLUXDB_VERSION, startInfluxDb } = await import('./influxdb.ts');
        const group = groups[0] ?? null;
        const server = await startInfluxDb({ group });
        return {
          // The first store that opens the URL creates the database.
          create: async (place) => `influxdb://127.0.0.1:${server.port}/${place}`,
          endpoints: [`127.0.0.1:${server.port}`],
          nodes: [nodeOf('influxdb', server, group)],
          directories: [server.directory],
          versions: async () => ({ influxdb: INFLUXDB_VERSION }),
          flush: null,
          copies: null,
          stop: () => server.stop(),
        };
      }),
  },
};

/** Starts a server whose nodes run in groups with a memory limit, and removes the groups after its end. */
async function withGroups(
  nodes: number,
  memory: number | undefined,
  start: (groups: readonly NodeGroup[]) => Promise<StoreServer>,
): Promise<StoreServer> {
  const groups = memory === undefined ? [] : Array.from({ length: nodes }, () => makeNodeGroup(memory));
  const remove = async (): Promise<void> => {
    await Promise.all(groups.map((group) => group.remove()));
  };
  try {
    const server = await start(groups);
    return {
      ...server,
      async stop() {
        await server.stop();
        await remove();
      },
    };
  } catch (error) {
    // The error of the start is the cause of that of the groups.
    await remove().catch(() => {});
    throw error;
  }
}

function nodeOf(
  name: string,
  server: NodeFault & { readonly pid: number },
  group: NodeGroup | null,
): StoreNode {
  return { name, pids: () => [server.pid], cgroup: group?.directory ?? null, fault: server };
}

/** The size that a heap or cache has under a memory limit, when it has `size` under 1 GiB. */
function shareOf(memory: number | undefined, size: number): number {
  return memory === undefined ? size : Math.max(1, Math.round((size * memory) / 2 ** 30));
}

function firstWord(text: string): string {
  return text.trim().split(/\s/)[0] ?? '';
}

/** A database server, in which each test, benchmark or command has its own database. */
export interface StoreServer {
  /** Makes an empty database (or keyspace, or namespace) with this name. Resolves to its STORE URL. */
  create(place: string): Promise<string>;
  stop(): Promise<void>;
}

export interface StoreServerOptions {
  /** Cassandra only: when a write is acknowledged, see `startCassandra`. */
  readonly commitlog?: 'batch' | 'periodic';
}

export interface StoreServerEntry {
  readonly summary: string;
  /** The highest number of nodes. */
  readonly maxNodes: number;
  readonly start: (nodes: number, options?: StoreServerOptions) => Promise<StoreServer>;
}

/** Servers of stores by scheme. Each module is loaded when its server is started. */
export const STORE_SERVERS: Readonly<Record<string, StoreServerEntry>> = {
  postgres: {
    summary: 'PostgreSQL 15 of Debian',
    maxNodes: 1,
    async start() {
      const { startPostgres } = await import('./postgres.ts');
      const server = await startPostgres();
      return {
        async create(place) {
          await server.query(`create database "${place}"`);
          return server.url(place);
        },
        stop: () => server.stop(),
      };
    },
  },
  mariadb: {
    summary: 'MariaDB of Debian',
    maxNodes: 1,
    async start() {
      const { startMariadb } = await import('./mariadb.ts');
      const server = await startMariadb();
      return {
        async create(place) {
          await server.query(`create database \`${place}\``);
          return server.url(place);
        },
        stop: () => server.stop(),
      };
    },
  },
  cassandra: {
    summary: 'Cassandra from Maven Central, up to 3 nodes',
    maxNodes: 3,
    async start(nodes, options) {
      const { startCassandra } = await import('./cassandra.ts');
      const server = await startCassandra({ nodes, ...options });
      const copies = nodes > 1 ? `?rf=${nodes}` : '';
      return {
        // The first store that opens the URL creates the keyspace.
        create: async (place) => `${server.url(place)}${copies}`,
        stop: () => server.stop(),
      };
    },
  },
  hbase: {
    summary: 'HBase 2.6 from Maven Central: one process, or HDFS and up to 3 region servers',
    maxNodes: 3,
    async start(nodes) {
      const server =
        nodes === 1
          ? await (await import('./hbase.ts')).startHbase()
          : await (await import('./hbase-cluster.ts')).startHbaseCluster({ regionServers: nodes });
      // The first store that opens the URL creates the namespace.
      return { create: async (place) => server.url(place), stop: () => server.stop() };
    },
  },
  mongodb: {
    summary: 'mongod where it is installed, else FerretDB, which is MongoDB-compatible',
    maxNodes: 1,
    async start() {
      const { startMongodb } = await import('./mongodb.ts');
      const server = await startMongodb();
      // The first write creates the database.
      return { create: async (place) => server.url(place), stop: () => server.stop() };
    },
  },
};

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { HBaseClient } from '@tidegauge/hbase-client';
import { startCassandra } from '@tidegauge/lab/cassandra';
import { startHbase } from '@tidegauge/lab/hbase';
import { startMariadb } from '@tidegauge/lab/mariadb';
import { startMongodb } from '@tidegauge/lab/mongodb';
import { startPostgres } from '@tidegauge/lab/postgres';
import cassandra from 'cassandra-driver';
import mariadb from 'mariadb';
import { Binary, MongoClient } from 'mongodb';
import pg from 'pg';

export type Fields = Readonly<Record<string, string>>;

/** A client that uses the table `usertable` with the statements of YCSB's binding. */
export interface YcsbClient {
  /** The STORE URL of the same database. */
  readonly url: string;
  /** Creates the table as the documentation of the binding describes. */
  create(fieldCount: number): Promise<void>;
  insert(key: string, fields: Fields): Promise<void>;
  /** All fields, or null if the key does not exist. */
  read(key: string): Promise<Fields | null>;
  drop(): Promise<void>;
  close(): Promise<void>;
}

/** The clients by store. Each entry starts the server and resolves to a client of an empty database. */
export const YCSB_CLIENTS: Readonly<Record<string, () => Promise<YcsbClient>>> = {
  sqlite: sqliteClient,
  postgres: postgresClient,
  mariadb: mariadbClient,
  cassandra: cassandraClient,
  mongodb: mongodbClient,
  hbase: hbaseClient,
};

// YCSB's JDBC binding has FIELD0 in the DDL of its documentation, and field0 in its statements.
const jdbcTable = (fieldCount: number): string => {
  const columns = Array.from({ length: fieldCount }, (_, index) => `, FIELD${index} TEXT`);
  return `CREATE TABLE usertable (YCSB_KEY VARCHAR(255) PRIMARY KEY${columns.join('')})`;
};
const jdbcInsert = (fields: Fields, mark: (index: number) => string): string => {
  const names = Object.keys(fields);
  return `INSERT INTO usertable (YCSB_KEY,${names.join(',')}) VALUES(${[0, ...names].map((_, n) => mark(n)).join(',')})`;
};
const jdbcRow = (row: Readonly<Record<string, unknown>> | undefined): Fields | null =>
  row === undefined
    ? null
    : Object.fromEntries(
        Object.entries(row)
          .map(([name, value]): [string, string] => [name.toLowerCase(), value as string])
          .filter(([name]) => name !== 'ycsb_key'),
      );

async function sqliteClient(): Promise<YcsbClient> {
  const folder = await mkdtemp(join(tmpdir(), 'tidegauge-layout-'));
  const file = join(folder, 'ycsb.db');
  const database = new DatabaseSync(file);
  return {
    url: `sqlite:${file}`,
    create: async (fieldCount) => database.exec(jdbcTable(fieldCount)),
    async insert(key, fields) {
      database.prepare(jdbcInsert(fields, () => '?')).run(key, ...Object.values(fields));
    },
    read: async (key) =>
      jdbcRow(database.prepare('SELECT * FROM usertable WHERE YCSB_KEY = ?').get(key) as Fields | undefined),
    drop: async () => database.exec('DROP TABLE usertable'),
    async close() {
      database.close();
      await rm(folder, { recursive: true });
    },
  };
}

async function postgresClient(): Promise<YcsbClient> {
  const server = await startPostgres();
  const url = server.url(await server.createDatabase());
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return {
    url,
    create: async (fieldCount) => void (await client.query(jdbcTable(fieldCount))),
    async insert(key, fields) {
      await client.query(
        jdbcInsert(fields, (index) => `$${index + 1}`),
        [key, ...Object.values(fields)],
      );
    },
    read: async (key) =>
      jdbcRow((await client.query('SELECT * FROM usertable WHERE YCSB_KEY = $1', [key])).rows[0]),
    drop: async () => void (await client.query('DROP TABLE usertable')),
    async close() {
      await client.end();
      await server.stop();
    },
  };
}

async function mariadbClient(): Promise<YcsbClient> {
  const server = await startMariadb();
  await server.query('create database ycsb');
  const connection = await mariadb.createConnection(server.url('ycsb'));
  return {
    url: server.url('ycsb'),
    create: async (fieldCount) => void (await connection.query(jdbcTable(fieldCount))),
    async insert(key, fields) {
      await connection.execute(
        jdbcInsert(fields, () => '?'),
        [key, ...Object.values(fields)],
      );
    },
    async read(key) {
      const rows = await connection.execute('SELECT * FROM usertable WHERE YCSB_KEY = ?', [key]);
      return jdbcRow((rows as Fields[])[0]);
    },
    drop: async () => void (await connection.query('DROP TABLE usertable')),
    async close() {
      await connection.end();
      await server.stop();
    },
  };
}

async function cassandraClient(): Promise<YcsbClient> {
  const server = await startCassandra();
  const client = new cassandra.Client({
    contactPoints: [`127.0.0.1:${server.port}`],
    localDataCenter: 'datacenter1',
    credentials: { username: server.user, password: server.password },
  });
  await client.execute(
    `create keyspace ycsb with replication = {'class': 'SimpleStrategy', 'replication_factor': 1}`,
  );
  await client.execute('use ycsb');
  return {
    url: server.url('ycsb'),
    async create(fieldCount) {
      const columns = Array.from({ length: fieldCount }, (_, index) => `, field${index} varchar`);
      await client.execute(`create table usertable (y_id varchar primary key${columns.join('')})`);
    },
    async insert(key, fields) {
      const names = Object.keys(fields);
      const statement = `INSERT INTO usertable (y_id,${names.join(',')}) VALUES (?${',?'.repeat(names.length)})`;
      await client.execute(statement, [key, ...Object.values(fields)], { prepare: true });
    },
    async read(key) {
      const { rows } = await client.execute('SELECT * FROM usertable WHERE y_id=?', [key], { prepare: true });
      const [row] = rows;
      if (row === undefined) return null;
      const columns = row.keys().filter((name) => name !== 'y_id');
      return Object.fromEntries(columns.map((name) => [name, row[name] as string]));
    },
    drop: async () => void (await client.execute('drop table usertable')),
    async close() {
      await client.shutdown();
      await server.stop();
    },
  };
}

async function mongodbClient(): Promise<YcsbClient> {
  const server = await startMongodb();
  const name = `ycsb_${process.pid}`;
  const client = new MongoClient(server.url(name));
  const collection = client.db(name).collection<Record<string, unknown> & { _id: string }>('usertable');
  return {
    url: server.url(name),
    // The first insert makes it.
    create: async () => {},
    async insert(key, fields) {
      const bytes = Object.entries(fields).map(([field, value]) => [field, new Binary(Buffer.from(value))]);
      await collection.insertOne({ _id: key, ...Object.fromEntries(bytes) });
    },
    async read(key) {
      const found = await collection.findOne({ _id: key });
      if (found === null) return null;
      const { _id, ...fields } = found;
      return Object.fromEntries(
        Object.entries(fields).map(([field, value]) => [
          field,
          Buffer.from((value as Binary).buffer).toString(),
        ]),
      );
    },
    drop: async () => void (await client.db(name).dropCollection('usertable')),
    async close() {
      await client.db(name).dropDatabase();
      await client.close();
      await server.stop();
    },
  };
}

async function hbaseClient(): Promise<YcsbClient> {
  const server = await startHbase();
  const client = new HBaseClient({ zookeeper: `127.0.0.1:${server.port}` });
  await client.admin.createNamespace('ycsb');
  const table = client.table('ycsb:usertable');
  return {
    url: server.url('ycsb'),
    create: () => client.admin.createTable('ycsb:usertable', { families: { family: {} } }),
    async insert(key, fields) {
      const cells = Object.entries(fields).map(([qualifier, value]) => ({
        family: 'family',
        qualifier,
        value,
      }));
      await table.put(key, cells);
    },
    async read(key) {
      const row = await table.get(key);
      if (row === null) return null;
      return Object.fromEntries(
        row.cells.map(({ qualifier, value }) => [qualifier.toString(), value.toString()]),
      );
    },
    async drop() {
      await client.admin.disableTable('ycsb:usertable');
      await client.admin.dropTable('ycsb:usertable');
    },
    async close() {
      await client.close();
      await server.stop();
    },
  };
}

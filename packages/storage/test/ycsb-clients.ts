import { DatabaseSync } from 'node:sqlite';
import { HBaseClient } from '@tidegauge/hbase-client';
import cassandra from 'cassandra-driver';
import mariadb from 'mariadb';
import { Binary, MongoClient } from 'mongodb';
import pg from 'pg';
import { parseUrl } from '../src/index.ts';

/** A change of a table in HBase, which has the regions of the whole suite. */
const DDL_MS = 60_000;

export type Fields = Readonly<Record<string, string>>;

/** A client that uses the table `usertable` with the statements of YCSB's binding. */
export interface YcsbClient {
  /** Creates the table as the documentation of the binding describes. */
  create(fieldCount: number): Promise<void>;
  insert(key: string, fields: Fields): Promise<void>;
  /** All fields, or null if the key does not exist. */
  read(key: string): Promise<Fields | null>;
  drop(): Promise<void>;
  close(): Promise<void>;
}

/** The clients by store. Each entry connects to the empty database of a STORE URL. */
export const YCSB_CLIENTS: Readonly<Record<string, (text: string) => Promise<YcsbClient>>> = {
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

async function sqliteClient(text: string): Promise<YcsbClient> {
  const database = new DatabaseSync(parseUrl(text).path);
  return {
    create: async (fieldCount) => database.exec(jdbcTable(fieldCount)),
    async insert(key, fields) {
      database.prepare(jdbcInsert(fields, () => '?')).run(key, ...Object.values(fields));
    },
    read: async (key) =>
      jdbcRow(database.prepare('SELECT * FROM usertable WHERE YCSB_KEY = ?').get(key) as Fields | undefined),
    drop: async () => database.exec('DROP TABLE usertable'),
    close: async () => database.close(),
  };
}

async function postgresClient(text: string): Promise<YcsbClient> {
  const client = new pg.Client({ connectionString: text });
  await client.connect();
  return {
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
    close: () => client.end(),
  };
}

async function mariadbClient(text: string): Promise<YcsbClient> {
  const connection = await mariadb.createConnection(text);
  return {
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
    close: () => connection.end(),
  };
}

async function cassandraClient(text: string): Promise<YcsbClient> {
  const { hosts, user, password, path } = parseUrl(text);
  const client = new cassandra.Client({
    contactPoints: hosts.map(({ host, port }) => `${host}:${port}`),
    localDataCenter: 'datacenter1',
    credentials: { username: user!, password: password! },
  });
  await client.execute(
    `create keyspace ${path} with replication = {'class': 'SimpleStrategy', 'replication_factor': 1}`,
  );
  await client.execute(`use ${path}`);
  return {
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
    close: () => client.shutdown(),
  };
}

async function mongodbClient(text: string): Promise<YcsbClient> {
  const client = new MongoClient(text);
  const collection = client.db().collection<Record<string, unknown> & { _id: string }>('usertable');
  return {
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
    drop: async () => void (await client.db().dropCollection('usertable')),
    close: async () => client.close(),
  };
}

async function hbaseClient(text: string): Promise<YcsbClient> {
  const { hosts, path: namespace } = parseUrl(text);
  const name = `${namespace}:usertable`;
  const client = new HBaseClient({ zookeeper: hosts.map(({ host, port }) => `${host}:${port}`) });
  await client.admin.createNamespace(namespace);
  const table = client.table(name);
  return {
    create: () => client.admin.createTable(name, { families: { family: {} }, timeoutMs: DDL_MS }),
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
      await client.admin.disableTable(name, { timeoutMs: DDL_MS });
      await client.admin.dropTable(name, { timeoutMs: DDL_MS });
    },
    close: async () => client.close(),
  };
}

import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { HBaseClient } from '@tidegauge/hbase-client';
import cassandra from 'cassandra-driver';
import mariadb from 'mariadb';
import { Binary, MongoClient } from 'mongodb';
import pg from 'pg';
import type { Outsider } from '../conformance/outsider.ts';
import { parseUrl, type StoreUrl } from '../src/index.ts';

const KINDS: Readonly<Record<string, (url: StoreUrl, text: string) => Promise<Outsider>>> = {
  sqlite: sqliteOutsider,
  json: jsonOutsider,
  postgres: postgresOutsider,
  citus: postgresOutsider,
  mariadb: mariadbOutsider,
  cassandra: cassandraOutsider,
  hbase: hbaseOutsider,
  mongodb: mongodbOutsider,
};

/** Another program in the database of a STORE URL. It uses only the engine's driver, and no code of Tidegauge. */
export function openOutsider(text: string): Promise<Outsider> {
  const url = parseUrl(text);
  return KINDS[url.scheme]!(url, text);
}

type Rows = readonly Readonly<Record<string, unknown>>[];

interface Sql {
  run(statement: string): Promise<unknown>;
  /** Null if the table does not exist. */
  rows(table: string): Promise<Rows | null>;
}

/** The common part of SQL engines. The layout is the one in the documentation of YCSB's JDBC binding. */
function sqlOutsider({ run, rows }: Sql): Pick<Outsider, 'makeOther' | 'makeYcsb' | 'content' | 'drop'> {
  return {
    async makeOther(table) {
      await run(`create table ${table} (id integer primary key, customer varchar(50))`);
      await run(`insert into ${table} values (1, 'a customer')`);
    },
    async makeYcsb(table) {
      await run(`CREATE TABLE ${table} (YCSB_KEY VARCHAR(255) PRIMARY KEY, FIELD0 TEXT, FIELD1 TEXT)`);
      await run(`INSERT INTO ${table} (YCSB_KEY, FIELD0) VALUES ('user1', 'external')`);
    },
    async content(table) {
      const found = await rows(table);
      return found === null ? null : JSON.stringify(found);
    },
    async drop(table) {
      await run(`drop table ${table}`);
    },
  };
}

async function sqliteOutsider({ path }: StoreUrl): Promise<Outsider> {
  const db = new DatabaseSync(path, { timeout: 5000 });
  const names = () =>
    db
      .prepare(`select name from sqlite_schema where type = 'table'`)
      .all()
      .map(({ name }) => String(name));
  return {
    ...sqlOutsider({
      run: async (statement) => db.exec(statement),
      rows: async (table) => (names().includes(table) ? db.prepare(`select * from ${table}`).all() : null),
    }),
    tables: async () => names(),
    close: async () => db.close(),
  };
}

/** Writes files of another program into the folder of the tables of records. */
async function jsonOutsider({ path }: StoreUrl): Promise<Outsider> {
  const folder = join(path, 'records');
  const generations = async (table: string): Promise<string[]> =>
    (await readdir(folder).catch(() => [])).filter((name) =>
      new RegExp(`^${table}(\\.\\d+)?\\.jsonl$`).test(name),
    );
  const make = async (table: string, line: object): Promise<void> => {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, `${table}.jsonl`), `${JSON.stringify(line)}\n`);
  };
  return {
    makeOther: (table) => make(table, { id: 1, customer: 'a customer' }),
    makeYcsb: (table) => make(table, { key: 'user1', document: { field0: 'external' } }),
    async content(table) {
      const [name] = await generations(table);
      return name === undefined ? null : readFile(join(folder, name), 'utf8');
    },
    async drop(table) {
      for (const name of await generations(table)) await rm(join(folder, name));
    },
    tables: async () => (await readdir(folder)).map((name) => name.replace(/(\.\d+)?\.jsonl$/, '')),
    close: async () => {},
  };
}

async function postgresOutsider({ hosts, user, password, path }: StoreUrl): Promise<Outsider> {
  const { host, port } = hosts[0]!;
  const client = new pg.Client({ host, port: port!, user: user!, password: password!, database: path });
  await client.connect();
  const tables = async (): Promise<string[]> =>
    (await client.query(`select tablename from pg_tables where schemaname = 'public'`)).rows.map(
      ({ tablename }) => tablename,
    );
  return {
    ...sqlOutsider({
      run: (statement) => client.query(statement),
      rows: async (table) =>
        (await tables()).includes(table) ? (await client.query(`select * from ${table}`)).rows : null,
    }),
    tables,
    close: () => client.end(),
  };
}

async function mariadbOutsider({ hosts, user, password, path }: StoreUrl): Promise<Outsider> {
  const { host, port } = hosts[0]!;
  const connection = await mariadb.createConnection({
    ...{ host, port: port!, user: user!, password: password!, database: path },
  });
  const tables = async (): Promise<string[]> =>
    (await connection.query<Rows>('show tables')).map((row) => String(Object.values(row)[0]));
  return {
    ...sqlOutsider({
      run: (statement) => connection.query(statement),
      rows: async (table) =>
        (await tables()).includes(table) ? connection.query<Rows>(`select * from ${table}`) : null,
    }),
    tables,
    close: () => connection.end(),
  };
}

async function cassandraOutsider({ hosts, user, password, path }: StoreUrl): Promise<Outsider> {
  const client = new cassandra.Client({
    contactPoints: hosts.map(({ host, port }) => `${host}:${port}`),
    localDataCenter: 'datacenter1',
    credentials: { username: user!, password: password! },
    keyspace: path,
    // A single replica may not have the latest writes yet.
    queryOptions: { consistency: cassandra.types.consistencies.quorum },
    socketOptions: { readTimeout: 60_000 },
  });
  await client.connect();
  const run = (statement: string) => client.execute(statement, [], { isIdempotent: true });
  const tables = async (): Promise<string[]> => {
    const sql = `select table_name from system_schema.tables where keyspace_name = '${path}'`;
    return (await run(sql)).rows.map((row) => row.table_name as string);
  };
  return {
    async makeOther(table) {
      await run(`create table ${table} (id int primary key, customer text)`);
      await run(`insert into ${table} (id, customer) values (1, 'a customer')`);
    },
    async makeYcsb(table) {
      await run(`create table ${table} (y_id varchar primary key, field0 varchar, field1 varchar)`);
      await run(`insert into ${table} (y_id, field0) values ('user1', 'external')`);
    },
    async content(table) {
      if (!(await tables()).includes(table)) return null;
      return JSON.stringify((await run(`select * from ${table}`)).rows);
    },
    async drop(table) {
      await run(`drop table ${table}`);
    },
    tables,
    close: () => client.shutdown(),
  };
}

async function hbaseOutsider({ hosts, path: namespace }: StoreUrl): Promise<Outsider> {
  const client = new HBaseClient({ zookeeper: hosts.map(({ host, port }) => `${host}:${port}`) });
  const tables = async (): Promise<string[]> =>
    (await client.admin.tables({ namespace })).map((name) => name.replace(/^.*:/, ''));
  const make = async (table: string, family: string, qualifier: string, value: string): Promise<void> => {
    await client.admin.createTable(`${namespace}:${table}`, {
      families: { [family]: {} },
      timeoutMs: 60_000,
    });
    await client.table(`${namespace}:${table}`).put('user1', [{ family, qualifier, value }]);
  };
  return {
    makeOther: (table) => make(table, 'cf', 'customer', 'a customer'),
    makeYcsb: (table) => make(table, 'family', 'field0', 'external'),
    async content(table) {
      if (!(await tables()).includes(table)) return null;
      const rows: string[] = [];
      for await (const row of client.table(`${namespace}:${table}`).scan()) {
        rows.push(...row.cells.map((cell) => `${cell.row} ${cell.family}:${cell.qualifier} ${cell.value}`));
      }
      return rows.join('\n');
    },
    async drop(table) {
      await client.admin.disableTable(`${namespace}:${table}`, { timeoutMs: 60_000 });
      await client.admin.dropTable(`${namespace}:${table}`, { timeoutMs: 60_000 });
    },
    tables,
    close: async () => client.close(),
  };
}

async function mongodbOutsider(_url: StoreUrl, text: string): Promise<Outsider> {
  const client = new MongoClient(text);
  const db = client.db();
  const tables = async (): Promise<string[]> =>
    (await db.listCollections().toArray()).map(({ name }) => name);
  return {
    async makeOther(table) {
      await db
        .collection<{ _id: number }>(table)
        .insertOne({ _id: 1, customer: 'a customer' } as { _id: number });
    },
    async makeYcsb(table) {
      const fields = { field0: new Binary(Buffer.from('external')) };
      await db.collection<{ _id: string }>(table).insertOne({ _id: 'user1', ...fields });
    },
    async content(table) {
      if (!(await tables()).includes(table)) return null;
      return JSON.stringify(await db.collection(table).find().toArray());
    },
    async drop(table) {
      await db.dropCollection(table);
    },
    tables,
    close: () => client.close(),
  };
}

import type { Connection } from 'mariadb';
import { newerSchema } from '../errors.ts';
import { ROLLUPS_STATE, sinceDocument } from '../rollups/limits.ts';
import type { MariadbConfig } from './config.ts';
import { type Database, isNumber, type Row } from './database.ts';

/** `nopad`: trailing blanks count. `bin`: text is compared and ordered by code point. */
const TEXT = 'character set utf8mb4 collate utf8mb4_nopad_bin';

/**
 * Statements that upgrade from each version to the next. Released statements never change; new ones are appended.
 * The server commits each statement separately, so each must be safe to run again.
 */
const STEPS: readonly (readonly string[])[] = [
  [
    `create table if not exists series (
      id int unsigned not null auto_increment primary key,
      device varchar(200) not null,
      metric varchar(64) not null,
      unique key (device, metric)
    ) engine = innodb ${TEXT}`,
    `create table if not exists boots (
      id int unsigned not null auto_increment primary key,
      boot varchar(200) not null unique
    ) engine = innodb ${TEXT}`,
    // Numbers are in value, texts in text. received is stored as its difference to time. quality: see mapping.ts.
    `create table if not exists readings (
      series int unsigned not null,
      time bigint not null,
      value double,
      text varchar(4096),
      received bigint not null,
      boot int unsigned,
      seq bigint,
      quality tinyint unsigned not null,
      primary key (series, time)
    ) engine = innodb ${TEXT}
    partition by range (time) (partition future values less than maxvalue)`,
    `create table if not exists devices (
      name varchar(200) not null primary key,
      site varchar(200),
      city varchar(200),
      kind varchar(200),
      year smallint unsigned,
      attributes text not null,
      key (year),
      key (city)
    ) engine = innodb ${TEXT}`,
  ],
  ['alter table series add column if not exists unit varchar(64)'],
  [
    `create table if not exists tidegauge_leases (
      name varchar(64) not null primary key,
      holder varchar(200) not null,
      expires datetime(6) not null
    ) engine = innodb ${TEXT}`,
  ],
  [
    `create table if not exists tidegauge_marks (
      device varchar(200) not null,
      metric varchar(64) not null,
      hour bigint not null,
      due bigint not null,
      erased tinyint not null,
      primary key (device, metric, hour),
      key (due)
    ) engine = innodb ${TEXT}`,
    // The row of an hour has 60 minutes of 80 bytes at most.
    `create table if not exists tidegauge_rollups (
      device varchar(200) not null,
      metric varchar(64) not null,
      period varchar(8) not null,
      start bigint not null,
      figures varbinary(8192) not null,
      primary key (device, metric, period, start),
      key (period, start)
    ) engine = innodb ${TEXT}`,
    `create table if not exists tidegauge_state (
      name varchar(64) not null primary key,
      value mediumtext not null
    ) engine = innodb ${TEXT}`,
  ],
];

export const SCHEMA_VERSION = STEPS.length;

const NO_SUCH_TABLE = 1146;
// Creating a table takes long on a slow disk, and another process can be doing it.
const MIGRATE_MS = 120_000;

/** Upgrades the schema. One process does it at a time. */
export async function migrate(db: Database, config: MariadbConfig): Promise<void> {
  // This check comes first, because most starts find the schema complete and need no right to change tables.
  if ((await db.run((connection) => version(connection, config))) === SCHEMA_VERSION) return;
  await db.exclusively(MIGRATE_MS, (connection) => upgrade(connection, config));
}

async function upgrade(connection: Connection, config: MariadbConfig): Promise<void> {
  const from = await version(connection, config);
  for (const [index, step] of STEPS.entries()) {
    if (index < from) continue;
    for (const statement of step) await connection.query(statement);
  }
  if (from === SCHEMA_VERSION) return;
  const some = await connection.query<Row[]>('select 1 from series limit 1');
  await connection.query('insert ignore into tidegauge_state (name, value) values (?, ?)', [
    ROLLUPS_STATE,
    sinceDocument(some.length === 0),
  ]);
  await connection.query(`
    create table if not exists tidegauge_schema (
      one tinyint not null primary key,
      version int not null
    ) engine = innodb`);
  await connection.query('replace into tidegauge_schema (one, version) values (1, ?)', [SCHEMA_VERSION]);
}

/** The version of the schema, or 0 for an empty database. */
async function version(connection: Connection, { host, port, database }: MariadbConfig): Promise<number> {
  const rows = await connection
    .query<Row[]>('select version from tidegauge_schema')
    .catch((error: unknown): Row[] => {
      if (isNumber(error, NO_SUCH_TABLE)) return [];
      throw error;
    });
  const found = Number(rows[0]?.version ?? 0);
  if (found <= SCHEMA_VERSION) return found;
  throw newerSchema(`mariadb ${host}:${port}/${database}`, found, SCHEMA_VERSION, 'database');
}

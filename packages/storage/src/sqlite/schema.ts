import type { DatabaseSync } from 'node:sqlite';
import { newerSchema } from '../errors.ts';
import { ROLLUPS_STATE, sinceDocument } from '../rollups/limits.ts';

/** `recent` has this many slots, assigned by series: see docs/adr/0003-sqlite-layout.md. */
export const SLOTS = 32;

// `value` has type any, which keeps the bits of a double and the type of a text. `received` is stored as its
// difference to `time`.
const COLUMNS = `
  value any not null,
  received integer not null,
  boot integer,
  seq integer,
  quality integer not null`;

/**
 * Statements that upgrade from each version to the next. Released statements never change; new ones are appended.
 */
const STEPS: readonly string[] = [
  `
  create table series (
    id integer primary key,
    device text not null,
    metric text not null,
    unique (device, metric)
  ) strict;
  create table boots (id integer primary key, boot text not null unique) strict;
  create table readings (
    series integer not null,
    time integer not null, ${COLUMNS},
    primary key (series, time)
  ) strict, without rowid;
  create table recent (
    slot integer not null,
    time integer not null,
    series integer not null, ${COLUMNS},
    primary key (slot, time, series)
  ) strict, without rowid;
  create table devices (
    name text not null primary key,
    site text,
    city text,
    kind text,
    year integer,
    attributes text not null
  ) strict, without rowid;
  create index devices_year on devices (year);
  create index devices_city on devices (city);
  `,
  'alter table series add column unit text',
  `
  create table tidegauge_marks (
    device text not null,
    metric text not null,
    hour integer not null,
    due integer not null,
    erased integer not null,
    primary key (device, metric, hour)
  ) strict, without rowid;
  create index tidegauge_marks_due on tidegauge_marks (due);
  create table tidegauge_rollups (
    device text not null,
    metric text not null,
    period text not null,
    start integer not null,
    figures blob not null,
    primary key (device, metric, period, start)
  ) strict;
  create index tidegauge_rollups_start on tidegauge_rollups (period, start);
  create table tidegauge_state (
    name text not null primary key,
    value text not null
  ) strict, without rowid;
  `,
  `
  create table tidegauge_leases (
    name text not null primary key,
    holder text not null,
    expires integer not null
  ) strict, without rowid;
  `,
  // Earlier versions do not read the slot of arrivals.
  '',
  // An id is never used again, so a cache can have decoded blocks by their ids.
  `
  create table tidegauge_blocks (
    id integer primary key autoincrement,
    series integer not null,
    first integer not null,
    last integer not null,
    count integer not null,
    data blob not null,
    unique (series, first)
  ) strict;
  `,
  // Before, the arrivals were in a further slot of `recent`.
  `
  create table arrivals (
    id integer primary key,
    series integer not null,
    time integer not null, ${COLUMNS}
  ) strict;
  insert into arrivals (series, time, value, received, boot, seq, quality)
    select series, time, value, received, boot, seq, quality from recent where slot = 32 order by time;
  delete from recent where slot = 32;
  `,
];

export const SCHEMA_VERSION = STEPS.length;

/** Upgrades the schema. Runs inside a write transaction, so one process does it at a time. */
export function migrate(db: DatabaseSync, path: string): void {
  const version = Number(db.prepare('pragma user_version').get()?.user_version);
  if (version > SCHEMA_VERSION) throw newerSchema(`sqlite ${path}`, version, SCHEMA_VERSION, 'file');
  if (version === SCHEMA_VERSION) return;
  for (const step of STEPS.slice(version)) db.exec(step);
  const isEmpty = db.prepare('select 1 from series limit 1').get() === undefined;
  db.prepare('insert or ignore into tidegauge_state (name, value) values (?, ?)').run(
    ROLLUPS_STATE,
    sinceDocument(isEmpty),
  );
  db.exec(`pragma user_version = ${SCHEMA_VERSION}`);
}

import { existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import type { DatabaseCopies } from '@tidegauge/lab/database-copies';

// Pages per step of a backup. Other connections can read and write between two steps.
const PAGES = 1000;
const BUSY_MS = 60_000;

/**
 * Copies of SQLite files by SQLite's backup interface, which locks the file. So other connections may stay open: to them
 * a restored file is one large transaction.
 *
 * @param fileOf the file of a database by its name
 */
export function sqliteCopies(folder: string, fileOf: (place: string) => string): DatabaseCopies {
  const copyOf = (name: string): string => join(folder, `${name}.copy`);
  const saved = new Set<string>();
  return {
    async save(name, place) {
      rmSync(copyOf(name), { force: true });
      await copyFile(fileOf(place), copyOf(name));
      saved.add(name);
    },
    async restore(name, place) {
      await copyFile(copyOf(name), fileOf(place));
      const [expected, found] = [rowsOf(copyOf(name)), rowsOf(fileOf(place))];
      if (found !== expected) {
        throw new Error(`the restored database ${place} has ${found}, its copy has ${expected}`);
      }
    },
    bytes: async () =>
      [...saved].reduce(
        (bytes, name) => bytes + (existsSync(copyOf(name)) ? statSync(copyOf(name)).blocks * 512 : 0),
        0,
      ),
  };
}

/** Moves the content of the write-ahead log into the file. Does nothing to a file that does not exist. */
export function checkpointSqlite(file: string): void {
  if (!existsSync(file)) return;
  const db = new DatabaseSync(file, { timeout: BUSY_MS });
  try {
    db.exec('pragma wal_checkpoint(truncate)');
  } finally {
    db.close();
  }
}

async function copyFile(from: string, to: string): Promise<void> {
  if (!existsSync(from)) throw new Error(`there is no database ${from} to copy`);
  const db = new DatabaseSync(from, { readOnly: true, timeout: BUSY_MS });
  try {
    await backup(db, to, { rate: PAGES });
  } finally {
    db.close();
  }
}

/** The tables of a file with their numbers of rows, as one text. */
function rowsOf(file: string): string {
  const db = new DatabaseSync(file, { readOnly: true, timeout: BUSY_MS });
  try {
    const tables = db.prepare(`select name from sqlite_schema where type = 'table' order by name`).all();
    return tables
      .map(({ name }) => `${name}|${db.prepare(`select count(*) as n from "${name}"`).get()!.n}`)
      .join(', ');
  } finally {
    db.close();
  }
}

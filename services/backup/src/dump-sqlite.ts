import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openStore, parseUrl } from '@tidegauge/storage';
import { describeFile, syncPath } from './backup-files.ts';
import { readStore, type Watching } from './contents.ts';
import type { Dump } from './dump.ts';

export const SQLITE_FILE = 'tidegauge.db';

/** The URL of a SQLite file. */
export function sqliteUrl(path: string): string {
  return `sqlite:${encodeURI(path).replaceAll('?', '%3F')}`;
}

/** Whether SQLite itself can copy the store. */
export function isSqliteFile(url: string): boolean {
  const { scheme, path } = parseUrl(url);
  return scheme === 'sqlite' && existsSync(path);
}

/**
 * Copies a SQLite file with everything in it, as it is at one moment, also while others write to it. SQLite's own backup
 * API would begin again at each commit of another process, `vacuum into` reads one snapshot.
 */
export async function dumpSqlite(url: string, folder: string, watching: Watching): Promise<Dump> {
  const path = join(folder, SQLITE_FILE);
  const db = new DatabaseSync(parseUrl(url).path, { readOnly: true, timeout: 10_000 });
  try {
    db.prepare('vacuum into ?').run(path);
  } finally {
    db.close();
  }
  const store = await openStore(sqliteUrl(path));
  try {
    const contents = await readStore(store, watching);
    await store.close();
    await syncPath(path);
    return { ...contents, files: [await describeFile(path)] };
  } finally {
    await store.close();
  }
}

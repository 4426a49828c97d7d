import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Pace } from '../contract.ts';
import type { Database } from './database.ts';

// https://sqlite.org/pragma.html#pragma_auto_vacuum
const INCREMENTAL = 2;
/** Largest file that is converted at the start, bytes: about a second of work on an SD card. */
const MAX_CONVERTED = 32 * 1024 * 1024;
/** The file shrinks when more than 1/8 of it is free, until 1/16 is. New readings use the rest. */
const SHRINK_FROM = 8;
const SHRINK_TO = 16;
/** Pages that one transaction moves: 1 MiB. */
const STEP_PAGES = 256;

/** The pages of a file. */
export interface Pages {
  readonly pages: number;
  /** Those without data. */
  readonly free: number;
  readonly pageBytes: number;
  /** Whether free pages can be removed from the file. */
  readonly shrinks: boolean;
}

/** Call it inside `run`. */
export function pagesOf(db: Database): Pages {
  const read = (pragma: string) =>
    Object.values(db.statement(`pragma ${pragma}`).get() as Record<string, number>)[0]!;
  return {
    pages: read('page_count'),
    free: read('freelist_count'),
    pageBytes: read('page_size'),
    shrinks: read('auto_vacuum') === INCREMENTAL,
  };
}

/**
 * Prepares a new file, or a small file of an earlier version, so that it can shrink. Only `vacuum` does it, which writes
 * the whole file again, so a large file stays as it is: see docs/sqlite.md.
 */
export async function shrinkable(db: Database): Promise<void> {
  await db.run(() => {
    const { pages, pageBytes, shrinks } = pagesOf(db);
    if (shrinks || pages * pageBytes > MAX_CONVERTED) return;
    // The copy of the file must not be in memory.
    db.connection.exec('pragma auto_vacuum = incremental; pragma temp_store = file');
    try {
      db.connection.exec('vacuum');
    } finally {
      db.connection.exec('pragma temp_store = memory');
    }
  });
}

/** Removes free pages from the file in parts, if there are many. */
export async function shrink(db: Database, pace?: Pace): Promise<void> {
  if (!(await isLoose(db))) return;
  while (await shrinkSome(db)) {
    await nextTurn();
    await pace?.(0);
  }
}

/** Whether so many pages are free that the file should shrink. */
export async function isLoose(db: Database): Promise<boolean> {
  const { pages, free, shrinks } = await db.run(() => pagesOf(db));
  return shrinks && free * SHRINK_FROM > pages;
}

/** Removes some free pages from the file. Resolves to whether to continue. */
export async function shrinkSome(db: Database): Promise<boolean> {
  const more = await db.run(() => {
    const before = pagesOf(db).free;
    db.statement(`pragma incremental_vacuum(${STEP_PAGES})`).all();
    const { pages, free } = pagesOf(db);
    // Another process can use free pages in the meantime.
    return free * SHRINK_TO > pages && free < before;
  });
  // The file becomes shorter when its log is copied into it.
  if (!more) await db.run(() => db.connection.exec('pragma wal_checkpoint(passive)'));
  return more;
}

import { closeSync, mkdirSync, openSync, truncateSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from './program/config-error.ts';
import { whyFailed } from './program/why-failed.ts';
import { hasSqliteResult, SQLITE_DAMAGED } from './sqlite-results.ts';

const POLL_MS = 100;

/** A directory that only this process may use. */
export interface DirectoryLock {
  release(): void;
}

/**
 * Locks a directory for this process, and creates the directory if necessary. The lock is a lock of the operating
 * system on a small SQLite file: it ends with the process, however the process ends.
 *
 * @param name distinguishes locks of one directory; the file is `<name>.lock`
 * @param waitMs how long to wait for the end of another process, milliseconds
 * @param setting the setting to change, for the error
 * @throws {ConfigError} with the process that has the lock
 */
export async function lockDirectory(
  directory: string,
  name: string,
  { waitMs, setting }: { readonly waitMs: number; readonly setting: string },
): Promise<DirectoryLock> {
  const path = join(directory, `${name}.lock`);
  let db = open(directory, path, setting);
  let isNew = false;
  for (const deadline = Date.now() + waitMs; ; await sleep(POLL_MS)) {
    try {
      db.exec('begin immediate');
      const owner = JSON.stringify({ pid: process.pid, host: hostname() });
      db.exec('create table if not exists owner (text text)');
      db.exec('delete from owner');
      db.prepare('insert into owner values (?)').run(owner);
      db.exec('commit; begin immediate');
      return { release: () => db.close() };
    } catch (error) {
      const { errcode, message } = error as Error & { readonly errcode?: number };
      if (errcode !== SQLITE_BUSY) {
        db.close();
        if (isNew || !hasSqliteResult(error, SQLITE_DAMAGED)) {
          const todo = `make it writable, or choose another directory with ${setting}`;
          throw new ConfigError([`${path} cannot be written: ${message}: ${todo}`]);
        }
        // It has nothing but the name of its owner. The same file stays, and with it the lock of another process.
        truncateSync(path);
        isNew = true;
        db = open(directory, path, setting);
        continue;
      }
    }
    if (Date.now() < deadline) continue;
    const owner = ownerOf(db);
    db.close();
    throw new ConfigError([
      `${resolve(directory)} is used by another Tidegauge${owner}: stop that one, or choose another directory with ${setting}`,
    ]);
  }
}

const SQLITE_BUSY = 5;

function open(directory: string, path: string, setting: string): DatabaseSync {
  let place = directory;
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    place = path;
    closeSync(openSync(path, 'a', 0o600));
    return new DatabaseSync(path, { timeout: 0 });
  } catch (error) {
    throw new ConfigError([
      `${place} cannot be used: ${whyFailed(error)}: choose another directory with ${setting}`,
    ]);
  }
}

/** ` (process 12 on host)`, or an empty text when the owner cannot be read. */
function ownerOf(db: DatabaseSync): string {
  try {
    const row = db.prepare('select text from owner').get() as { text: string } | undefined;
    const { pid, host } = JSON.parse(row?.text ?? '') as { pid: number; host: string };
    return ` (process ${pid} on ${host})`;
  } catch {
    return '';
  }
}

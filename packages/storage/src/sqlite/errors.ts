import { DAMAGED, DISK_FULL, StoreError, type StoreErrorCode } from '../errors.ts';

const FULL = 13;

/** SQLite's primary result codes of statements (https://sqlite.org/rescode.html). */
const RESULTS: Readonly<Record<number, readonly [StoreErrorCode, string]>> = {
  1: ['MISCONFIGURED', 'the file does not have the layout of this version: did another program change it?'],
  3: ['MISCONFIGURED', 'make the file and its folder writable for this user'],
  5: ['OVERLOADED', 'another process is writing to the file: wait, or raise the busy option'],
  6: ['OVERLOADED', 'another statement holds the table: wait'],
  7: ['UNAVAILABLE', 'SQLite is out of memory: lower the cache option or raise the memory limit'],
  8: [
    'MISCONFIGURED',
    'make the file and its folder writable for this user, and do not move it while in use',
  ],
  10: ['UNAVAILABLE', 'the disk reports errors: see the system log'],
  11: ['MISCONFIGURED', DAMAGED],
  [FULL]: ['UNAVAILABLE', DISK_FULL],
  14: ['MISCONFIGURED', 'use a path of a file in a folder that this user can write'],
  15: ['OVERLOADED', 'other processes are opening the file at the same time: wait'],
  17: ['UNAVAILABLE', 'another process changed the tables: write again'],
  18: ['REJECTED', 'a value is larger than SQLite accepts'],
  19: ['REJECTED', 'a value breaks a rule of its table'],
  20: ['REJECTED', 'a value is of the wrong type'],
  22: ['MISCONFIGURED', 'the file system does not support files of this size'],
  23: ['MISCONFIGURED', 'SQLite was configured not to allow this'],
  26: ['MISCONFIGURED', 'the file exists and is not a database: use another path'],
};

/** The primary result code, or null when the error is not SQLite's. */
export function resultCode(error: unknown): number | null {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : null;
  return typeof code === 'number' ? code & 0xff : null;
}

/** Whether another connection holds the lock. The call can succeed later. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code === 5 || code === 6 || code === 15;
}

/** SQLITE_IOERR_SHMSIZE: the index of the log cannot grow, because the disk is full. */
const NO_SPACE = 4874;

/** Maps the error of a failed statement. Errors that do not come from SQLite stay as they are. */
export function toStoreError(error: unknown, path: string): unknown {
  const code = resultCode(error);
  if (code === null) return error;
  const isFull = (error as { readonly errcode?: number }).errcode === NO_SPACE;
  const [kind, hint] = RESULTS[isFull ? FULL : code] ?? ['UNEXPECTED', 'see https://sqlite.org/rescode.html'];
  return new StoreError(kind, `sqlite ${path}: ${(error as Error).message}`, { hint, cause: error });
}

import { readFileSync, statSync } from 'node:fs';
import { changeFile } from '../change-file.ts';
import type { Logger } from '../logger.ts';
import { ConfigError } from '../program/config-error.ts';
import { whyFailed } from '../program/why-failed.ts';
import { fileVersion, poll } from '../watch-file.ts';
import { type ApiKey, isName, type KeyFields, newKey, readKey, stateOf } from './api-key.ts';

export const MAX_KEYS = 1000;
const MAX_BYTES = 1024 * 1024;
const POLL_MS = 1000;
/** Shortest time between two looks at the file that unknown keys cause. */
const LOOK_MS = 50;
const WRITERS = 0o022;
const READERS = 0o044;

/** A key with its digest as bytes. */
export interface LoadedKey {
  readonly key: ApiKey;
  readonly sha256: Buffer;
}

interface Contents {
  readonly keys: readonly ApiKey[];
  /** Changes whenever the file does. */
  readonly version: string;
  readonly mode: number;
}

/**
 * The keys of a file, read again within a second after the file changes. A file that cannot be used keeps the keys of
 * its last good version, and a file that was removed has no keys.
 */
export class KeyFile {
  readonly path: string;
  readonly #logger: Logger;
  #keys: ReadonlyMap<string, LoadedKey> = new Map();
  #version = '';
  #complaint = '';
  #existed = false;
  readonly #endPoll: () => void;
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** @throws {ConfigError} when the file exists and cannot be used */
  constructor(path: string, logger: Logger, pollMs = POLL_MS) {
    this.path = path;
    this.#logger = logger;
    this.#load();
    this.#endPoll = poll(() => this.refresh(), pollMs);
  }

  /** Whether the file exists, or has existed since the start: from then on, changes need a login. */
  get existed(): boolean {
    return this.#existed;
  }

  /** The key with this id. For an unknown one the file is looked at, so that a new key works at once. */
  find(id: string): LoadedKey | undefined {
    const found = this.#keys.get(id);
    if (found !== undefined || performance.now() - this.#lookedAt < LOOK_MS) return found;
    this.refresh();
    return this.#keys.get(id);
  }

  close(): void {
    this.#endPoll();
  }

  /** Uses the keys of a file that has changed. */
  refresh(): void {
    this.#lookedAt = performance.now();
    try {
      if (fileVersion(this.path) === this.#version) return;
      const before = this.#keys.size;
      this.#load();
      this.#logger.info({ file: this.path, before, keys: this.#keys.size }, 'API keys read again');
    } catch (error) {
      const { message } = error as Error;
      if (message !== this.#complaint) this.#logger.error({ reason: message }, 'the API keys cannot be used');
      this.#complaint = message;
    }
  }

  #load(): void {
    const contents = readKeys(this.path);
    this.#version = contents?.version ?? '';
    this.#complaint = '';
    this.#keys = new Map(
      (contents?.keys ?? []).map((key) => [key.id, { key, sha256: Buffer.from(key.sha256, 'hex') }]),
    );
    if (contents === null) return;
    this.#existed = true;
    if ((contents.mode & READERS) !== 0) {
      const fix = `chmod 600 ${this.path}`;
      this.#logger.warn(
        { file: this.path, fix },
        'other users of this machine can read the list of API keys',
      );
    }
  }
}

/**
 * Reads a file of keys; null when it does not exist.
 *
 * @throws {ConfigError} when it cannot be read, is too large, has a mistake, or can be changed by other users
 */
export function readKeys(path: string): Contents | null {
  // Before the content, so that a change in between is read again.
  const version = fileVersion(path);
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return null;
  const problem = (what: string) => new ConfigError([`the file of API keys ${path} ${what}`]);
  if (!stat.isFile()) throw problem('is not a file');
  if ((stat.mode & WRITERS) !== 0) {
    throw problem(`can be changed by other users of this machine: chmod 600 ${path}`);
  }
  if (stat.size > MAX_BYTES) throw problem(`has ${stat.size} bytes: at most ${MAX_BYTES} are read`);
  let document: unknown;
  try {
    document = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw problem(`cannot be read: ${whyFailed(error)}`);
  }
  const list = (document as { readonly keys?: unknown } | null)?.keys;
  if (!Array.isArray(list)) throw problem('has no list "keys": make it with tidegauge keys create');
  if (list.length > MAX_KEYS) throw problem(`has ${list.length} keys: at most ${MAX_KEYS} are read`);
  const keys = list.map((each, index) => {
    try {
      return readKey(each);
    } catch (error) {
      throw problem(`has a mistake in key ${index + 1}: ${(error as Error).message}`);
    }
  });
  if (new Set(keys.map(({ id }) => id)).size < keys.length) throw problem('has two keys with the same id');
  return { keys, version, mode: stat.mode };
}

/**
 * Changes a file of keys, see `changeFile`.
 *
 * @param change receives the keys, and returns those to write
 * @throws {ConfigError} when the file cannot be used, or another command changes it
 */
export function changeKeys(path: string, change: (keys: readonly ApiKey[]) => readonly ApiKey[]): void {
  changeFile(path, () => `${JSON.stringify({ keys: change(readKeys(path)?.keys ?? []) }, null, 2)}\n`);
}

/**
 * The keys with a further one. At `MAX_KEYS`, keys that expired or were revoked are removed, the oldest first.
 *
 * @param now milliseconds since the epoch
 * @throws {ConfigError} when all keys are valid and there is no room
 */
export function withKey(keys: readonly ApiKey[], key: ApiKey, now: number): readonly ApiKey[] {
  if (keys.length < MAX_KEYS) return [...keys, key];
  const ended = keys.findIndex((each) => stateOf(each, now) !== 'valid');
  if (ended === -1) throw new ConfigError([`there are ${MAX_KEYS} valid keys: revoke one first`]);
  return [...keys.toSpliced(ended, 1), key];
}

/**
 * Makes a key and adds it to a file, which is created if it does not exist.
 *
 * @param now milliseconds since the epoch
 * @returns the text of the key, which is not stored, and its record
 * @throws {ConfigError} when the fields cannot be used, the file cannot be changed, or there is no room
 */
export function addKey(
  path: string,
  fields: KeyFields,
  now: number,
): { readonly text: string; readonly key: ApiKey } {
  if (!isName(fields.name))
    throw new ConfigError(['the name of a key has 1 to 100 characters, and no control characters']);
  if (fields.devices !== null && fields.scopes.includes('admin')) {
    const why = 'a key that is limited to a device cannot have the scope admin, which concerns all devices';
    throw new ConfigError([`${why}: use read or write`]);
  }
  const made = newKey(fields, now);
  changeKeys(path, (keys) => withKey(keys, made.key, now));
  return made;
}

/**
 * Revokes a key. The time of one that was revoked before stays.
 *
 * @param select returns the key of all keys of the file. What it throws is passed on
 * @param now milliseconds since the epoch
 * @throws {ConfigError} when the file cannot be changed
 */
export function revokeKey(path: string, select: (keys: readonly ApiKey[]) => ApiKey, now: number): void {
  changeKeys(path, (keys) => {
    const found = select(keys);
    const revoked = found.revoked ?? new Date(now).toISOString();
    return keys.map((key) => (key === found ? { ...key, revoked } : key));
  });
}

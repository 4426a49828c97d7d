import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openExisting, Progress } from '@tidegauge/copy';
import { ConfigError, lockDirectory } from '@tidegauge/service';
import { StoreError } from '@tidegauge/storage';
import { maskUrl } from '@tidegauge/text';
import { isOutOfSpace } from './backup-files.ts';
import { deleteOutdated, listBackups, removeLeftovers, writeBackup } from './backup-folder.ts';
import type { Watching } from './contents.ts';
import { type Dump, dumpStore } from './dump.ts';
import { dumpSqlite, isSqliteFile } from './dump-sqlite.ts';
import type { KeepRule } from './keep.ts';
import { type BackupMethod, type Manifest, newManifest, readManifest } from './manifest.ts';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
};

export interface BackupOptions {
  readonly store: string;
  /** The directory of the backups. */
  readonly to: string;
  readonly format: 'auto' | 'portable';
  /** Null: keeps all backups. */
  readonly keep: KeepRule | null;
}

export interface BackupResult {
  readonly path: string;
  readonly manifest: Manifest;
  readonly seconds: number;
  /** Names of backups that the rule deleted. */
  readonly deleted: readonly string[];
}

/** Makes a backup, then deletes those that the rule does not keep. One process at a time works in a directory. */
export async function backUp(options: BackupOptions, signal: AbortSignal): Promise<BackupResult> {
  const { store, to, format, keep } = options;
  const started = Date.now();
  await mkdir(to, { recursive: true, mode: 0o700 });
  const lock = await lockDirectory(to, 'backup', { waitMs: 0, setting: '--to' });
  const progress = new Progress(process.stderr, 'backup');
  try {
    await removeLeftovers(to);
    const known = await lastIdentity(to);
    const method: BackupMethod = format === 'auto' && isSqliteFile(store) ? 'sqlite' : 'portable';
    let manifest: Manifest | null = null;
    const path = await writeBackup(to, started, async (folder) => {
      const dump = await dumpBy(method, store, folder, { signal, progress });
      if (known !== null && dump.identity === null) throw newStore(store, to);
      manifest = newManifest({
        method,
        tidegauge: version,
        store: maskUrl(store),
        started: new Date(started).toISOString(),
        finished: new Date().toISOString(),
        ...dump,
      });
      return manifest;
    });
    const deleted = keep === null ? [] : await deleteOutdated(to, keep);
    return { path, manifest: manifest!, seconds: progress.seconds, deleted };
  } catch (error) {
    if (!isOutOfSpace(error)) throw error;
    const message = `${to}: the disk is full: this backup is removed, earlier ones are complete: free some space`;
    throw new StoreError('UNAVAILABLE', message, { cause: error });
  } finally {
    progress.stop();
    lock.release();
  }
}

/** The identity of the data in the newest backup, or null. */
async function lastIdentity(directory: string): Promise<string | null> {
  const newest = (await listBackups(directory)).at(-1);
  if (newest === undefined) return null;
  const manifest = await readManifest(join(directory, newest.name)).catch(() => null);
  return manifest?.identity ?? null;
}

/** A backup of an empty store in place of a dead one would be the newest, and others would be deleted for it. */
function newStore(store: string, to: string): ConfigError {
  return new ConfigError([
    `${maskUrl(store)} is a new store, not the one of the backups in ${to}: restore one of them to it, or use another directory`,
  ]);
}

async function dumpBy(method: BackupMethod, url: string, folder: string, watching: Watching): Promise<Dump> {
  if (method === 'sqlite') return dumpSqlite(url, folder, watching);
  const store = await openExisting(url);
  try {
    return await dumpStore(store, folder, watching);
  } finally {
    await store.close();
  }
}

/** When the newest complete backup began, milliseconds, or null. */
export async function lastBackup(directory: string): Promise<number | null> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  return (await listBackups(directory)).at(-1)?.time ?? null;
}

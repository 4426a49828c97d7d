import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { openStore, parseUrl } from '@tidegauge/storage';
import { describeFile, syncPath } from './backup-files.ts';
import { readStore, type Watching } from './contents.ts';
import type { Dump } from './dump.ts';
import { SQLITE_FILE } from './manifest.ts';

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
  await vacuumInto(parseUrl(url).path, path, watching.signal);
  const store = await openStore(sqliteUrl(path));
  try {
    const contents = await readStore(store, watching);
    const identity = await store.identity();
    await store.close();
    await syncPath(path);
    return { ...contents, identity, files: [await describeFile(path)] };
  } finally {
    await store.close();
  }
}

function vacuumInto(from: string, to: string, signal: AbortSignal): Promise<void> {
  const worker = new Worker(new URL('./vacuum-worker.ts', import.meta.url), { workerData: { from, to } });
  const stop = () => void worker.terminate();
  signal.addEventListener('abort', stop);
  return new Promise<void>((resolve, reject) => {
    worker.once('error', reject);
    worker.once('exit', () => (signal.aborted ? reject(signal.reason) : resolve()));
  }).finally(() => signal.removeEventListener('abort', stop));
}

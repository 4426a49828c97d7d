import { randomUUID } from 'node:crypto';
import { link, open, readdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';

// A log's file has generations: `name.jsonl`, then `name.2.jsonl` and so on. A new generation is published
// complete by a hard link. That fails if another process was first, so no process replaces the file of another.

export interface Generation {
  readonly number: number;
  readonly inode: number;
}

export function generationPath(folder: string, name: string, generation: number): string {
  return join(folder, generation === 1 ? `${name}.jsonl` : `${name}.${generation}.jsonl`);
}

const GENERATION = /^(.+?)(?:\.(\d{1,9}))?\.jsonl$/;

/** The logs in a folder by name. */
export async function listLogs(folder: string): Promise<ReadonlyMap<string, number>> {
  const newest = new Map<string, number>();
  for (const file of await readdir(folder)) {
    const match = GENERATION.exec(file);
    if (match === null) continue;
    const generation = Number(match[2] ?? 1);
    if (generation > (newest.get(match[1]!) ?? 0)) newest.set(match[1]!, generation);
  }
  return newest;
}

export async function newestGeneration(folder: string, name: string): Promise<Generation | null> {
  for (;;) {
    const number = (await listLogs(folder)).get(name);
    if (number === undefined) return null;
    try {
      return { number, inode: (await stat(generationPath(folder, name, number))).ino };
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
}

/**
 * Identifies the state of the first generation of a log: the same value means the same lines. Null if the file
 * does not exist.
 */
export async function fingerprintOf(folder: string, name: string): Promise<string | null> {
  const found = await stat(generationPath(folder, name, 1)).catch((error) => {
    if (isMissing(error)) return null;
    throw error;
  });
  return found === null ? null : `${found.ino}:${found.size}`;
}

/** Makes the entries of a folder durable. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Writes a complete, durable file, which appears in one step. Returns false if it exists already. Text comes in
 * pieces, so memory does not grow with the file.
 */
export async function publish(folder: string, path: string, pieces: AsyncIterable<string>): Promise<boolean> {
  const temporary = join(folder, `${randomUUID()}${TEMPORARY}`);
  const handle = await open(temporary, 'wx');
  try {
    for await (const piece of pieces) await handle.appendFile(piece);
    await handle.sync();
    await link(temporary, path);
    await syncFolder(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await handle.close();
    await removeFile(temporary);
  }
}

const TEMPORARY = '.tmp';
const ABANDONED_AFTER_MS = 3_600_000;

/** Removes files that a process left when it was killed while publishing. */
export async function removeAbandoned(folder: string): Promise<void> {
  for (const file of await readdir(folder)) {
    if (!file.endsWith(TEMPORARY)) continue;
    const path = join(folder, file);
    const found = await stat(path).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > ABANDONED_AFTER_MS) await removeFile(path);
  }
}

export async function removeFile(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

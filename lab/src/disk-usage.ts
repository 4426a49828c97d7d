import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

const BLOCK = 512;

/**
 * Bytes that the files below a folder take on the disk (allocated blocks, as `du` counts them). Files that disappear
 * meanwhile are not counted. A file with several hard links is counted once.
 *
 * @param seen such files that were counted before, which are not counted again; those counted now are added
 */
export async function diskUsage(folder: string, seen = new Set<string>()): Promise<number> {
  const entries = await unlessGone(readdir(folder));
  let bytes = 0;
  for (const name of entries ?? []) {
    const path = join(folder, name);
    const stat = await unlessGone(lstat(path));
    if (stat === null) continue;
    if (stat.nlink > 1 && !stat.isDirectory()) {
      const id = `${stat.dev}:${stat.ino}`;
      if (seen.has(id)) continue;
      seen.add(id);
    }
    bytes += stat.blocks * BLOCK;
    if (stat.isDirectory()) bytes += await diskUsage(path, seen);
  }
  return bytes;
}

async function unlessGone<T>(promise: Promise<T>): Promise<T | null> {
  try {
    return await promise;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

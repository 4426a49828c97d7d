import { existsSync, realpathSync } from 'node:fs';
import { open, rm, statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Disk, findMedium, findMount } from './disk.ts';
import type { HostFiles } from './host-files.ts';

const BLOCK = 4096;
const MOST_WRITES = 1000;
const LEAST_WRITES = 3;

/**
 * Measures the disk of `directory`, for `seconds` or a little more. It leaves no file behind.
 *
 * @param root the board's root directory, as for `hostFiles`
 */
export async function measureDisk(
  files: HostFiles,
  root: string,
  directory: string,
  seconds: number,
): Promise<Disk> {
  let there = resolve(directory);
  while (!existsSync(join(root, there))) there = dirname(there);
  const measured = join(root, there);
  const mount = findMount(files, realpathSync(measured));
  return {
    directory: resolve(directory),
    measured: there,
    mount,
    medium: mount === null ? null : findMedium(files, mount),
    free: await freeSpace(measured),
    fsync: await measureFsync(measured, seconds).catch((error: Error) => ({ why: error.message })),
  };
}

async function freeSpace(directory: string): Promise<Disk['free']> {
  try {
    const { bavail, blocks, bsize, files, ffree } = await statfs(directory);
    return { bytes: bavail * bsize, total: blocks * bsize, inodes: files === 0 ? null : ffree };
  } catch {
    return null;
  }
}

/**
 * Appends blocks of 4 KiB, each followed by fdatasync, like the log of a database. It does at least three writes,
 * also when the device stalls for longer than `seconds`.
 */
export async function measureFsync(
  directory: string,
  seconds: number,
): Promise<{ p50: number; p99: number; writes: number }> {
  const path = join(directory, `.tidegauge-doctor-${process.pid}`);
  const file = await open(path, 'wx', 0o600);
  const times: number[] = [];
  try {
    const block = Buffer.alloc(BLOCK, 0x74);
    for (const end = performance.now() + seconds * 1000; times.length < MOST_WRITES; ) {
      const from = performance.now();
      if (from > end && times.length >= LEAST_WRITES) break;
      await file.write(block);
      await file.datasync();
      times.push((performance.now() - from) / 1000);
    }
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
  times.sort((a, b) => a - b);
  const quantile = (share: number): number => times[Math.ceil(share * times.length) - 1]!;
  return { p50: quantile(0.5), p99: quantile(0.99), writes: times.length };
}

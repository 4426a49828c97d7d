import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from '@tidegauge/process';
import { requireRoot } from './root.ts';

/** A small file system in memory. */
export interface SmallDisk {
  readonly path: string;
  /** Changes the size of the file system. */
  resize(bytes: number): Promise<void>;
  remove(): Promise<void>;
}

/** Mounts a file system of the given size. Needs root. */
export async function mountSmallDisk(bytes: number): Promise<SmallDisk> {
  requireRoot('a disk that can be full');
  const path = await mkdtemp(join(tmpdir(), 'tidegauge-disk-'));
  try {
    await runProgram('mount', ['-t', 'tmpfs', '-o', `size=${bytes},mode=0700`, 'tidegauge', path]);
  } catch (error) {
    await rmdir(path);
    throw error;
  }
  return {
    path,
    async resize(size) {
      await runProgram('mount', ['-o', `remount,size=${size}`, path]);
    },
    async remove() {
      // A lazy unmount, because a process under test may still have open files.
      await runProgram('umount', ['-l', path]);
      await rmdir(path);
    },
  };
}

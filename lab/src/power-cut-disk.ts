import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { atExit, runProgram, runProgramSync, temporaryDirectory } from '@tidegauge/process';
import { findProgram } from './debian.ts';
import { requireRoot } from './root.ts';

/** What a disk holds after a power cut, mounted. Its power can be cut again. */
export interface CutDisk {
  readonly path: string;
  cut(): Promise<CutDisk>;
  remove(): Promise<void>;
}

/** A disk whose power can be cut any number of times, while its owner goes on writing. */
export interface PowerCutDisk {
  /** An empty folder on ext4. */
  readonly path: string;
  /**
   * Cuts the power of a copy of the disk. The copy is made at one instant, and has what was written to the device by
   * then. Data that only the page cache of the file system has is lost. The copy's file system replays its journal.
   */
  cut(): Promise<CutDisk>;
  remove(): Promise<void>;
}

/**
 * Makes a disk for simulated power cuts: ext4 in an image on btrfs, whose reflink copies are atomic. Needs root, two
 * loop devices, and the file system btrfs in the kernel.
 *
 * @param megabytes size of the disk. The images are sparse
 * @param copies how many cut disks there may be at once
 */
export async function mountPowerCutDisk(megabytes: number, copies = 4): Promise<PowerCutDisk> {
  requireRoot('a disk whose power can be cut');
  const mkfsBtrfs = await findProgram('mkfs.btrfs', 'btrfs-progs');
  const mkfsExt4 = await findProgram('mkfs.ext4', 'e2fsprogs');
  const directory = temporaryDirectory('power-cut');
  const mounted: string[] = [];
  // Before the directory is removed, also when a signal ends this process. Lazily: a server may have open files.
  const release = atExit(() => {
    for (const path of mounted.toReversed()) runProgramSync('umount', ['-l', path], { accept: 'any' });
  });
  const place = (name: string): string => join(directory.path, name);
  const mountImage = async (image: string, path: string): Promise<void> => {
    await mkdir(path);
    await runProgram('mount', ['-o', 'loop', image, path]);
    mounted.push(path);
  };
  const unmount = async (path: string): Promise<void> => {
    await runProgram('umount', [path]);
    mounted.splice(mounted.indexOf(path), 1);
  };
  try {
    // PostgreSQL has its own account.
    await chmod(directory.path, 0o711);
    // btrfs needs 109 MiB for itself.
    await runProgram('truncate', ['--size', `${megabytes * (copies + 1) + 512}M`, place('images.img')]);
    await runProgram(mkfsBtrfs, ['--quiet', place('images.img')]);
    await mountImage(place('images.img'), place('images'));
    const image = join(place('images'), 'disk');
    await runProgram('truncate', ['--size', `${megabytes}M`, image]);
    await runProgram(mkfsExt4, ['-q', '-m', '0', image]);
    await mountImage(image, place('disk'));
  } catch (error) {
    release();
    directory.remove();
    throw error;
  }
  let cuts = 0;
  const cut = async (disk: string): Promise<CutDisk> => {
    const name = `cut-${++cuts}`;
    const copy = join(place('images'), name);
    await runProgram('cp', ['--reflink=always', disk, copy]);
    await mountImage(copy, place(name));
    return {
      path: place(name),
      cut: () => cut(copy),
      async remove() {
        await unmount(place(name));
        await runProgram('rm', [copy]);
      },
    };
  };
  return {
    path: place('disk'),
    cut: () => cut(join(place('images'), 'disk')),
    async remove() {
      release();
      directory.remove();
    },
  };
}

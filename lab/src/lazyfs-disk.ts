import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { atExit, runProgramSync, startProcess, temporaryDirectory, waitUntil } from '@tidegauge/process';
import { requireRoot } from './root.ts';

const MOUNT_MS = 10_000;

/** A write of which only one of three parts is stored. The power is cut with it. */
export interface TornWrite {
  /** A file, relative to the disk. */
  readonly file: string;
  /** Which write to this file, from 1 on. */
  readonly number: number;
  readonly part: 1 | 2 | 3;
}

/** A disk that keeps what was not synced in memory. Its power can be cut once. */
export interface LazyFsDisk {
  readonly path: string;
  /** Whether the power is cut already: by the torn write. */
  readonly isCut: boolean;
  /** Cuts the power: what was not synced is gone. Resolves to the folder with what the disk holds. */
  cut(): Promise<string>;
  remove(): void;
}

/**
 * Mounts a disk with LazyFS (https://github.com/dsrhaslab/lazyfs; Ramos et al., VLDB 2024), which is built manually. Needs
 * root and /dev/fuse.
 *
 * @param program the built program
 */
export async function mountLazyFs(program: string, torn?: TornWrite): Promise<LazyFsDisk> {
  requireRoot('a disk that drops what was not synced');
  const directory = temporaryDirectory('lazyfs');
  const place = (name: string): string => join(directory.path, name);
  for (const folder of ['held', 'disk']) await mkdir(place(folder));
  const fault =
    torn === undefined
      ? []
      : [
          '[[injection]]',
          'type="torn-op"',
          `file=${JSON.stringify(join(place('held'), torn.file))}`,
          `occurrence=${torn.number}`,
          'parts=3',
          `persist=[${torn.part}]`,
        ];
  const config = [
    '[faults]',
    `fifo_path=${JSON.stringify(place('faults'))}`,
    '[cache]',
    'apply_eviction=false',
    '[cache.simple]',
    'custom_size="256mb"',
    'blocks_per_page=1',
    '[filesystem]',
    'log_all_operations=false',
    'logfile=""',
    ...fault,
  ];
  await writeFile(place('config.toml'), `${config.join('\n')}\n`);
  let output = '';
  // LazyFS takes a path with `-o` in it for an option, so the path is relative.
  const args = [place('disk'), '--config-path', 'config.toml', '-f'];
  const options = ['-o', 'allow_other', '-o', 'modules=subdir', '-o', `subdir=${place('held')}`];
  const lazyfs = startProcess({
    command: program,
    args: [...args, ...options],
    cwd: directory.path,
    onOutput: (text) => {
      output += text;
    },
  });
  let isCut = false;
  void lazyfs.exited.then(() => (isCut = true));
  // Before the directory is removed, also when a signal ends this process.
  const release = atExit(() => {
    runProgramSync('umount', ['-l', place('disk')], { accept: 'any' });
  });
  const remove = (): void => {
    release();
    directory.remove();
  };
  try {
    const isMounted = () =>
      isCut || runProgramSync('mountpoint', ['-q', place('disk')], { accept: 'any' }).code === 0;
    await waitUntil('LazyFS is mounted', isMounted, { timeoutMs: MOUNT_MS });
    if (isCut) throw new Error(`${program} ended: ${output}`);
  } catch (error) {
    await lazyfs.kill();
    remove();
    throw error;
  }
  return {
    path: place('disk'),
    get isCut() {
      return isCut;
    },
    async cut() {
      await lazyfs.kill();
      return place('held');
    },
    remove,
  };
}

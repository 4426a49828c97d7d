import { mkdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type CutDisk, mountPowerCutDisk } from '@tidegauge/lab/power-cut-disk';
import { mountSmallDisk, type SmallDisk } from '@tidegauge/lab/small-disk';
import type { Closers } from '@tidegauge/loadtests/targets/closers';
import { runProgram, temporaryDirectory } from '@tidegauge/process';

/**
 * What a fault can do to disks: nothing; make one full, that of ingest's data or that of an embedded store; or cut the
 * power of one disk for both, which can be full too.
 */
export type DiskKind = 'plain' | 'small' | 'power-cut';

/** A disk that can be full. */
export interface FullDisk {
  /** Leaves almost no room on it. */
  fill(): Promise<void>;
  free(): Promise<void>;
}

export interface Disks {
  /** The folder of spools, quarantines and ledgers. It changes with a power cut. */
  readonly data: string;
  /** The folder of an embedded store. */
  readonly store: string;
  /** Their disks; null when they cannot be full. */
  readonly full: { readonly data: FullDisk; readonly store: FullDisk } | null;
  /**
   * Continues on what the disk had at this moment.
   *
   * @param end ends the processes that use the disk
   */
  cut(end: () => Promise<unknown>): Promise<void>;
}

/** Bytes that a full disk has left. */
const SLACK_BYTES = 256 * 1024;
const SMALL_DISK_BYTES = 4 * 2 ** 30;
const CUT_DISK_MEGABYTES = 2048;
const FILL_ATTEMPTS = 20;
const FILLER = 'filler';

export async function mountDisks(kind: DiskKind, closers: Closers): Promise<Disks> {
  if (kind === 'small') return smallDisks(closers);
  if (kind === 'power-cut') return powerCutDisks(closers);
  const directory = temporaryDirectory('faults');
  closers.add(async () => directory.remove());
  return { ...foldersOn(directory.path), full: null, cut: notPlanned };
}

async function smallDisks(closers: Closers): Promise<Disks> {
  const mount = async (): Promise<SmallDisk> => {
    const disk = await mountSmallDisk(SMALL_DISK_BYTES);
    closers.add(() => disk.remove());
    return disk;
  };
  const [data, store] = [await mount(), await mount()];
  const full = { data: shrinking(data), store: shrinking(store) };
  return { data: data.path, store: store.path, full, cut: notPlanned };
}

/** Fills a disk in memory by making it smaller. */
function shrinking(disk: SmallDisk): FullDisk {
  return {
    fill: () =>
      repeated(async () => {
        const { blocks, bfree, bsize } = statfsSync(disk.path);
        await disk.resize((blocks - bfree) * bsize + SLACK_BYTES);
      }),
    free: () => disk.resize(SMALL_DISK_BYTES),
  };
}

async function powerCutDisks(closers: Closers): Promise<Disks> {
  const disk = await mountPowerCutDisk(CUT_DISK_MEGABYTES);
  closers.add(() => disk.remove());
  let current: Pick<CutDisk, 'path' | 'cut'> = disk;
  let folders = foldersOn(disk.path);
  /** Copies in use: the current one, and the one before, which a reader can still have open. */
  const copies: CutDisk[] = [];
  // A file takes the space, because the size of the disk cannot be changed.
  const full: FullDisk = {
    fill: () =>
      repeated(async () => {
        const { bavail, bsize } = statfsSync(current.path);
        const filler = join(current.path, FILLER);
        // An attempt before can have taken a part.
        const taken = statSync(filler, { throwIfNoEntry: false })?.size ?? 0;
        const bytes = bavail * bsize - SLACK_BYTES;
        if (bytes > 0) await runProgram('fallocate', ['--length', `${taken + bytes}`, filler]);
      }),
    free: async () => rmSync(join(current.path, FILLER), { force: true }),
  };
  return {
    get data() {
      return folders.data;
    },
    get store() {
      return folders.store;
    },
    full: { data: full, store: full },
    async cut(end) {
      const copy = await current.cut();
      await end();
      current = copy;
      copies.push(copy);
      folders = foldersOn(copy.path);
      if (copies.length > 2) await copies.shift()!.remove();
    },
  };
}

function foldersOn(path: string): Pick<Disks, 'data' | 'store'> {
  const folders = { data: join(path, 'data'), store: join(path, 'store') };
  for (const folder of Object.values(folders)) mkdirSync(folder, { recursive: true });
  return folders;
}

/** Repeats a step, because more can be written to the disk after its use was read. */
async function repeated(step: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await step();
    } catch (error) {
      if (attempt === FILL_ATTEMPTS) throw error;
    }
  }
}

async function notPlanned(): Promise<never> {
  throw new TypeError('the plan has no disk of which the power can be cut');
}

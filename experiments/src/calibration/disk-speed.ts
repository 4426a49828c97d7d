import { randomBytes } from 'node:crypto';
import { closeSync, fdatasyncSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { median, quantile } from '@tidegauge/loadtests/results/statistics';

export interface DiskTimes {
  readonly syncSeconds: number;
  /** Written to measure the bandwidth, at most a quarter of the free space. */
  readonly bytes: number;
}

export interface DiskSpeed {
  /** Time until 4 KiB at the end of a file are on the disk, seconds: the median and the 99th percentile. */
  readonly fsyncSeconds: number;
  readonly fsyncP99Seconds: number;
  /** Of one file that is written from its start to its end, with the wait for the disk. */
  readonly writeBytesPerSecond: number;
}

const PAGE = 4096;
const CHUNK = 2 ** 20;

/** Measures the disk of a directory with a file, which is removed. @throws {Error} it cannot be written */
export async function diskSpeed(
  directory: string,
  { syncSeconds, bytes }: DiskTimes,
  signal: AbortSignal,
): Promise<DiskSpeed> {
  const path = join(directory, `tidegauge-calibration-${process.pid}.tmp`);
  const file = openSync(path, 'wx');
  try {
    // Disks that compress would be too fast with zeros.
    const chunk = randomBytes(CHUNK);
    const page = chunk.subarray(0, PAGE);
    const syncs: number[] = [];
    const end = performance.now() + syncSeconds * 1000;
    do {
      // A signal waits for a turn of the event loop.
      await nextTurn();
      signal.throwIfAborted();
      const begun = performance.now();
      writeSync(file, page);
      fdatasyncSync(file);
      syncs.push((performance.now() - begun) / 1000);
    } while (performance.now() < end);
    const { bavail, bsize } = statfsSync(directory);
    const chunks = Math.max(1, Math.floor(Math.min(bytes, (bavail * bsize) / 4) / CHUNK));
    const begun = performance.now();
    for (let number = 0; number < chunks; number += 1) {
      await nextTurn();
      signal.throwIfAborted();
      let written = 0;
      while (written < CHUNK) written += writeSync(file, chunk, written);
    }
    fdatasyncSync(file);
    const seconds = (performance.now() - begun) / 1000;
    return {
      fsyncSeconds: median(syncs),
      fsyncP99Seconds: quantile(syncs, 0.99),
      writeBytesPerSecond: (chunks * CHUNK) / seconds,
    };
  } finally {
    closeSync(file);
    rmSync(path, { force: true });
  }
}

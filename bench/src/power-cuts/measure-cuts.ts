import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PowerCutDisk } from '@tidegauge/lab/power-cut-disk';
import { Closers } from '@tidegauge/loadtests/targets/closers';
import { writtenBytes } from '@tidegauge/test-support/process-usage';
import type { SeededRandom } from '@tidegauge/workload';
import { type Cut, judgeCut } from './judge.ts';
import type { CutTarget } from './targets.ts';
import { Traffic } from './traffic.ts';

/** Messages per second, at most. */
export const RATE = 200;

export interface CutOptions {
  /** How many power cuts or kills. */
  readonly cuts: number;
  /** The longest pause before one. */
  readonly pauseMs: number;
  readonly random: SeededRandom;
  readonly signal: AbortSignal;
}

export interface PowerCuts {
  readonly cuts: readonly Cut[];
  /** Messages acknowledged before the last cut. */
  readonly acknowledged: number;
  /** Bytes that the process wrote for each message that was acknowledged until the end. */
  readonly bytesPerMessage: number;
}

/**
 * Publishes to a process, and cuts the power of copies of its disk at random times. It is started once, and its disk is
 * read after each cut.
 *
 * @throws {Error} when the connection fails, or when the process does not start on what a disk holds
 */
export async function cutPower(
  target: CutTarget,
  disk: PowerCutDisk,
  { cuts, pauseMs, random, signal }: CutOptions,
): Promise<PowerCuts> {
  const closers = new Closers();
  try {
    const { url, pid } = await target.start(disk.path, closers);
    const before = writtenBytes(pid);
    const traffic = await Traffic.start(url, RATE, target.payload);
    closers.add(() => traffic.stop());
    const results: Cut[] = [];
    while (results.length < cuts) {
      await sleep(random.double() * pauseMs, undefined, { signal });
      const acknowledged = traffic.acknowledged();
      const at = performance.now();
      const cut = await disk.cut();
      try {
        results.push(judgeCut(acknowledged, at, await target.found(cut.path)));
      } finally {
        await cut.remove();
      }
      if (results.length % 10 === 0) process.stderr.write(`${results.length} of ${cuts} cuts\n`);
    }
    const acknowledged = traffic.acknowledged().length;
    return {
      cuts: results,
      acknowledged: results.at(-1)!.acknowledged,
      bytesPerMessage: (writtenBytes(pid) - before) / acknowledged,
    };
  } finally {
    await closers.close();
  }
}

/**
 * Starts a process in an empty folder, publishes to it for a random time, kills it, and looks for the messages in the
 * folder: once for each kill. A reader takes messages from a queue, so a folder is not used twice.
 *
 * @throws {Error} when the process does not start, also after the kill, or when the connection fails before the kill
 */
export async function killProcess(
  target: CutTarget,
  directory: string,
  { cuts, pauseMs, random, signal }: CutOptions,
): Promise<readonly Cut[]> {
  const results: Cut[] = [];
  while (results.length < cuts) {
    const folder = join(directory, `kill-${results.length}`);
    mkdirSync(folder);
    const closers = new Closers();
    closers.add(async () => rmSync(folder, { recursive: true }));
    try {
      const { url, kill } = await target.start(folder, closers);
      const traffic = await Traffic.start(url, RATE, target.payload);
      closers.add(() => traffic.stop());
      // At least half of the pause, so that messages were acknowledged.
      await sleep(((1 + random.double()) / 2) * pauseMs, undefined, { signal });
      const acknowledged = traffic.acknowledged();
      const at = performance.now();
      await kill();
      results.push(judgeCut(acknowledged, at, await target.found(folder)));
    } finally {
      await closers.close();
    }
  }
  return results;
}

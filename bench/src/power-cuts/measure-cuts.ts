import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { mountLazyFs, type TornWrite } from '@tidegauge/lab/lazyfs-disk';
import type { PowerCutDisk } from '@tidegauge/lab/power-cut-disk';
import { Closers } from '@tidegauge/loadtests/targets/closers';
import { writtenBytes } from '@tidegauge/test-support/process-usage';
import type { SeededRandom } from '@tidegauge/workload';
import type { CutTarget } from './cut-target.ts';
import { type Cut, judgeCut } from './judge.ts';

const AFTER_CUT_MS = 100;
const FIRST_MS = 30_000;

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
  /** Bytes that the process wrote for each message that was acknowledged until the end; null without one process. */
  readonly bytesPerMessage: number | null;
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
    const { source, pid } = await target.start(disk.path, closers);
    const before = pid === null ? 0 : writtenBytes(pid);
    const results: Cut[] = [];
    while (results.length < cuts) {
      await sleep(random.double() * pauseMs, undefined, { signal });
      const acknowledged = source.acknowledged();
      const at = performance.now();
      const cut = await disk.cut();
      const held = target.isHeld === true ? pid : null;
      if (held !== null) process.kill(held, 'SIGSTOP');
      try {
        results.push(judgeCut(acknowledged, at, await target.found(cut.path)));
      } finally {
        if (held !== null) process.kill(held, 'SIGCONT');
        await cut.remove();
      }
      tell(results.length, cuts);
    }
    const acknowledged = source.acknowledged().length;
    return {
      cuts: results,
      acknowledged: results.at(-1)!.acknowledged,
      bytesPerMessage: pid === null ? null : (writtenBytes(pid) - before) / acknowledged,
    };
  } finally {
    await closers.close();
  }
}

/** A torn write is at most this one of a file. */
const MOST_WRITES = 200;

/**
 * Starts a process on an empty disk of LazyFS, publishes to it, cuts the power of the disk at a random time and looks for the
 * messages on what the disk holds: once for each cut. Every second cut comes with a torn write, if there is one in time.
 *
 * @param program LazyFS
 * @returns the cuts, and how many came with a torn write
 */
export async function cutUnsynced(
  target: CutTarget,
  program: string,
  { cuts, pauseMs, random, signal }: CutOptions,
): Promise<{ cuts: readonly Cut[]; torn: number }> {
  let torn = 0;
  const results = await cutsInTurn(cuts, async (closers, number) => {
    const write = number % 2 === 0 ? undefined : tornWrite(target.files, random);
    const mostMs = random.double() * pauseMs * (write === undefined ? 1 : 4);
    const disk = await mountLazyFs(program, write);
    closers.add(async () => disk.remove());
    const running = await target.start(disk.path, closers).catch((error: unknown) => {
      if (!disk.isCut) throw error;
    });
    // The torn write came before the process was ready, so nothing was acknowledged.
    if (running === undefined) return null;
    const { source } = running;
    // A spool acknowledges when the store has refused a batch for some time.
    await until(FIRST_MS, () => disk.isCut || source.allAcknowledged.length > 0, signal);
    if (await until(mostMs, () => disk.isCut, signal)) torn += 1;
    const held = await disk.cut();
    const at = performance.now();
    // Without its disk, nothing may be acknowledged.
    await sleep(AFTER_CUT_MS);
    const acknowledged = [...source.allAcknowledged];
    await running.kill();
    const cut = judgeCut(acknowledged, at, await target.found(held));
    tell(number + 1, cuts);
    return cut;
  });
  return { cuts: results, torn };
}

/** Makes so many cuts, each with its own process. `make` resolves to null when there was no cut, and is called again. */
async function cutsInTurn(
  cuts: number,
  make: (closers: Closers, number: number) => Promise<Cut | null>,
): Promise<readonly Cut[]> {
  const results: Cut[] = [];
  while (results.length < cuts) {
    const closers = new Closers();
    try {
      const cut = await make(closers, results.length);
      if (cut !== null) results.push(cut);
    } finally {
      await closers.close();
    }
  }
  return results;
}

function tell(done: number, cuts: number): void {
  if (done % 10 === 0) process.stderr.write(`${done} of ${cuts} cuts\n`);
}

/** Resolves to whether the condition is met within a time. */
async function until(mostMs: number, condition: () => boolean, signal: AbortSignal): Promise<boolean> {
  for (const end = performance.now() + mostMs; !condition(); await sleep(10, undefined, { signal }))
    if (performance.now() > end) return false;
  return true;
}

function tornWrite(files: readonly string[], random: SeededRandom): TornWrite | undefined {
  const file = files[Math.floor(random.double() * files.length)];
  if (file === undefined) return undefined;
  const number = 1 + Math.floor(random.double() * MOST_WRITES);
  return { file, number, part: (1 + Math.floor(random.double() * 3)) as TornWrite['part'] };
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
  return cutsInTurn(cuts, async (closers, number) => {
    const folder = join(directory, `kill-${number}`);
    mkdirSync(folder);
    closers.add(async () => rmSync(folder, { recursive: true }));
    const { source, kill } = await target.start(folder, closers);
    // At least half of the pause, so that messages were acknowledged.
    await sleep(((1 + random.double()) / 2) * pauseMs, undefined, { signal });
    const acknowledged = source.acknowledged();
    const at = performance.now();
    await kill();
    return judgeCut(acknowledged, at, await target.found(folder));
  });
}

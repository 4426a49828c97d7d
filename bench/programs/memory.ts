import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { textTable } from '@tidegauge/loadtests/results/table';
import { say } from '@tidegauge/loadtests/say';
import { provideFolder } from '@tidegauge/loadtests/targets/targets';
import { waitUntil } from '@tidegauge/process';
import type { LedgerDocument } from '@tidegauge/readings';
import { fetchFor } from '@tidegauge/service';
import { defineConfig, integer, list, oneOf, run } from '@tidegauge/service/program';
import { limitMemory, type MemoryLimit } from '@tidegauge/test-support/memory-limit';
import { publish } from '@tidegauge/test-support/publisher';
import { ROOT } from '../../scripts/setup.js';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';
import { findLeastMemory } from '../src/ways/least-memory.ts';
import { installPackage, packPackage } from '../src/ways/npm-package.ts';
import { type Pipeline, readPage, type StartCommand, startPipeline } from '../src/ways/pipeline.ts';

const WAYS = ['package', 'clone'] as const;
const DEVICES = 50;
const PAGE_EVERY_MS = 1000;
const START_MS = 90_000;
const REMOVED_MS = 60_000;
const STORED_MS = 10_000;
/** A Raspberry Pi Zero 2 W. */
const BOARD = 512;

const { quick, json } = BENCH_SETTINGS;
const settings = defineConfig({
  ways: { kind: list(oneOf(WAYS)), default: WAYS.join(','), help: 'What is started.' },
  rate: { kind: integer(1, 10_000), default: '50', help: 'Messages per second.' },
  seconds: { kind: integer(1, 86_400), help: 'Length of a trial. Default: 60, with --quick 5.' },
  quick,
  json,
});

interface Trial {
  readonly mebibytes: number;
  /** Why this memory is not enough; null: it is. */
  readonly problem: string | null;
  /** The most that all processes used at once, with the page cache. */
  readonly peakBytes: number;
}

interface Load {
  readonly rate: number;
  readonly seconds: number;
}

export const program = defineBench({
  name: 'memory',
  summary: 'The least memory with which sensors, SQLite, API and page work on a small board.',
  details:
    'Halves the limit of a memory cgroup that has all processes, with the page cache. It works when every message was\n' +
    'acknowledged and stored, and the page and its latest reading were served each second. Needs root, cgroup v1 and no swap.',
  settings,
  check: ({ ways, rate, seconds, quick }) => ({
    ways,
    load: { rate, seconds: seconds ?? (quick ? 5 : 60) },
    search: { most: BOARD, step: quick ? 64 : 8 },
  }),
  async run(_config, { ways, load, search }, { closers, signal }) {
    requireNoSwap();
    const folder = provideFolder(closers);
    const results: Result[] = [];
    for (const way of ways) {
      const start = way === 'package' ? await startOfPackage(folder) : startOfClone();
      const trials: Trial[] = [];
      const least = await findLeastMemory(search, async (mebibytes) => {
        signal.throwIfAborted();
        const data = join(folder, `${way}-${trials.length}`);
        const trial = await tryLimit(start, mebibytes, load, { data, signal });
        trials.push(trial);
        say(`${way}, ${mebibytes} MiB: ${trial.problem?.split('\n', 1)[0] ?? 'works'}`);
        return trial.problem === null;
      });
      results.push({ way, least, trials });
    }
    process.stdout.write(tableOf(results));
    const failed = results.filter(({ least }) => least === null).map(({ way }) => way);
    const failure =
      failed.length === 0 ? {} : { failure: `${BOARD} MiB are not enough: ${failed.join(', ')}` };
    return { setup: { ...load, devices: DEVICES, ...search }, results, ...failure };
  },
});

/** Otherwise processes would use swap in place of memory that they need. @throws {Error} */
function requireNoSwap(): void {
  const areas = readFileSync('/proc/swaps', 'utf8').trim().split('\n').slice(1);
  if (areas.length > 0) throw new Error('this machine has swap: switch it off (swapoff --all) and try again');
}

async function startOfPackage(folder: string): Promise<StartCommand> {
  return installPackage(await packPackage(folder), join(folder, 'installed'));
}

function startOfClone(): StartCommand {
  return { command: 'npm', args: ['start', '--'], cwd: ROOT };
}

/** Runs the pipeline under load in this memory. @throws {Error} when this user cannot limit memory */
async function tryLimit(
  { command, args, ...start }: StartCommand,
  mebibytes: number,
  load: Load,
  { data, signal }: { readonly data: string; readonly signal: AbortSignal },
): Promise<Trial> {
  const limit = limitMemory(mebibytes * 2 ** 20);
  if (limit.kind !== 'cgroup') throw new Error('memory cannot be limited: run it as root, with cgroup v1');
  const limited = { ...start, command: 'sh', args: ['-c', limit.command, 'sh', command, ...args] };
  let problem: string | null = null;
  try {
    const pipeline = await startPipeline(limited, data, START_MS);
    try {
      await useFor(pipeline, load, signal);
    } finally {
      await pipeline.stop();
    }
  } catch (error) {
    problem = (error as Error).message;
  }
  const peakBytes = limit.peak(0);
  await removeLimit(limit);
  return { mebibytes, problem, peakBytes };
}

/** Processes of a killed pipeline end a moment later, and a group with a process cannot be removed. */
async function removeLimit(limit: MemoryLimit): Promise<void> {
  const isRemoved = () => {
    try {
      limit.remove();
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
      return false;
    }
  };
  await waitUntil('the processes to end', isRemoved, { timeoutMs: REMOVED_MS });
}

/** Publishes and reads the page. @throws {Error} when a message is not stored, or the page is not served */
async function useFor(pipeline: Pipeline, { rate, seconds }: Load, interrupted: AbortSignal): Promise<void> {
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, interrupted]);
  void pipeline.exited.then(() => over.abort());
  const count = rate * seconds;
  const published = publish({ port: pipeline.mqttPort, count, devices: DEVICES, rate, signal });
  const [{ acknowledged }] = await Promise.all([
    published.finally(() => over.abort()),
    readUntil(signal, pipeline.api).finally(() => over.abort()),
  ]);
  if (!pipeline.running) throw new Error('a process ended');
  if (acknowledged < count) throw new Error(`${acknowledged} of ${count} messages were acknowledged`);
  let stored = 0;
  await waitUntil(
    () => `${count} stored readings: there are ${stored}`,
    async () => {
      stored = await storedReadings(pipeline.api);
      return stored >= count;
    },
    { timeoutMs: STORED_MS, pollMs: 200 },
  );
}

async function readUntil(signal: AbortSignal, api: string): Promise<void> {
  while (!signal.aborted) {
    await readPage(api, 'bench/probe-0');
    await sleep(PAGE_EVERY_MS, undefined, { signal }).catch(() => {});
  }
}

async function storedReadings(api: string): Promise<number> {
  const answer = await fetchFor('read the ledger', `${api}/v1/ledger`, { timeoutMs: STORED_MS });
  return ((await answer.json()) as { readonly readings: LedgerDocument['readings'] }).readings.stored;
}

interface Result {
  readonly way: string;
  readonly least: number | null;
  readonly trials: readonly Trial[];
}

function tableOf(results: readonly Result[]): string {
  const rows = results.map(({ way, least, trials }) => {
    // The first limit is that of the board.
    const peak = trials.find(({ problem }) => problem === null)?.peakBytes;
    const mebibytes = peak === undefined ? '-' : `${Math.round(peak / 2 ** 20)} MiB`;
    return [way, least === null ? `more than ${BOARD} MiB` : `${least} MiB`, mebibytes];
  });
  return textTable([['started from', 'least memory', `peak with ${BOARD} MiB`], ...rows]);
}

if (import.meta.main) process.exitCode = await run(program);

import { join } from 'node:path';
import type { Place } from '@tidegauge/experiments/model';
import type { StoreServer } from '@tidegauge/lab/stores';
import { say } from '@tidegauge/loadtests/say';
import { Closers } from '@tidegauge/loadtests/targets/closers';
import { STORES, startStorePlaces } from '@tidegauge/loadtests/targets/store-places';
import { startProcess, temporaryDirectory } from '@tidegauge/process';
import { ConfigError, defineConfig, integer, list, oneOf, run, text } from '@tidegauge/service/program';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';
import { comparisonsOf, type Experiment, runExperiment } from '../src/experiment.ts';
import { delayedDriver, standingPlace } from '../src/standing-place.ts';
import {
  type BusyResult,
  busyTable,
  contradictionsIn,
  type PlantedResult,
  plantedIn,
  plantedTable,
  type SameResult,
  sameTable,
  tally,
  unmetIn,
} from '../src/truth-results.ts';
import { delayLevel, REFERENCE, type TruthDesign, type TruthSizes, truthStudy } from '../src/truth-study.ts';

/**
 * `npm run bench -- truths`: whether experiments decide rightly, where the answer is known. Each comparison is an experiment
 * of the engine with the report's analysis; only the servers stay up between them.
 */
const PARTS = ['same', 'planted', 'busy'] as const;
const { quick, seed, json } = BENCH_SETTINGS;
const settings = defineConfig({
  parts: {
    kind: list(oneOf(PARTS)),
    default: PARTS.join(','),
    help: 'same: a level with itself. planted: known delays. busy: two stores, with and without other work.',
  },
  stores: {
    kind: list(oneOf(STORES)),
    help: 'Stores of the part same. Default: sqlite,postgres,cassandra, or sqlite with --quick.',
  },
  delayed: {
    kind: oneOf(STORES),
    help: 'Store of the part planted. Default: postgres, or sqlite with --quick.',
  },
  pair: {
    kind: list(oneOf(STORES)),
    help: 'The two stores of the part busy. Default: postgres,mariadb, or sqlite,json with --quick.',
  },
  rounds: {
    kind: integer(1, 1000),
    help: 'How often each experiment is made. Default: 10, or 1 with --quick.',
  },
  results: {
    kind: text('a directory'),
    help: 'Keep the results of all experiments in this directory, which is new. Default: they are removed.',
  },
  quick,
  seed,
  json,
});

const FULL: TruthSizes = { records: 2000, operations: '5s', trials: 8 };
const QUICK: TruthSizes = { records: 100, operations: 40, trials: 4 };
/** Operations take turns, and slices do. */
const THREADS = [1, 8];
/** Delays as a share of the median latency. */
const PERCENTS = [0, 1, 2, 5, 10];
const LOOPS = 2;
const METRICS = ['throughput', 'read.mean', 'update.mean'];
const MEDIANS = ['read.median', 'update.median'];
/** Tests run side by side. */
const QUICK_RULES = { foreignCpu: null, clockStep: null, swap: null };
const BUSY_RULES = { foreignCpu: null };

interface Setup {
  readonly stores: readonly string[];
  readonly delayed: string;
  readonly pair: readonly string[];
  readonly rounds: number;
  readonly seed: number;
  readonly sizes: TruthSizes;
  readonly percents: readonly number[];
  readonly valid: TruthDesign['valid'];
}

type Design = Omit<TruthDesign, 'valid'>;

/** Runs an experiment of a place, in its own results directory. */
type Perform = (
  name: string,
  place: Place,
  design: Design,
  round: number,
  changes?: { readonly sizes?: TruthSizes; readonly valid?: TruthDesign['valid'] },
) => Promise<Experiment>;

export const program = defineBench({
  name: 'truths',
  summary: 'Shows whether experiments decide rightly where the answer is known.',
  details:
    'It takes four hours, on a machine that does nothing else. It ends with 1 when experiments err more often than they may.',
  settings,
  check({ stores, delayed, pair, rounds, seed, quick }): Setup {
    const both = pair ?? (quick ? ['sqlite', 'json'] : ['postgres', 'mariadb']);
    if (new Set(both).size !== 2 || both.length !== 2)
      throw new ConfigError(['--pair needs two different stores']);
    return {
      stores: stores ?? (quick ? ['sqlite'] : ['sqlite', 'postgres', 'cassandra']),
      delayed: delayed ?? (quick ? 'sqlite' : 'postgres'),
      pair: both,
      rounds: rounds ?? (quick ? 1 : 10),
      seed,
      sizes: quick ? QUICK : FULL,
      percents: quick ? PERCENTS.slice(-1) : PERCENTS,
      valid: quick ? QUICK_RULES : {},
    };
  },
  async run({ parts, results: kept, quick }, setup, { closers, signal }) {
    const folder = kept ?? temporaryFolder(closers);
    const perform: Perform = async (name, place, design, round, changes = {}) => {
      signal.throwIfAborted();
      const { sizes = setup.sizes, valid = setup.valid } = changes;
      const file = truthStudy({ ...design, valid }, sizes, setup.seed + round);
      const directory = join(folder, `${name}-${round}`);
      const experiment = await runExperiment(file, { place, directory, signal });
      const invalid = experiment.invalid === 0 ? '' : `, ${experiment.invalid} invalid runs`;
      say(`${name}, round ${round}: ${experiment.seconds.toFixed(0)} s${invalid}`);
      return experiment;
    };
    const same = parts.includes('same') ? await compareWithItself(setup, perform, quick) : [];
    const planted = parts.includes('planted') ? await findPlanted(setup, perform) : [];
    const busy = parts.includes('busy') ? await compareWhileBusy(setup, perform) : [];
    if (same.length > 0) process.stdout.write(`\n${sameTable(same)}`);
    if (planted.length > 0) process.stdout.write(`\n${plantedTable(planted)}`);
    if (busy.length > 0) {
      process.stdout.write(`\n${busyTable(busy)}`);
      process.stdout.write(
        `busy: ${LOOPS} loops of other work. In this part, foreign processor time makes no run invalid\n`,
      );
    }
    if (quick) process.stdout.write('quick: foreign processor time makes no run invalid in any part\n');
    const unmet = unmetIn(same, planted, busy);
    return {
      setup: { ...setup, parts },
      same: { verdicts: tally(same.flatMap(({ comparisons }) => comparisons)), experiments: same },
      planted: { experiments: planted },
      busy: {
        contradictions: contradictionsIn(busy.flatMap(({ comparisons }) => comparisons)),
        experiments: busy,
      },
      unmet,
      // A few operations show the form only.
      ...(quick || unmet.length === 0 ? {} : { failure: unmet.join('\n') }),
    };
  },
});

function temporaryFolder(closers: Closers): string {
  const folder = temporaryDirectory('truths');
  closers.add(async () => folder.remove());
  return folder.path;
}

async function compareWithItself(setup: Setup, perform: Perform, quick: boolean): Promise<SameResult[]> {
  const results: SameResult[] = [];
  for (const store of setup.stores) {
    await withServers([store], async (servers) => {
      const place = standingPlace(servers);
      for (let round = 1; round <= setup.rounds; round += 1) {
        for (const threads of quick ? THREADS.slice(0, 1) : THREADS) {
          const { analysis, ...measured } = await perform(
            `same-${store}-${threads}`,
            place,
            {
              stores: [store],
              drivers: ['raw', 'raw-again'],
              workload: 'a',
              threads,
              compared: 'driver',
              metrics: [...METRICS, ...MEDIANS],
            },
            round,
          );
          results.push({ store, threads, round, ...measured, comparisons: comparisonsOf(analysis) });
        }
      }
    });
  }
  return results;
}

async function findPlanted(setup: Setup, perform: Perform): Promise<PlantedResult[]> {
  const { delayed: store, percents, rounds, sizes } = setup;
  const results: PlantedResult[] = [];
  await withServers([store], async (servers) => {
    const delays = new Map<string, number>([[REFERENCE, 0]]);
    const place = standingPlace(servers, delays);
    // Only reads: a store takes one round trip for them.
    const design: Design = {
      stores: [store],
      drivers: [delayedDriver(store)],
      workload: 'c',
      threads: 1,
      compared: 'network',
      metrics: ['read.median', 'read.mean'],
    };
    const first = await perform('latency', place, { ...design, networks: [REFERENCE] }, 1, {
      sizes: { ...sizes, trials: 2 },
    });
    const latencyMs = first.analysis.families[0]?.groups[0]?.mean.value.value ?? null;
    if (latencyMs === null)
      throw new Error(`no run on ${store} was valid, so that its latency is not known: close other programs`);
    const planted = new Map(
      percents.map((percent) => [delayLevel(percent), { percent, delayMs: (latencyMs * percent) / 100 }]),
    );
    for (const [level, { delayMs }] of planted) delays.set(level, delayMs);
    // The reference is the last one, so that the others are divided by it.
    const networks = [...planted.keys(), REFERENCE];
    for (let round = 1; round <= rounds; round += 1) {
      const { analysis, ...measured } = await perform('planted', place, { ...design, networks }, round);
      results.push({ round, ...measured, found: plantedIn(comparisonsOf(analysis), planted) });
    }
  });
  return results;
}

async function compareWhileBusy(setup: Setup, perform: Perform): Promise<BusyResult[]> {
  const { pair, rounds } = setup;
  const results: BusyResult[] = [];
  await withServers(pair, async (servers) => {
    const place = standingPlace(servers);
    for (let round = 1; round <= rounds; round += 1) {
      // Neither is always the first.
      for (const isBusy of round % 2 === 1 ? [false, true] : [true, false]) {
        const experiment = (): Promise<Experiment> =>
          perform(
            isBusy ? 'busy' : 'quiet',
            place,
            {
              stores: pair,
              drivers: ['raw', 'app'],
              workload: 'a',
              threads: 1,
              compared: 'store',
              metrics: METRICS,
            },
            round,
            { valid: { ...setup.valid, ...BUSY_RULES } },
          );
        const { analysis, ...measured } = await (isBusy ? besideLoops(experiment) : experiment());
        results.push({ isBusy, round, ...measured, comparisons: comparisonsOf(analysis) });
      }
    }
  });
  return results;
}

/** Does something beside other work: each loop uses a processor. */
async function besideLoops<T>(work: () => Promise<T>): Promise<T> {
  const loops = Array.from({ length: LOOPS }, () =>
    startProcess({ command: process.execPath, args: ['-e', 'for (;;);'] }),
  );
  try {
    return await work();
  } finally {
    for (const loop of loops) await loop.stop();
  }
}

async function withServers(
  stores: readonly string[],
  work: (servers: ReadonlyMap<string, StoreServer>) => Promise<void>,
): Promise<void> {
  const closers = new Closers();
  try {
    const servers = new Map<string, StoreServer>();
    for (const store of stores) {
      say(`${store}: starting`);
      const server = await startStorePlaces(store);
      closers.add(() => server.stop());
      servers.set(store, server);
    }
    await work(servers);
  } finally {
    await closers.close();
  }
}

if (import.meta.main) process.exitCode = await run(program);

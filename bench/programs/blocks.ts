import { DatabaseSync } from 'node:sqlite';
import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { median } from '@tidegauge/loadtests/results/statistics';
import { textTable } from '@tidegauge/loadtests/results/table';
import { temporaryDirectory } from '@tidegauge/process';
import type { Reading } from '@tidegauge/readings';
import { defineConfig, integer, run } from '@tidegauge/service/program';
import { openStore, type Store } from '@tidegauge/storage';
import { seeded } from '@tidegauge/workload';
import { BENCH_SETTINGS, type BenchContext, defineBench } from '../src/define-bench.ts';

const { quick, rounds, seed, json } = BENCH_SETTINGS;
const settings = defineConfig({
  readings: { kind: integer(60_000, 1e9), help: 'Readings of each kind of series. Default: 400,000.' },
  quick,
  rounds,
  seed,
  json,
});

/** 2026-01-01T00:00:00Z. */
const START = 1_767_225_600_000_000;
const SECOND = 1_000_000;
const BATCH = 5000;
const PAGE = 500;
/** Pages that a round reads, so that the code of both sides is compiled soon. */
const PAGES = 20;
const METRIC = 'm';

interface Setup {
  readonly readings: number;
  readonly rounds: number;
  readonly seed: number;
}

interface Times {
  readonly page: number;
  readonly aggregate: number;
  readonly latest: number;
}

/** What a kind of series sends, by the number of the reading. The state is its last number. */
const KINDS: Readonly<Record<string, (random: () => number, last: number) => number>> = {
  // A temperature with two decimals that moves slowly.
  decimals: (random, last) => Math.round(100 * (0.999 * last + 0.02 * gauss(random))) / 100,
  // A value that repeats for a minute or so.
  repeats: (random, last) => (random() < 0.02 ? Math.round(random() * 50) / 2 : last),
  // A computed number.
  doubles: (random, last) => 0.99 * last + 0.1 * gauss(random),
};

export const program = defineBench({
  name: 'blocks',
  summary: 'Compares rows of SQLite with compressed blocks: bytes, and times of reads.',
  details:
    'Each kind of series sends one reading a second, with boot and number, a jitter of some milliseconds, and delays of 2 to\n' +
    '20 ms. Two stores get the same readings, and one of them moves them to blocks. Reads of both are timed in turns, and\n' +
    'return the same readings.',
  settings,
  check: ({ readings, rounds, seed, quick }): Setup => ({
    readings: readings ?? (quick ? 60_000 : 400_000),
    rounds: rounds ?? (quick ? 3 : 41),
    seed,
  }),
  async run(_config, setup, context) {
    const results = [];
    for (const kind of Object.keys(KINDS)) results.push({ kind, ...(await compare(kind, setup, context)) });
    process.stdout.write(
      textTable([
        [
          'series',
          'bytes as row',
          'in block',
          'page ms',
          'ratio',
          'aggregate ms',
          'ratio',
          'step ms',
          'longest',
        ],
        ...results.map(({ kind, rows, blocks, bytes, step }) => [
          kind,
          showNumber(bytes.rows),
          showNumber(bytes.blocks),
          showNumber(blocks.page),
          (blocks.page / rows.page).toFixed(2),
          showNumber(blocks.aggregate),
          (blocks.aggregate / rows.aggregate).toFixed(2),
          showNumber(step.median),
          showNumber(step.longest),
        ]),
      ]),
    );
    return { ...setup, results };
  },
});

async function compare(kind: string, setup: Setup, { signal }: BenchContext) {
  const directory = temporaryDirectory('bench-blocks');
  const stores: Store[] = [];
  try {
    for (const name of ['rows', 'blocks'])
      stores.push(await openStore(`sqlite:${directory.path}/${name}.db?synchronous=normal`));
    const [rows, blocks] = stores as [Store, Store];
    for (const batch of batchesOf(kind, setup)) {
      signal.throwIfAborted();
      for (const store of stores) await store.readings.write(batch);
    }
    const steps: number[] = [];
    for (let more = true; more; ) {
      const started = performance.now();
      more = await blocks.compact();
      steps.push(performance.now() - started);
    }
    const [before, after] = [(await rows.space())!.used, (await blocks.space())!.used];
    const asRow = before / setup.readings;
    // The newest readings stay rows.
    const inBlock = asRow - (before - after) / movedIn(`${directory.path}/blocks.db`);
    const times: Record<'rows' | 'blocks', Times[]> = { rows: [], blocks: [] };
    for (let round = 0; round < setup.rounds; round += 1) {
      signal.throwIfAborted();
      const sides = [['rows', rows] as const, ['blocks', blocks] as const];
      const found = [];
      for (const [side, store] of round % 2 === 0 ? sides : sides.toReversed()) {
        const { figures, ...took } = await read(store, round, setup);
        times[side].push(took);
        found.push(figures);
      }
      if (JSON.stringify(found[0]) !== JSON.stringify(found[1])) throw new Error('the reads differ');
    }
    const of = (side: 'rows' | 'blocks'): Times => ({
      page: median(times[side].map(({ page }) => page)),
      aggregate: median(times[side].map(({ aggregate }) => aggregate)),
      latest: median(times[side].map(({ latest }) => latest)),
    });
    // The last step gives free space back.
    const moving = steps.slice(0, -1);
    return {
      bytes: { rows: asRow, blocks: inBlock },
      step: { median: median(moving), longest: Math.max(...moving) },
      rows: of('rows'),
      blocks: of('blocks'),
    };
  } finally {
    for (const store of stores) await store.close();
    directory.remove();
  }
}

/** The readings in the blocks of a file. */
function movedIn(path: string): number {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return db.prepare('select sum(count) as readings from tidegauge_blocks').get()!.readings as number;
  } finally {
    db.close();
  }
}

async function read(store: Store, round: number, { readings }: Setup): Promise<Times & { figures: unknown }> {
  const started = performance.now();
  const pages: (readonly Reading[])[] = [];
  for (let page = 0; page < PAGES; page += 1) {
    const part = ((round * PAGES + page) * 0.618) % 1;
    const from = START + Math.floor(part * (readings - PAGE)) * SECOND;
    const query = { device: 'bench', metric: METRIC, from, order: 'asc', limit: PAGE } as const;
    for await (const some of store.readings.pages(query)) pages.push(some);
  }
  const paged = performance.now();
  const all = { device: 'bench', metric: METRIC, from: START, to: START + (readings + 1) * SECOND };
  const { buckets } = await store.readings.aggregate({ ...all, bucket: 7 * SECOND * 100 });
  const aggregated = performance.now();
  const latest = await store.readings.latest(['bench']);
  const ended = performance.now();
  const counts = buckets.map(({ time, count, min, max }) => [time, count, min, max]);
  return {
    page: (paged - started) / PAGES,
    aggregate: aggregated - paged,
    latest: ended - aggregated,
    figures: { pages: pages.flat(), counts, latest },
  };
}

function* batchesOf(kind: string, { readings, seed }: Setup): Generator<Reading[]> {
  const random = seeded(seed);
  const value = KINDS[kind]!;
  let last = 20;
  let batch: Reading[] = [];
  for (let number = 0; number < readings; number += 1) {
    last = value(() => random.double(), last);
    const time = START + number * SECOND + Math.floor(random.double() * 50) * 1000;
    const received = time + 2000 + Math.floor(-3000 * Math.log(1 - 0.997 * random.double()));
    const stamp = { boot: 'boot', seq: number, quality: 'ok' } as const;
    batch.push({ device: 'bench', metric: METRIC, time, value: last, received, ...stamp });
    if (batch.length < BATCH && number < readings - 1) continue;
    yield batch;
    batch = [];
  }
}

/** A normal number, of the sum of uniform ones. */
function gauss(random: () => number): number {
  let sum = -6;
  for (let index = 0; index < 12; index += 1) sum += random();
  return sum;
}

if (import.meta.main) process.exitCode = await run(program);

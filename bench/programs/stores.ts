import { withOptions } from '@tidegauge/experiments/places/factors';
import { STORE_SERVERS } from '@tidegauge/lab/stores';
import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { median } from '@tidegauge/loadtests/results/statistics';
import { textTable } from '@tidegauge/loadtests/results/table';
import { STORES, startStorePlaces } from '@tidegauge/loadtests/targets/store-places';
import type { Reading } from '@tidegauge/readings';
import { defineConfig, integer, list, oneOf, run, text } from '@tidegauge/service/program';
import { openStore, type Store } from '@tidegauge/storage';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';
import { type Timing, timeCount, timeSeconds } from '../src/timing.ts';
import type { Bare, BareModule } from './bare/bare.ts';

/**
 * `npm run bench -- stores`: measures each store on this machine, with servers from the lab. Writes of readings and reads
 * of records are also measured with the bare driver, in alternation in one run. The ratio within a round shows the cost
 * of the storage layer. A write is timed from the call to its resolution, when it is durable as the store declares.
 * Cassandra's commit log waits for the disk.
 */
/** Readings in a batch. */
const BATCH = 5000;
/** They have readings in turn: a batch has as many of each as fit. */
const DEVICES = 500;
const { quick, rounds, json } = BENCH_SETTINGS;
const settings = defineConfig({
  stores: {
    kind: list(oneOf(STORES)),
    default: STORES.filter((name) => name !== 'citus').join(','),
    help: 'The stores to measure, started by the lab.',
  },
  nodes: {
    kind: integer(1, 6),
    default: '1',
    help: 'Nodes of each store, or as many as the lab has for it.',
  },
  options: {
    kind: text('options as in a URL', 'OPTION=VALUE&...'),
    help: "Options for the URL of each store, such as 'rf=2&shards=8'.",
  },
  repeated: {
    kind: integer(0, BATCH - 1),
    default: '0',
    help: 'Readings of each batch that are stored already, as after a redelivery.',
  },
  rounds,
  quick,
  json,
});

interface Setup {
  readonly rounds: number;
  readonly batchesPerRound: number;
  readonly records: number;
  readonly seconds: number;
  readonly nodes: number;
  readonly options: string;
  readonly repeated: number;
  readonly quick: boolean;
}

/** A batch repeats readings of the one that was this many batches before, so that no two are under way at once. */
const REPEAT_AFTER = 8;
const CONCURRENCY = [1, 16, 64] as const;
const RECORD_FIELDS = 10;
const FIELD_CHARACTERS = 100;
const SCAN_LENGTH = 50;
const PAGE = 100;
const BUCKET = 60_000_000;
/** 2026-01-01T00:00:00Z in microseconds. The readings of a device are one second apart. */
const START = 1_767_225_600_000_000;
const STEP = 1_000_000;

/** Rounds that do not count. A server on a JVM compiles code for about a minute, and its rate triples meanwhile. */
const WARM_UP: Readonly<Record<string, number>> = { cassandra: 12, hbase: 12 };

/** Timings of the store and of the bare driver. `ratio`: the store's rate divided by the driver's, over the rounds. */
interface Pair {
  readonly store: Timing;
  readonly bare: Timing | null;
  readonly ratio: { readonly median: number; readonly least: number; readonly most: number } | null;
}

interface Result {
  readonly store: string;
  readonly writers: number;
  /** Writes of batches. The rate of readings is `batch` times as high. */
  readonly write: Pair;
  /** Reads of records, 16 at once. */
  readonly recordRead: Pair;
  readonly operations: Readonly<Record<string, readonly Timing[]>>;
}

export const program = defineBench({
  name: 'stores',
  summary: 'Measures every store on this machine, and the bare driver of each in alternating rounds.',
  details:
    'A write is timed from the call to its resolution: durable, as the store declares. The cost of our layer is the ratio to the bare driver within a round.',
  settings,
  check: ({ rounds, nodes, options, repeated, quick }): Setup => ({
    nodes,
    options: options ?? '',
    repeated,
    rounds: rounds ?? (quick ? 3 : 7),
    batchesPerRound: Math.ceil((quick ? 40_000 : 200_000) / (BATCH - repeated)),
    records: quick ? 2000 : 20_000,
    seconds: quick ? 0.5 : 3,
    quick,
  }),
  async run({ stores }, setup, { signal }) {
    const results: Result[] = [];
    for (const name of stores) {
      signal.throwIfAborted();
      process.stderr.write(`${name}...\n`);
      const result = await measure(name, setup);
      process.stdout.write(show(result, setup));
      results.push(result);
    }
    const { quick: _, ...rest } = setup;
    return { setup: { ...rest, batch: BATCH, devices: DEVICES, concurrency: CONCURRENCY }, results };
  },
});

async function measure(name: string, setup: Setup): Promise<Result> {
  const { quick, rounds, batchesPerRound, repeated } = setup;
  const nodes = Math.min(setup.nodes, STORE_SERVERS[name]?.maxNodes ?? 1);
  const places = await startStorePlaces(name, {}, nodes);
  try {
    const url = withOptions(await places.create('bench'), new Map(new URLSearchParams(setup.options)));
    const store = await openStore(url);
    const bare = await openBare(name, url);
    const warmUp = quick ? 1 : (WARM_UP[name] ?? 1);
    const written = (warmUp + rounds) * batchesPerRound * (BATCH - repeated);
    const perDevice = Math.floor(written / DEVICES);
    try {
      const write = await measureWrites(store, bare, warmUp, setup);
      await verify(store, written);
      await load(store, setup.records);
      const operations = await measureOperations(store, perDevice, setup);
      const recordRead = await measureRecordReads(store, bare, setup);
      return { store: name, writers: store.capabilities.writers, write, recordRead, operations };
    } finally {
      await bare?.close();
      await store.close();
    }
  } finally {
    await places.stop();
  }
}

async function openBare(name: string, url: string): Promise<Bare | null> {
  const file = new URL(`bare/${name}.ts`, import.meta.url);
  try {
    return await ((await import(file.href)) as BareModule).open(url);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    return null;
  }
}

function measureWrites(
  store: Store,
  bare: Bare | null,
  warmUp: number,
  { rounds, batchesPerRound, repeated }: Setup,
): Promise<Pair> {
  const { writers } = store.capabilities;
  const side = (write: (batch: readonly Reading[]) => Promise<unknown>) => (round: number) => {
    const batches = Array.from({ length: batchesPerRound }, (_, index) =>
      batchOf(round * batchesPerRound + index, repeated),
    );
    return timeCount(batches.length, writers, (number) => write(batches[number]!));
  };
  return inTurns(
    side((batch) => store.readings.write(batch)),
    bare === null ? null : side((batch) => bare.write(batch)),
    { warmUp, rounds },
  );
}

function measureRecordReads(
  store: Store,
  bare: Bare | null,
  { rounds, records, seconds }: Setup,
): Promise<Pair> {
  const side = (read: (key: string) => Promise<unknown>) => () =>
    timeSeconds(seconds, CONCURRENCY[1], (number) => read(keyOf(scatter(number, records))));
  const readBare = bare?.readRecord?.bind(bare);
  return inTurns(
    side((key) => store.records.read('usertable', key, null)),
    readBare === undefined ? null : side((key) => readBare('usertable', key)),
    { warmUp: 1, rounds },
  );
}

/** Runs both sides once per round, in alternating order. The first `warmUp` rounds do not count. */
async function inTurns(
  store: (round: number) => Promise<Timing>,
  bare: ((round: number) => Promise<Timing>) | null,
  { warmUp, rounds }: { readonly warmUp: number; readonly rounds: number },
): Promise<Pair> {
  const ours: Timing[] = [];
  const theirs: Timing[] = [];
  for (let round = 0; round < warmUp + rounds; round++) {
    const ownFirst = round % 2 === 0;
    if (ownFirst) ours.push(await store(round));
    if (bare !== null) theirs.push(await bare(round));
    if (!ownFirst) ours.push(await store(round));
  }
  const [own, other] = [ours.slice(warmUp), theirs.slice(warmUp)];
  if (bare === null) return { store: middle(own), bare: null, ratio: null };
  const ratios = own.map((timing, round) => timing.perSecond / other[round]!.perSecond);
  const ratio = { median: median(ratios), least: Math.min(...ratios), most: Math.max(...ratios) };
  return { store: middle(own), bare: middle(other), ratio };
}

function middle(timings: readonly Timing[]): Timing {
  const of = (field: keyof Timing): number => median(timings.map((timing) => timing[field]));
  return { perSecond: of('perSecond'), p50Ms: of('p50Ms'), p99Ms: of('p99Ms') };
}

/** Batch `number`: the readings of devices in turn. The first `repeated` of them are of an earlier batch. */
function batchOf(number: number, repeated: number): Reading[] {
  const fresh = BATCH - repeated;
  const readings = (batch: number, count: number): Reading[] =>
    Array.from({ length: count }, (_, index) => readingOf(batch * fresh + index));
  const earlier = number < REPEAT_AFTER ? [] : readings(number - REPEAT_AFTER, Math.min(repeated, fresh));
  return [...earlier, ...readings(number, fresh)];
}

/** Reading `number` of all devices, which have readings in turn. */
function readingOf(number: number): Reading {
  const seq = Math.floor(number / DEVICES);
  const time = START + seq * STEP;
  return {
    device: deviceOf(number),
    metric: 'temperature',
    time,
    value: (number % 1000) / 10,
    received: time + 1500,
    boot: 'boot-1',
    seq,
    quality: 'ok' as const,
  };
}

function deviceOf(number: number): string {
  return `bench/probe-${number % DEVICES}`;
}

/** Fails if readings are missing in the store: the rate would then be wrong. */
async function verify(store: Store, written: number): Promise<void> {
  for (let number = 0; number < DEVICES; number += Math.ceil(DEVICES / 10)) {
    const expected = Math.ceil((written - number) / DEVICES);
    let count = 0;
    const query = { device: deviceOf(number), order: 'asc', limit: expected + 1 } as const;
    for await (const { seq } of store.readings.range(query)) {
      if (seq === count) count++;
    }
    if (count !== expected) {
      throw new Error(`${store.name} has ${count} of ${expected} readings of ${query.device}`);
    }
  }
}

async function load(store: Store, records: number): Promise<void> {
  await store.records.createTable('usertable', RECORD_FIELDS);
  await timeCount(records, 16, (number) =>
    store.records.insert('usertable', keyOf(number), fieldsOf(number)),
  );
}

function keyOf(number: number): string {
  return `user${String(number).padStart(10, '0')}`;
}

function fieldsOf(number: number): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: RECORD_FIELDS }, (_, field) => [`field${field}`, textOf(number + field)]),
  );
}

function textOf(number: number): string {
  return String(number).padEnd(FIELD_CHARACTERS, 'x');
}

/** Maps numbers to a scattered order below `count` that caches cannot predict: the same in every run (Knuth). */
function scatter(number: number, count: number): number {
  return (Math.imul(number, 2_654_435_761) >>> 0) % count;
}

async function measureOperations(
  store: Store,
  perDevice: number,
  { records, seconds }: Setup,
): Promise<Record<string, Timing[]>> {
  const { readings, records: table } = store;
  let inserted = records;
  const timeOf = (number: number): number => START + scatter(number, perDevice) * STEP;
  const key = (number: number): string => keyOf(scatter(number, records));
  const operations: Record<string, (number: number) => Promise<unknown>> = {
    'point read': (number) => {
      const from = timeOf(number);
      return drain(
        readings.range({
          device: deviceOf(number),
          metric: 'temperature',
          from,
          to: from + 1,
          limit: 1,
        }),
        1,
      );
    },
    latest: (number) => readings.latest([deviceOf(number)]),
    'range of 100': (number) => {
      const to = START + (PAGE + scatter(number, perDevice - PAGE)) * STEP;
      return drain(
        readings.range({ device: deviceOf(number), metric: 'temperature', to, limit: PAGE }),
        PAGE,
      );
    },
    'aggregate per minute': (number) =>
      readings.aggregate({
        device: deviceOf(number),
        metric: 'temperature',
        from: START,
        to: START + perDevice * STEP,
        bucket: BUCKET,
      }),
    'record read': (number) => table.read('usertable', key(number), null),
    'record update': (number) => table.update('usertable', key(number), { field0: textOf(number) }),
    'record insert': () => table.insert('usertable', keyOf(inserted++), fieldsOf(inserted)),
    'record scan of 50': (number) => table.scan('usertable', key(number), SCAN_LENGTH, null),
  };
  const timings: Record<string, Timing[]> = {};
  for (const [name, operation] of Object.entries(operations)) {
    timings[name] = [];
    for (const workers of CONCURRENCY) timings[name].push(await timeSeconds(seconds, workers, operation));
  }
  return timings;
}

async function drain(readings: AsyncIterable<Reading>, expected: number): Promise<void> {
  let count = 0;
  for await (const _ of readings) count++;
  if (count !== expected) throw new Error(`a range gave ${count} readings instead of ${expected}`);
}

function show(
  { store, writers, write, recordRead, operations }: Result,
  { repeated, rounds }: Setup,
): string {
  const stored = repeated === 0 ? '' : `, ${repeated} of them stored already`;
  const heading = `\n${store}: batches of ${BATCH} readings${stored}, ${DEVICES} devices, ${writers} writing; median of ${rounds} rounds\n`;
  const line = (name: string, timing: Timing, factor: number): string[] => [
    name,
    `${showNumber(timing.perSecond * factor)}/s`,
    `p50 ${showNumber(timing.p50Ms)} ms`,
    `p99 ${showNumber(timing.p99Ms)} ms`,
  ];
  const pair = (name: string, { store: ours, bare, ratio }: Pair, factor: number): string[][] => [
    line(name, ours, factor),
    ...(bare === null ? [] : [line('  bare driver', bare, factor)]),
    ...(ratio === null
      ? []
      : [[`  ratio ${ratio.median.toFixed(2)} (${ratio.least.toFixed(2)} to ${ratio.most.toFixed(2)})`]]),
  ];
  const rows = Object.entries(operations).map(([name, timings]) => [
    name,
    ...timings.map(
      (timing) => `${showNumber(timing.perSecond)}/s ${showNumber(timing.p50Ms)} ${showNumber(timing.p99Ms)}`,
    ),
  ]);
  return `${heading}${textTable([
    ...pair('readings written', write, BATCH),
    ...pair('record read, 16 at once', recordRead, 1),
  ])}${textTable([['at once (p50 p99 ms)', ...CONCURRENCY.map(String)], ...rows])}`;
}

if (import.meta.main) process.exitCode = await run(program);

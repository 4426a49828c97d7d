import { drawFigures } from '@tidegauge/loadtests/results/run-analysis';
import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { median } from '@tidegauge/loadtests/results/statistics';
import { textTable } from '@tidegauge/loadtests/results/table';
import { STORES, startStorePlaces } from '@tidegauge/loadtests/targets/store-places';
import type { Reading } from '@tidegauge/readings';
import { defineConfig, integer, list, oneOf, outputFile, run } from '@tidegauge/service/program';
import { openStore, type Store } from '@tidegauge/storage';
import { BENCH_SETTINGS, type BenchContext, defineBench } from '../src/define-bench.ts';

/**
 * `npm run bench -- growth`: whether a write and a read cost more in a large store than in a small one. Readings of 20 series,
 * one per minute, are loaded for some minutes, with rollups and compaction. At each size, the store is compared with a new
 * one of 100,000 readings, in turns, so that other work on the machine changes both. A chart over all readings of a series is
 * timed too.
 */
const { quick, json } = BENCH_SETTINGS;
const SETTINGS = defineConfig({
  stores: { kind: list(oneOf(STORES)), default: 'sqlite,postgres', help: 'The stores, one after the other.' },
  seconds: {
    kind: integer(1, 86_400),
    help: 'Time of loading, without the measurements. Default: 600.',
  },
  picture: { kind: outputFile(), help: 'Draw the figures to this file as SVG.' },
  quick,
  json,
});

const SERIES = 20;
const MINUTE = 60_000_000;
/** Readings of a timed write, and of a write while loading. */
const BATCH = 1000;
const LOAD_BATCH = 10_000;
/** 2020-01-01T00:00:00Z. */
const START = 1_577_836_800_000_000;
const CHART_POINTS = 500;
/** Readings of one read: a page of a chart. */
const PAGE = 500;

interface Size {
  /** Readings of the small store, and the first size that is measured. */
  readonly small: number;
  readonly seconds: number;
  /** Batches and reads that are timed at each size. */
  readonly batches: number;
  readonly reads: number;
}

interface Point {
  readonly rows: number;
  /** Microseconds per reading. The time of rollups is not in it. */
  readonly writeUs: number;
  readonly readUs: number;
  /** Divided by the same in a store of `small` readings. The median of pairs. */
  readonly writeRatio: number;
  readonly readRatio: number;
  /** Computing rollups, and compaction, while loading to this size, microseconds per reading. */
  readonly rollupUs: number;
  readonly compactionUs: number;
  /** On the disk, rollups included. Null for a database server. */
  readonly bytesPerReading: number | null;
  /** An aggregate over all readings of a series, in at most 500 buckets. The median of all series. */
  readonly chartMs: number;
  readonly chartSources: readonly string[];
}

export const program = defineBench({
  name: 'growth',
  summary: 'Cost of writes and reads while a store grows.',
  settings: SETTINGS,
  check() {},
  async run({ stores, seconds, picture, quick }, _checked, context) {
    const size: Size = quick
      ? { small: 5000, seconds: seconds ?? 2, batches: 4, reads: 20 }
      : { small: 100_000, seconds: seconds ?? 600, batches: 40, reads: 200 };
    const results: { readonly store: string; readonly points: readonly Point[] }[] = [];
    for (const store of stores) results.push({ store, points: await grow(store, size, context) });
    if (picture !== null) await drawFigures('growth', { quick, small: size.small, results }, picture);
    return { setup: { quick, ...size }, results };
  },
});

async function grow(name: string, size: Size, { closers, signal }: BenchContext): Promise<Point[]> {
  const places = await startStorePlaces(name);
  closers.add(() => places.stop());
  const large = await Filling.open(await places.create('large'));
  const points: Point[] = [];
  try {
    let target = size.small;
    for (let left = size.seconds * 1000; ; ) {
      const before = { ...large.spent };
      const [rows, started] = [large.rows, performance.now()];
      // The first size is always reached.
      const goesOn = () => points.length === 0 || performance.now() - started < left;
      while (large.rows < target && goesOn()) {
        signal.throwIfAborted();
        await large.load(Math.min(LOAD_BATCH, target - large.rows));
      }
      left -= performance.now() - started;
      const eachUs = (spentMs: number) => (spentMs * 1000) / Math.max(1, large.rows - rows);
      const rollupUs = eachUs(large.spent.rollups - before.rollups);
      const compactionUs = eachUs(large.spent.compaction - before.compaction);
      const small = await Filling.open(await places.create(`small${points.length}`));
      try {
        while (small.rows < size.small) await small.load(Math.min(LOAD_BATCH, size.small - small.rows));
        const space = await large.store.space();
        const bytesPerReading = space === null ? null : space.used / large.rows;
        const point = { ...(await compare(large, small, size)), rollupUs, compactionUs, bytesPerReading };
        points.push(point);
        process.stdout.write(points.length === 1 ? tableOf(name, points) : tableOf(name, points, -1));
      } finally {
        await small.store.close();
      }
      if (left <= 0) return points;
      target = nextSize(target);
    }
  } finally {
    await large.store.close();
  }
}

/** The next of 1, 2, 5, 10, ... times a power of ten. */
function nextSize(size: number): number {
  return String(size).startsWith('2') ? size * 2.5 : size * 2;
}

async function compare(
  large: Filling,
  small: Filling,
  size: Size,
): Promise<Omit<Point, 'rollupUs' | 'compactionUs' | 'bytesPerReading'>> {
  const { rows } = large;
  const chart = await large.chart();
  const reads = await pairs(size.reads, large, small, (filling, number) => filling.read(number));
  const writes = await pairs(size.batches, large, small, (filling) => filling.write(BATCH));
  return {
    rows,
    writeUs: (writes.ms * 1000) / BATCH,
    writeRatio: writes.ratio,
    readUs: (reads.ms * 1000) / PAGE,
    readRatio: reads.ratio,
    chartMs: chart.ms,
    chartSources: chart.sources,
  };
}

/** Times an operation on both stores in turns. Resolves to its median on the large one, and the ratio of the medians. */
async function pairs(
  count: number,
  large: Filling,
  small: Filling,
  operation: (filling: Filling, number: number) => Promise<void>,
): Promise<{ readonly ms: number; readonly ratio: number }> {
  const times: [number[], number[]] = [[], []];
  const time = async (side: 0 | 1, number: number) => {
    const started = performance.now();
    await operation(side === 0 ? large : small, number);
    times[side].push(performance.now() - started);
  };
  // The first calls compile code and fill caches.
  for (const filling of [large, small]) await operation(filling, 0);
  for (let number = 1; number <= count; number += 1) {
    const first = (number % 2) as 0 | 1;
    await time(first, number);
    await time((1 - first) as 0 | 1, number);
  }
  const ms = median(times[0]);
  return { ms, ratio: ms / median(times[1]) };
}

/** A store that is being filled in the order of time, on a clock that follows its readings. */
class Filling {
  readonly store: Store;
  rows = 0;
  /** Milliseconds. */
  readonly spent = { rollups: 0, compaction: 0 };
  readonly #clock: { now: number };

  private constructor(store: Store, clock: { now: number }) {
    this.store = store;
    this.#clock = clock;
  }

  static async open(url: string): Promise<Filling> {
    const clock = { now: START };
    return new Filling(await openStore(url, { clock: () => clock.now }), clock);
  }

  /** Writes readings, computes the rollups that are due, and compacts what is old enough. */
  async load(count: number): Promise<void> {
    await this.write(count);
    const started = performance.now();
    while ((await this.store.rollups.work()).more);
    const rolledUp = performance.now();
    while (await this.store.compact());
    this.spent.rollups += rolledUp - started;
    this.spent.compaction += performance.now() - rolledUp;
  }

  async write(count: number): Promise<void> {
    const batch = Array.from({ length: count }, (_, index) => this.#reading(this.rows + index));
    this.#clock.now = batch.at(-1)!.time;
    await this.store.readings.write(batch);
    this.rows += count;
  }

  /** Reads a page of a series somewhere in the whole time. */
  async read(number: number): Promise<void> {
    const span = Math.max(1, this.rows / SERIES - PAGE);
    const from = START + Math.floor(((number * 0.618) % 1) * span) * MINUTE;
    const query = {
      device: deviceOf(number),
      metric: 'temperature',
      from,
      order: 'asc',
      limit: PAGE,
    } as const;
    let rows = 0;
    for await (const _ of this.store.readings.range(query)) rows += 1;
    if (rows !== Math.min(PAGE, Math.floor(this.rows / SERIES)))
      throw new Error(`a page had ${rows} readings`);
  }

  /** A chart over all readings of each series. */
  async chart(): Promise<{ readonly ms: number; readonly sources: readonly string[] }> {
    const span = (this.rows / SERIES) * MINUTE;
    const hours = [1, 2, 3, 4, 6, 8, 12, 24, 48, 72, 168];
    const length = hours.find((each) => span / (each * 60 * MINUTE) <= CHART_POINTS) ?? 720;
    const bucket = length * 60 * MINUTE;
    const times: number[] = [];
    let sources: readonly string[] = [];
    for (let number = 0; number < SERIES; number += 1) {
      const started = performance.now();
      const query = {
        device: deviceOf(number),
        metric: 'temperature',
        from: START,
        to: START + span,
        bucket,
      };
      const found = await this.store.readings.aggregate(query);
      times.push(performance.now() - started);
      const counted = found.buckets.reduce((sum, { count }) => sum + count, 0);
      if (counted !== this.rows / SERIES) throw new Error(`a chart counts ${counted} readings`);
      sources = found.sources;
    }
    return { ms: median(times), sources };
  }

  #reading(number: number): Reading {
    const minute = Math.floor(number / SERIES);
    const time = START + minute * MINUTE;
    const value = Math.round(2000 + 500 * Math.sin(minute / 229) + ((number * 7919) % 97)) / 100;
    const stamp = { boot: null, seq: null, quality: 'ok' } as const;
    return { device: deviceOf(number), metric: 'temperature', time, value, received: time + 1500, ...stamp };
  }
}

function deviceOf(number: number): string {
  return `growth/${number % SERIES}`;
}

function tableOf(store: string, points: readonly Point[], from = 0): string {
  const rows = points.map((point) => [
    store,
    String(point.rows),
    showNumber(point.writeUs),
    point.writeRatio.toFixed(2),
    showNumber(point.readUs),
    point.readRatio.toFixed(2),
    showNumber(point.rollupUs),
    showNumber(point.compactionUs),
    point.bytesPerReading === null ? '' : showNumber(point.bytesPerReading),
    showNumber(point.chartMs),
    point.chartSources.join(' '),
  ]);
  const head = [
    'store',
    'readings',
    'write µs',
    'ratio',
    'read µs',
    'ratio',
    'rollups µs',
    'compaction µs',
    'bytes',
    'chart ms',
    'chart from',
  ];
  return textTable([head, ...rows.slice(from)]);
}

if (import.meta.main) process.exitCode = await run(program);

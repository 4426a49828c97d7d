import { startMosquitto } from '@tidegauge/lab';
import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { quantile } from '@tidegauge/loadtests/results/statistics';
import { type Estimate, estimate } from '@tidegauge/loadtests/results/student';
import { textTable } from '@tidegauge/loadtests/results/table';
import { Closers } from '@tidegauge/loadtests/targets/closers';
import { STORES, startStorePlaces } from '@tidegauge/loadtests/targets/store-places';
import { checkNodes, checkStore, provideFolder } from '@tidegauge/loadtests/targets/targets';
import type { Stage } from '@tidegauge/readings';
import { type Config, defineConfig, integer, list, run, text } from '@tidegauge/service/program';
import { createStore, openStore } from '@tidegauge/storage';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';
import { BENCH_SETTINGS, type BenchContext, defineBench } from '../src/define-bench.ts';
import { watchReadings, writeAndRead } from '../src/watch-readings.ts';

/**
 * `npm run bench -- visible`: the time from the publication of a reading until the API returns it. The path is MQTT,
 * ingest, store, API. Requests to the API follow each other without a pause, so a figure is exact to the duration of
 * one read.
 */
const { rounds: _, ...common } = BENCH_SETTINGS;
const SETTINGS = defineConfig({
  ...common,
  nodes: {
    kind: list(integer(1, 3)),
    default: '1',
    help: 'Nodes of a store of the lab. Each number is measured.',
  },
  options: {
    kind: list(text("options of the store's URL")),
    help: 'Options to add to its URL, such as write=ONE&read=ONE,write=QUORUM&read=QUORUM. Each set is measured.',
  },
});

type Settings = Config<typeof SETTINGS>;

/** Readings per second, at most. */
const RATE = 20;
const STAGES: readonly Stage[] = ['travel', 'queue', 'store', 'ack', 'end_to_end'];

interface Result {
  readonly store: string;
  readonly nodes: number | null;
  readonly options: string | null;
  readonly published: number;
  readonly seen: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  /** Median time to write and read one reading directly on the store, measured in alternation. */
  readonly rawMs: number;
  /** Time that the application adds to it. */
  readonly addedMs: Estimate;
  /** Median duration of the last read of each reading. */
  readonly readMs: number;
  /** Medians of the stages that ingest measures, in milliseconds. */
  readonly stagesMs: Readonly<Record<Stage, number | null>>;
}

export const program = defineBench({
  name: 'visible',
  summary: 'Time from the publication of a reading to the first read that has it.',
  settings: SETTINGS,
  check(config) {
    const { store, nodes } = config;
    checkStore(store, config);
    checkNodes(store, nodes);
  },
  async run(config, _checked, context) {
    const results: Result[] = [];
    for (const nodes of config.nodes) {
      const closers = new Closers();
      try {
        results.push(...(await measureNodes(config, nodes, { ...context, closers })));
      } finally {
        await closers.close();
      }
    }
    print(results);
    const blind = results.reduce((sum, { published, seen }) => sum + published - seen, 0);
    const setup = { rate: RATE, quick: config.quick, seed: config.seed };
    const failure = `${blind} readings could not be read within 10 s`;
    return { setup, results, ...(blind > 0 ? { failure } : {}) };
  },
});

async function measureNodes(config: Settings, nodes: number, context: BenchContext): Promise<Result[]> {
  const { store } = config;
  const places = STORES.includes(store) ? await startStorePlaces(store, {}, nodes) : null;
  if (places !== null) context.closers.add(() => places.stop());
  const setups: { readonly options: string | null; readonly url: string }[] = [];
  for (const [number, options] of (config.options ?? [null]).entries()) {
    const url = withOptions(places === null ? store : await places.create(`visible${number}`), options);
    // Fails early for a wrong option, with a message of one line.
    await createStore(url);
    setups.push({ options, url });
  }
  const results: Result[] = [];
  for (const { options, url } of setups) {
    const closers = new Closers();
    try {
      const found = await measure(url, config, { ...context, closers });
      const result = { ...found, nodes: places === null ? null : nodes, options };
      // Printed at once, because the next cluster may fail to start.
      process.stderr.write(`${nameOf(result)}: p50 ${showMillis(result.p50Ms)} ms\n`);
      results.push(result);
    } finally {
      await closers.close();
    }
  }
  return results;
}

/** Adds options to a URL. An option replaces one with the same name. */
function withOptions(url: string, options: string | null): string {
  if (options === null) return url;
  const [base, own = ''] = url.split('?');
  const query = new URLSearchParams(own);
  for (const [name, value] of new URLSearchParams(options)) query.set(name, value);
  return `${base}?${query}`;
}

async function measure(
  url: string,
  { seed, quick }: Settings,
  { closers, signal }: BenchContext,
): Promise<Omit<Result, 'nodes' | 'options'>> {
  const store = await openStore(url);
  closers.add(() => store.close());
  const broker = await startMosquitto();
  closers.add(() => broker.stop());
  const run = `visible-${Date.now().toString(36)}`;
  const ingest = await startIngestProcess({
    STORE: url,
    BROKER: broker.url,
    CLIENT_ID: run,
    DATA_DIR: provideFolder(closers),
  });
  closers.add(() => ingest.stop());
  const api = await startApiProcess({ STORE: url });
  closers.add(() => api.stop());
  const count = quick ? 20 : 500;
  const watch = { broker: broker.url, api: api.url, rate: RATE, seed, signal };
  // Warm-up: the first readings include compiling code and opening connections.
  await watchReadings({ ...watch, run: `${run}-warm-up`, readings: Math.ceil(count / 10) }, async (seq) => {
    await writeAndRead(store, `${run}-warm-up`, seq);
  });
  const raw: number[] = [];
  const sightings = await watchReadings({ ...watch, run, readings: count }, async (seq) => {
    raw.push(await writeAndRead(store, run, seq));
    if (raw.length % 100 === 0) process.stderr.write(`${raw.length}/${count}\n`);
  });
  const visible = sightings.flatMap(({ visibleMs }) => visibleMs ?? []);
  const { stages } = await ingest.ledger();
  return {
    store: store.name,
    published: count,
    seen: visible.length,
    p50Ms: quantile(visible, 0.5),
    p95Ms: quantile(visible, 0.95),
    p99Ms: quantile(visible, 0.99),
    rawMs: quantile(raw, 0.5),
    addedMs: estimate(
      sightings.flatMap(({ visibleMs }, seq) => (visibleMs === null ? [] : visibleMs - raw[seq]!)),
    ),
    readMs: quantile(
      sightings.map(({ lastReadMs }) => lastReadMs),
      0.5,
    ),
    stagesMs: Object.fromEntries(
      STAGES.map((stage) => [stage, stages[stage].p50 === null ? null : stages[stage].p50 * 1000]),
    ) as Result['stagesMs'],
  };
}

function print(results: readonly Result[]): void {
  process.stdout.write(
    `\nFrom publish to the first read that has it, ${RATE} readings/s at most, milliseconds\n`,
  );
  process.stdout.write(
    textTable([
      ['store', 'seen', 'p50', 'p95', 'p99', 'one read', 'raw', 'added, mean'],
      ...results.map((result) => [
        nameOf(result),
        `${result.seen}/${result.published}`,
        ...[result.p50Ms, result.p95Ms, result.p99Ms, result.readMs, result.rawMs].map(showNumber),
        `${showNumber(result.addedMs.mean)} [${showNumber(result.addedMs.low)}, ${showNumber(result.addedMs.high)}]`,
      ]),
    ]),
  );
  process.stdout.write('\nMedians of the way, milliseconds: end_to_end is from publish to commit\n');
  process.stdout.write(
    textTable([
      ['store', ...STAGES, 'visible'],
      ...results.map((result) => [
        nameOf(result),
        ...STAGES.map((stage) => showMillis(result.stagesMs[stage])),
        showMillis(result.p50Ms),
      ]),
    ]),
  );
}

function nameOf({ store, nodes, options }: Result): string {
  const parts = [store, nodes !== null && nodes > 1 ? `${nodes} nodes` : '', options ?? ''];
  return parts.filter((part) => part !== '').join(' ');
}

function showMillis(value: number | null): string {
  return value === null ? '-' : value.toFixed(2);
}

if (import.meta.main) process.exitCode = await run(program);

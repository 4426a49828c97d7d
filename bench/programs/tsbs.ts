import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { diskUsage } from '@tidegauge/lab/disk-usage';
import { INFLUXDB_VERSION } from '@tidegauge/lab/influxdb';
import { TSBS_VERSION } from '@tidegauge/lab/tsbs';
import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { median } from '@tidegauge/loadtests/results/statistics';
import { textTable } from '@tidegauge/loadtests/results/table';
import { provideFolder } from '@tidegauge/loadtests/targets/targets';
import { defineConfig, integer, list, run } from '@tidegauge/service/program';
import { cpuSeconds, type Memory, watchMemory, writtenBytes } from '@tidegauge/test-support/process-usage';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';
import { mediansOf } from '../src/trial-medians.ts';
import { type DataSet, findTsbs, LINE_VALUES, STEP_SECONDS, type Tsbs } from '../src/tsbs/programs.ts';
import { compareFigures, type Figures, type TsbsQuery } from '../src/tsbs/queries.ts';
import { SYSTEMS, type System } from '../src/tsbs/systems.ts';

/**
 * `npm run bench -- tsbs`: Timescale's Time Series Benchmark Suite writes to Tidegauge and to InfluxDB by line protocol, in
 * turns, each time to an empty system. Each turn loads hours of history, waits until the system rests, writes a line of each
 * host a second, and then sends queries.
 */
const { quick, rounds, seed, json } = BENCH_SETTINGS;
const settings = defineConfig({
  series: {
    kind: list(integer(100, 1_000_000)),
    default: '100,1000,10000',
    help: 'Numbers of series, ten of each host. Each is measured.',
  },
  quick,
  rounds,
  seed,
  json,
});

/** Types of queries that OpenTSDB has too, by the hours of their time range. TSBS's README describes them. */
const QUERIES: Readonly<Record<string, number>> = {
  'single-groupby-1-1-1': 1,
  'single-groupby-1-8-1': 1,
  'single-groupby-5-1-1': 1,
  'single-groupby-5-8-1': 1,
  'single-groupby-1-1-12': 12,
  'single-groupby-5-1-12': 12,
  'cpu-max-all-1': 8,
  'cpu-max-all-8': 8,
  'double-groupby-1': 12,
  'double-groupby-5': 12,
  'double-groupby-all': 12,
};
/** TSBS's default for the history. */
const START = Date.UTC(2016, 0, 1);
const HOUR = 3_600_000;
/** Lines of a request of the history: some 350 KB, and the default of Telegraf. */
const BATCH = 1000;
/**
 * `restSeconds`: how long a system works after the last write at least. Tidegauge computes rollups of late readings three
 * minutes later, and InfluxDB compacts its files ten seconds later. `windowSeconds`: then it rests when it uses little
 * processor time for so long. Tidegauge looks for work each 15 s. `liveSeconds`: how long all hosts send.
 */
const FULL = { hours: 13, restSeconds: 200, windowSeconds: 20, liveSeconds: 60, queries: 20 };
const QUICK = { hours: 2, restSeconds: 1, windowSeconds: 3, liveSeconds: 5, queries: 3 };
/** Of one core. */
const REST_SHARE = 0.02;
const REST_MS = 3_600_000;
/** A type of queries ends after this time if enough were sent. */
const QUERIES_MS = 15_000;
const FEWEST_QUERIES = 3;

const LOADED = 'values/s while it loads';

type Setup = typeof FULL & {
  readonly series: readonly number[];
  readonly rounds: number;
  readonly seed: number;
};

/** The figures of a turn, by their label in the table. */
type Row = Readonly<Record<string, number>>;

/** What TSBS has generated for a number of series. */
interface Material {
  readonly tsbs: Tsbs;
  readonly data: DataSet;
  /** The file of the history. */
  readonly history: string;
  /** A file for what is sent live. */
  readonly live: string;
  readonly queries: ReadonlyMap<string, readonly TsbsQuery[]>;
  /** The first answer to the first query of each type. Every turn must give it. */
  readonly answers: Map<string, Figures>;
}

export const program = defineBench({
  name: 'tsbs',
  summary: 'Compares Tidegauge with InfluxDB 1.8 by the Time Series Benchmark Suite (TSBS).',
  details:
    'TSBS, use case cpu-only: hosts with ten metrics each, whole numbers from 0 to 100. tsbs_load_influx writes by line protocol,\n' +
    'with one connection. The queries are those that TSBS has for InfluxDB. Tidegauge answers the same ones as requests of\n' +
    'OpenTSDB, and the answers must be equal.',
  settings,
  check: ({ series, quick, rounds, seed }): Setup => ({
    ...(quick ? QUICK : FULL),
    series: quick ? [100] : series,
    rounds: rounds ?? (quick ? 1 : 3),
    seed,
  }),
  async run(_config, setup, { closers, signal }) {
    const tsbs = await findTsbs();
    const directory = provideFolder(closers);
    const results = [];
    for (const series of setup.series) {
      const hosts = Math.ceil(series / LINE_VALUES);
      const material = await prepare(tsbs, hosts, directory, setup);
      const turns = await measureInTurns(material, directory, setup, signal);
      const summary = turns.map(({ system, trials }) => ({ system, figures: mediansOf(trials) }));
      process.stdout.write(`\n${hosts * LINE_VALUES} series, medians of ${setup.rounds}\n${table(summary)}`);
      results.push({ series: hosts * LINE_VALUES, summary, turns });
    }
    return { ...setup, tsbs: TSBS_VERSION, influxdb: `v${INFLUXDB_VERSION}`, results };
  },
});

async function prepare(tsbs: Tsbs, hosts: number, directory: string, setup: Setup): Promise<Material> {
  const { hours, queries: count, seed } = setup;
  const data: DataSet = { hosts, from: START, to: START + hours * HOUR, stepSeconds: STEP_SECONDS, seed };
  const [history, live] = [join(directory, 'history'), join(directory, 'live')];
  await tsbs.generateData(data, history);
  const queries = new Map<string, readonly TsbsQuery[]>();
  for (const [type, range] of Object.entries(QUERIES))
    if (range < hours) queries.set(type, await tsbs.generateQueries(data, type, count));
  return { tsbs, data, history, live, queries, answers: new Map() };
}

async function measureInTurns(
  material: Material,
  directory: string,
  setup: Setup,
  signal: AbortSignal,
): Promise<{ readonly system: string; readonly trials: Row[] }[]> {
  const turns = Object.keys(SYSTEMS).map((system) => ({ system, trials: [] as Row[] }));
  for (let round = 0; round < setup.rounds; round++) {
    for (const { system, trials } of round % 2 === 0 ? turns : turns.toReversed()) {
      signal.throwIfAborted();
      const place = join(directory, 'system');
      const started = await SYSTEMS[system]!(place);
      try {
        trials.push(await measure(started, material, setup, signal));
      } finally {
        await started.stop();
        await rm(place, { recursive: true, force: true });
      }
      const rate = showNumber(trials.at(-1)![LOADED]!);
      process.stderr.write(
        `${material.data.hosts * LINE_VALUES} series, round ${round + 1}/${setup.rounds}, ${system}: ${rate}/s\n`,
      );
    }
  }
  return turns;
}

async function measure(system: System, material: Material, setup: Setup, signal: AbortSignal): Promise<Row> {
  const { tsbs, data, history, live } = material;
  const { url, pids, directory } = system;
  const begun = usageOf(pids);
  const loadMemory = watch(pids);
  const loaded = await tsbs.load(history, { url, batch: BATCH, everySeconds: 0, creates: true });
  const full = usageOf(pids);
  await rest(pids, setup, signal);
  const rested = usageOf(pids);
  const onDisk = await diskUsage(directory);
  const loadPeak = loadMemory();

  const from = Math.floor(Date.now() / 1000) * 1000;
  await tsbs.generateData({ ...data, from, to: from + setup.liveSeconds * 1000, stepSeconds: 1 }, live);
  const liveMemory = watch(pids);
  const before = usageOf(pids);
  const started = performance.now();
  const sent = await tsbs.load(live, { url, batch: data.hosts, everySeconds: 1, creates: false });
  const seconds = (performance.now() - started) / 1000;
  const after = usageOf(pids);
  const livePeak = liveMemory();
  const stored = await system.stored();
  if (stored !== loaded.values + sent.values)
    throw new Error(`TSBS wrote ${loaded.values + sent.values} values, and ${stored} are stored`);
  return {
    [LOADED]: loaded.values / loaded.seconds,
    'CPU µs/value while it loads': ((full.cpu - begun.cpu) * 1e6) / loaded.values,
    'CPU µs/value until it rests': ((rested.cpu - full.cpu) * 1e6) / loaded.values,
    'bytes written/value': (rested.written - begun.written) / loaded.values,
    'bytes on disk/value': onDisk / loaded.values,
    'largest memory without files, MiB': loadPeak.anonymous / 2 ** 20,
    'largest memory, MiB': loadPeak.resident / 2 ** 20,
    'live: CPU % of a core': (100 * (after.cpu - before.cpu)) / seconds,
    'live: bytes written/value': (after.written - before.written) / sent.values,
    'live: memory without files, MiB': livePeak.anonymous / 2 ** 20,
    'live: memory, MiB': livePeak.resident / 2 ** 20,
    ...(await askAll(system, material)),
  };
}

interface Usage {
  /** Processor time since the start, seconds. */
  readonly cpu: number;
  /** Bytes written since the start, by the counter of the kernel. */
  readonly written: number;
}

function usageOf(pids: readonly number[]): Usage {
  return {
    cpu: pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0),
    written: pids.reduce((sum, pid) => sum + writtenBytes(pid), 0),
  };
}

/** Watches the memory of processes. What it returns ends that, and gives the sum of their peaks. */
function watch(pids: readonly number[]): () => Memory {
  const watches = pids.map(watchMemory);
  return () => {
    const peaks = watches.map((end) => end());
    return {
      resident: peaks.reduce((sum, { resident }) => sum + resident, 0),
      anonymous: peaks.reduce((sum, { anonymous }) => sum + anonymous, 0),
    };
  };
}

/** Waits until the processes use little processor time. @throws {Error} not within an hour */
async function rest(
  pids: readonly number[],
  { restSeconds, windowSeconds }: Setup,
  signal: AbortSignal,
): Promise<void> {
  const deadline = performance.now() + REST_MS;
  await sleep(restSeconds * 1000, undefined, { signal });
  for (;;) {
    const before = usageOf(pids).cpu;
    await sleep(windowSeconds * 1000, undefined, { signal });
    if (usageOf(pids).cpu - before < REST_SHARE * windowSeconds) return;
    if (performance.now() > deadline) throw new Error('a system still works an hour after the last write');
  }
}

/** Sends all queries, one at a time. Resolves to the median of each type, milliseconds. */
async function askAll(system: System, { queries, answers }: Material): Promise<Row> {
  const times: Record<string, number> = {};
  for (const [type, each] of queries) {
    const [first] = each as [TsbsQuery];
    const { figures } = await system.ask(first);
    const known = answers.get(type);
    if (known === undefined) answers.set(type, figures);
    else compareFigures(known, figures, first);
    const taken: number[] = [];
    for (const deadline = performance.now() + QUERIES_MS; taken.length < each.length; ) {
      if (taken.length >= FEWEST_QUERIES && performance.now() > deadline) break;
      taken.push((await system.ask(each[taken.length]!)).ms);
    }
    times[`${type}, ms`] = median(taken);
  }
  return times;
}

function table(summary: readonly { readonly system: string; readonly figures: Row }[]): string {
  const [one, other] = summary.map(({ figures }) => figures) as [Row, Row];
  return textTable([
    ['', ...summary.map(({ system }) => system), 'quotient'],
    ...Object.entries(one).map(([label, figure]) => [
      label,
      showNumber(figure),
      showNumber(other[label]!),
      (figure / other[label]!).toFixed(2),
    ]),
  ]);
}

if (import.meta.main) process.exitCode = await run(program);

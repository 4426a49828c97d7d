import { availableParallelism } from 'node:os';
import { reapedSeconds } from '@tidegauge/experiments/trial/proc';
import { buildK6 } from '@tidegauge/lab/k6';
import { HttpClient } from '@tidegauge/loadtests/drivers/http-client';
import { runK6 } from '@tidegauge/loadtests/drivers/run-k6';
import { load } from '@tidegauge/loadtests/loading/load';
import { makeTable, recordItems } from '@tidegauge/loadtests/loading/load-records';
import type { Plan } from '@tidegauge/loadtests/operations/plan';
import { RECORD_SCRIPTS } from '@tidegauge/loadtests/profiles/records-profile';
import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { median } from '@tidegauge/loadtests/results/statistics';
import { summarize } from '@tidegauge/loadtests/results/summary';
import { textTable } from '@tidegauge/loadtests/results/table';
import { STORES, startStorePlaces } from '@tidegauge/loadtests/targets/store-places';
import { defineConfig, oneOf, run } from '@tidegauge/service/program';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import { cpuSeconds } from '@tidegauge/test-support/process-usage';
import { parseWorkload, type RecordWorkload } from '@tidegauge/workload';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';
import { startEmptyHandler } from '../src/empty-handler.ts';

/**
 * `npm run bench -- ceiling`: the highest read rate of k6 itself on this machine. The same script reads records from the
 * API over a store, and, in alternation, from a handler that answers every request with the same record. The rate of
 * the handler is the limit of k6: no store can be measured above it. The reference script in JavaScript reads from the
 * handler too.
 */
const THREADS = 16;

const { quick, rounds, json } = BENCH_SETTINGS;
const settings = defineConfig({
  store: { kind: oneOf(STORES), default: 'postgres', help: 'The store behind the API, started by the lab.' },
  rounds,
  quick,
  json,
});

interface Setup {
  readonly store: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly records: number;
}

interface Trial {
  readonly readsPerSecond: number;
  readonly p50Micros: number;
  readonly p99Micros: number;
  /** Processor time of the process that answers. */
  readonly cpuMicrosPerRead: number;
  /** Processor time of k6, with its start. */
  readonly k6MicrosPerRead: number;
}

type Trials = Readonly<Record<'api' | 'empty' | 'reference', Trial[]>>;

export const program = defineBench({
  name: 'ceiling',
  summary:
    'Measures what k6 itself can do on this machine: reads from the API beside reads from an empty handler.',
  settings,
  check: ({ store, rounds, quick }): Setup => ({
    store,
    rounds: rounds ?? (quick ? 1 : 5),
    seconds: quick ? 3 : 15,
    records: quick ? 500 : 10_000,
  }),
  async run(_config, setup, { closers, signal }) {
    const { store, rounds, seconds, records } = setup;
    const properties = `recordcount=${records}\nreadproportion=1\nupdateproportion=0\nrequestdistribution=zipfian`;
    const workload = parseWorkload(properties, { file: 'workload c' });
    const k6 = await buildK6();
    const places = await startStorePlaces(store);
    closers.add(() => places.stop());
    const api = await startApiProcess({ STORE: await places.create('ceiling') });
    closers.add(() => api.stop());
    const empty = await startEmptyHandler();
    closers.add(() => empty.stop());
    const trials: Trials = { api: [], empty: [], reference: [] };
    const client = new HttpClient(THREADS, null);
    await makeTable(api.url, client, workload);
    await load(recordItems(api.url, client, workload, 1), THREADS, signal);
    client.close();
    const measure = (target: Target, driver: keyof typeof RECORD_SCRIPTS = 'k6') =>
      measureReads(target, { workload, seconds, k6, script: RECORD_SCRIPTS[driver], signal });
    for (let round = 0; round < rounds; round += 1) {
      const turns = [
        async () => trials.api.push(await measure(api)),
        async () => trials.empty.push(await measure(empty)),
        async () => trials.reference.push(await measure(empty, 'k6-js')),
      ];
      for (const turn of round % 2 === 0 ? turns : turns.toReversed()) await turn();
      process.stderr.write(`round ${round + 1}/${rounds}\n`);
    }
    return { threads: THREADS, records, rounds, seconds, ...report(trials, setup), trials };
  },
});

interface Target {
  readonly url: string;
  readonly pid: number;
}

async function measureReads(
  { url, pid }: Target,
  {
    workload,
    seconds,
    k6,
    script,
    signal,
  }: {
    readonly workload: RecordWorkload;
    readonly seconds: number;
    readonly k6: string;
    readonly script: string;
    readonly signal: AbortSignal;
  },
): Promise<Trial> {
  const model = {
    kind: 'closed',
    threads: THREADS,
    operations: null,
    durationMs: seconds * 1000,
    rate: null,
  } as const;
  const plan: Plan = {
    parts: [{ profile: 'records', workload, model }],
    seed: 1,
    api: { url, token: null },
    broker: null,
    thresholds: {},
  };
  const before = cpuSeconds(pid);
  const reaped = reapedSeconds();
  const figures = await runK6(plan, { k6, script, dashboardPort: null, signal });
  const cpu = cpuSeconds(pid) - before;
  const k6Cpu = reapedSeconds() - reaped;
  const { throughput, operations, failures } = summarize(figures, false);
  if (failures.length > 0) throw new Error(failures.join('\n'));
  const { count, p50, p99 } = operations.READ!.latency!;
  return {
    readsPerSecond: throughput,
    p50Micros: p50,
    p99Micros: p99,
    cpuMicrosPerRead: (cpu * 1e6) / count,
    k6MicrosPerRead: (k6Cpu * 1e6) / count,
  };
}

/** Prints the table. Returns the medians, and the API's rate as a share of the rate of the empty handler. */
function report(trials: Trials, { store, rounds }: Setup) {
  const middle = (of: readonly Trial[]): Trial => ({
    readsPerSecond: median(of.map(({ readsPerSecond }) => readsPerSecond)),
    p50Micros: median(of.map(({ p50Micros }) => p50Micros)),
    p99Micros: median(of.map(({ p99Micros }) => p99Micros)),
    cpuMicrosPerRead: median(of.map(({ cpuMicrosPerRead }) => cpuMicrosPerRead)),
    k6MicrosPerRead: median(of.map(({ k6MicrosPerRead }) => k6MicrosPerRead)),
  });
  const summary = {
    api: middle(trials.api),
    empty: middle(trials.empty),
    reference: middle(trials.reference),
  };
  const row = (name: string, trial: Trial): string[] => [
    name,
    `${showNumber(trial.readsPerSecond)}/s`,
    `${showNumber(trial.p50Micros)} us`,
    `${showNumber(trial.p99Micros)} us`,
    `${trial.cpuMicrosPerRead.toFixed(0)} us`,
    `${trial.k6MicrosPerRead.toFixed(0)} us`,
  ];
  process.stdout.write(
    `\nReads by k6, ${THREADS} threads, ${availableParallelism()} cores, median of ${rounds}\n`,
  );
  process.stdout.write(
    textTable([
      ['answered by', 'reads', 'median', 'p99', 'its CPU per read', 'CPU of k6'],
      row(`the API over ${store}`, summary.api),
      row('an empty handler', summary.empty),
      row('an empty handler, script in JavaScript', summary.reference),
    ]),
  );
  const ratio = (one: readonly Trial[], other: readonly Trial[]) =>
    median(one.map((trial, round) => trial.readsPerSecond / other[round]!.readsPerSecond));
  const share = ratio(trials.api, trials.empty);
  const gain = ratio(trials.empty, trials.reference);
  process.stdout.write(`the API reaches ${(share * 100).toFixed(0)} % of what k6 can do here\n`);
  process.stdout.write(
    `our module of k6 reads ${gain.toFixed(1)} times as fast as the script in JavaScript\n`,
  );
  return { share, gain, summary };
}

if (import.meta.main) process.exitCode = await run(program);

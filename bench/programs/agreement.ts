import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { buildK6 } from '@tidegauge/lab/k6';
import { runK6 } from '@tidegauge/loadtests/drivers/run-k6';
import { runYcsb, type YcsbPhase } from '@tidegauge/loadtests/drivers/run-ycsb';
import { RECORD_SCRIPTS, readWorkload } from '@tidegauge/loadtests/profiles/records-profile';
import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { median } from '@tidegauge/loadtests/results/statistics';
import { estimate } from '@tidegauge/loadtests/results/student';
import { summarize } from '@tidegauge/loadtests/results/summary';
import { textTable } from '@tidegauge/loadtests/results/table';
import { checkStore, provideStore } from '@tidegauge/loadtests/targets/targets';
import { type Config, run } from '@tidegauge/service/program';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import type { RecordWorkload } from '@tidegauge/workload';
import { BENCH_SETTINGS, type BenchContext, defineBench } from '../src/define-bench.ts';

/**
 * `npm run bench -- agreement`: compares YCSB's own client with the k6 profile `records`, by our module of k6 and in
 * JavaScript. They run in turns on the same API and table, with the same threads and the same target rate, to show
 * whether their figures are comparable.
 */
const THREADS = 4;

const WORKLOAD = 'a';
const FILE = fileURLToPath(import.meta.resolve(`@tidegauge/workload/workloads/workload${WORKLOAD}`));
const PERCENTILES = 'hdrhistogram.percentiles=50,95,99';

/** The figures of one run. Latencies are in microseconds, by names such as `READ p50`. */
interface Trial {
  readonly throughput: number;
  readonly latencies: Readonly<Record<string, number>>;
}

export const program = defineBench({
  name: 'agreement',
  summary: "YCSB's own client beside our k6 profile, through the same API.",
  settings: BENCH_SETTINGS,
  check(config) {
    checkStore(config.store, config);
    const recordcount = config.quick ? '500' : '10000';
    return readWorkload(WORKLOAD, { recordcount });
  },
  run: compare,
});

async function compare(
  config: Config<typeof BENCH_SETTINGS>,
  workload: RecordWorkload,
  { closers, signal }: BenchContext,
): Promise<object> {
  const { quick, seed } = config;
  // The JVM of YCSB and k6 start in the time of a quick run.
  const rate = quick ? 100 : 500;
  const rounds = config.rounds ?? (quick ? 1 : 5);
  const seconds = quick ? 3 : 20;
  const k6 = await buildK6();
  const api = await startApiProcess({ STORE: await provideStore(config.store, closers) });
  closers.add(() => api.stop());
  const ycsb = (phase: YcsbPhase, operations: number) => {
    const { recordCount: recordcount } = workload;
    const properties = { 'tidegauge.url': api.url, recordcount, operationcount: operations };
    const pairs = Object.entries(properties).map(([name, value]) => `${name}=${value}`);
    const target = phase === 'run' ? ['-target', String(rate)] : [];
    const args = [...pairs, 'measurementtype=hdrhistogram', PERCENTILES].flatMap((pair) => ['-p', pair]);
    return runYcsb({ phase, args: ['-P', FILE, ...args, '-threads', String(THREADS), ...target] });
  };
  const byYcsb = async (): Promise<Trial> => {
    const { throughput, operations, log } = await ycsb('run', rate * seconds);
    const latencies: Record<string, number> = {};
    for (const name of ['READ', 'UPDATE']) {
      const { count, returns, figures } = operations[name] ?? { count: 0, returns: {}, figures: {} };
      if (count === 0 || returns.OK !== count) throw new Error(`YCSB's ${name} failed: ${log}`);
      latencies[`${name} mean`] = figures['AverageLatency(us)']!;
      latencies[`${name} p50`] = figures['50thPercentileLatency(us)']!;
      latencies[`${name} p95`] = figures['95thPercentileLatency(us)']!;
      latencies[`${name} p99`] = figures['99thPercentileLatency(us)']!;
    }
    return { throughput, latencies };
  };
  const byK6 = async (driver: keyof typeof RECORD_SCRIPTS): Promise<Trial> => {
    const operations = rate * seconds;
    const model = { kind: 'closed', threads: THREADS, operations, durationMs: null, rate } as const;
    const plan = {
      parts: [{ profile: 'records', workload, model }],
      seed,
      api: { url: api.url, token: null },
      broker: null,
      thresholds: {},
    } as const;
    const figures = await runK6(plan, { k6, script: RECORD_SCRIPTS[driver], dashboardPort: null, signal });
    const { throughput, operations: done, failures } = summarize(figures, false);
    if (failures.length > 0) throw new Error(failures.join('\n'));
    const latencies: Record<string, number> = {};
    for (const name of ['READ', 'UPDATE']) {
      const { mean, p50, p95, p99 } = done[name]!.latency!;
      for (const [figure, value] of Object.entries({ mean, p50, p95, p99 }))
        latencies[`${name} ${figure}`] = value;
    }
    return { throughput, latencies };
  };

  await ycsb('load', 0);
  const sides = { ycsb: byYcsb, k6: () => byK6('k6'), js: () => byK6('k6-js') };
  const names = Object.keys(sides) as (keyof typeof sides)[];
  const trials: Readonly<Record<keyof typeof sides, Trial>>[] = [];
  for (let round = 0; round <= rounds; round++) {
    const trial: Partial<Record<keyof typeof sides, Trial>> = {};
    // Each side is in each place equally often.
    const turn = round % names.length;
    for (const name of [...names.slice(turn), ...names.slice(0, turn)]) trial[name] = await sides[name]();
    if (round > 0) trials.push(trial as Required<typeof trial>);
    process.stderr.write(`round ${round}/${rounds}\n`);
  }
  const rows = ['throughput', ...Object.keys(trials[0]!.k6.latencies)].map((name) => {
    const of = (trial: Trial) => (name === 'throughput' ? trial.throughput : trial.latencies[name]!);
    return {
      name,
      ycsb: median(trials.map((trial) => of(trial.ycsb))),
      k6: median(trials.map((trial) => of(trial.k6))),
      js: median(trials.map((trial) => of(trial.js))),
      ratio: quotients(trials.map((trial) => of(trial.k6) / of(trial.ycsb))),
      jsRatio: quotients(trials.map((trial) => of(trial.k6) / of(trial.js))),
    };
  });
  process.stdout.write(
    `\nWorkload ${WORKLOAD.toUpperCase()} at ${rate}/s on ${THREADS} threads, ${availableParallelism()} cores, median of ${rounds}; latencies in us\n`,
  );
  process.stdout.write(
    textTable([
      ['', 'YCSB', 'k6', 'k6 in JavaScript', 'k6 / YCSB', 'k6 / JavaScript'],
      ...rows.map(({ name, ycsb: theirs, k6: ours, js, ratio, jsRatio }) => [
        name,
        showNumber(theirs),
        showNumber(ours),
        showNumber(js),
        showQuotient(ratio),
        showQuotient(jsRatio),
      ]),
    ]),
  );
  return { workload: WORKLOAD, threads: THREADS, rate, seconds, rounds, rows, trials };
}

/** The median of the rounds' quotients, and the 95 % interval of their mean: null for one round. */
interface Quotient {
  readonly median: number;
  readonly interval: readonly [low: number, high: number] | null;
}

function quotients(values: readonly number[]): Quotient {
  const { low, high } = estimate(values);
  return { median: median(values), interval: values.length > 1 ? [low, high] : null };
}

function showQuotient({ median: middle, interval }: Quotient): string {
  const text = middle.toFixed(2);
  return interval === null ? text : `${text} (${interval.map((end) => end.toFixed(2)).join(' to ')})`;
}

if (import.meta.main) process.exitCode = await run(program);

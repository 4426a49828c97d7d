import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { buildK6 } from '@tidegauge/lab/k6';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import { cpuSeconds } from '@tidegauge/test-support/process-usage';
import { parseWorkload } from '@tidegauge/workload';
import { HttpClient } from '../src/drivers/http-client.ts';
import { runK6 } from '../src/drivers/run-k6.ts';
import { benchFlags } from '../src/explain.ts';
import { load } from '../src/loading/load.ts';
import { makeTable, recordItems } from '../src/loading/load-records.ts';
import type { Plan } from '../src/operations/plan.ts';
import { machine, provenance } from '../src/results/machine.ts';
import { median } from '../src/results/statistics.ts';
import { summarize } from '../src/results/summary.ts';
import { showNumber, textTable } from '../src/results/table.ts';
import { STORES, startStorePlaces } from '../src/targets/store-places.ts';
import { startEmptyHandler } from './empty-handler.ts';

/**
 * `npm run bench:ceiling`: what k6 itself can do on this machine. Reads of records by the same script, in turns, from
 * the API over a store and from a handler that answers every request with one and the same record: beyond the rate
 * of the latter a figure is about k6.
 */
const THREADS = 16;

const flags = benchFlags({
  store: { type: 'string', default: 'postgres' },
  rounds: { type: 'string' },
  quick: { type: 'boolean', default: false },
  json: { type: 'string' },
});
const rounds = Number(flags.rounds ?? (flags.quick ? 1 : 5));
const seconds = flags.quick ? 3 : 15;
const records = flags.quick ? 500 : 10_000;
if (!STORES.includes(flags.store)) {
  process.stderr.write(`there is no store ${flags.store} here: there are ${STORES.join(', ')}\n`);
  process.exit(2);
}

interface Trial {
  readonly readsPerSecond: number;
  readonly p50Micros: number;
  readonly p99Micros: number;
  /** Of the process that answers. */
  readonly cpuMicrosPerRead: number;
}

const signal = new AbortController().signal;
const properties = `recordcount=${records}\nreadproportion=1\nupdateproportion=0\nrequestdistribution=zipfian`;
const workload = parseWorkload(properties, { file: 'workload c' });
const k6 = await buildK6();
const places = await startStorePlaces(flags.store);
const api = await startApiProcess({ STORE: await places.create('ceiling') });
const empty = await startEmptyHandler();
const trials: Record<'api' | 'empty', Trial[]> = { api: [], empty: [] };
try {
  const client = new HttpClient(THREADS, null);
  await makeTable(api.url, client, workload);
  await load(recordItems(api.url, client, workload, 1), THREADS, signal);
  client.close();
  for (let round = 0; round < rounds; round += 1) {
    const turns = [
      async () => trials.api.push(await measure(api)),
      async () => trials.empty.push(await measure(empty)),
    ];
    for (const turn of round % 2 === 0 ? turns : turns.toReversed()) await turn();
    process.stderr.write(`round ${round + 1}/${rounds}\n`);
  }
} finally {
  await empty.stop();
  await api.stop();
  await places.stop();
}
report();

async function measure({ url, pid }: { readonly url: string; readonly pid: number }): Promise<Trial> {
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
  const figures = await runK6(plan, { k6, script: 'records.ts', dashboardPort: null, signal });
  const cpu = cpuSeconds(pid) - before;
  const { throughput, operations, failures } = summarize(figures, false);
  if (failures.length > 0) throw new Error(failures.join('\n'));
  const { count, p50, p99 } = operations.READ!.latency!;
  return {
    readsPerSecond: throughput,
    p50Micros: p50,
    p99Micros: p99,
    cpuMicrosPerRead: (cpu * 1e6) / count,
  };
}

function report(): void {
  const middle = (of: readonly Trial[]): Trial => ({
    readsPerSecond: median(of.map(({ readsPerSecond }) => readsPerSecond)),
    p50Micros: median(of.map(({ p50Micros }) => p50Micros)),
    p99Micros: median(of.map(({ p99Micros }) => p99Micros)),
    cpuMicrosPerRead: median(of.map(({ cpuMicrosPerRead }) => cpuMicrosPerRead)),
  });
  const summary = { api: middle(trials.api), empty: middle(trials.empty) };
  const row = (name: string, trial: Trial): string[] => [
    name,
    `${showNumber(trial.readsPerSecond)}/s`,
    `${showNumber(trial.p50Micros)} us`,
    `${showNumber(trial.p99Micros)} us`,
    `${trial.cpuMicrosPerRead.toFixed(0)} us`,
  ];
  process.stdout.write(
    `\nReads by k6, ${THREADS} threads, ${availableParallelism()} cores, median of ${rounds}\n`,
  );
  process.stdout.write(
    textTable([
      ['answered by', 'reads', 'median', 'p99', 'its CPU per read'],
      row(`the API over ${flags.store}`, summary.api),
      row('an empty handler', summary.empty),
    ]),
  );
  const share = median(
    trials.api.map((trial, round) => trial.readsPerSecond / trials.empty[round]!.readsPerSecond),
  );
  process.stdout.write(`the API reaches ${(share * 100).toFixed(0)} % of what k6 can do here\n`);
  if (flags.json !== undefined) {
    const document = {
      ...provenance(),
      machine: machine(),
      store: flags.store,
      threads: THREADS,
      records,
      rounds,
      seconds,
      share,
      summary,
      trials,
    };
    writeFileSync(flags.json, `${JSON.stringify(document, null, 2)}\n`);
  }
}

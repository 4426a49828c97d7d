import { setTimeout as sleep } from 'node:timers/promises';
import { startMosquitto } from '@tidegauge/lab';
import { buildK6 } from '@tidegauge/lab/k6';
import { HttpClient } from '@tidegauge/loadtests/drivers/http-client';
import { runK6 } from '@tidegauge/loadtests/drivers/run-k6';
import { load } from '@tidegauge/loadtests/loading/load';
import { makeTable, recordItems } from '@tidegauge/loadtests/loading/load-records';
import type { Plan } from '@tidegauge/loadtests/operations/plan';
import { readWorkload } from '@tidegauge/loadtests/profiles/records-profile';
import { mistake } from '@tidegauge/loadtests/profiles/settings';
import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { summarize } from '@tidegauge/loadtests/results/summary';
import { textTable } from '@tidegauge/loadtests/results/table';
import { checkStore, provideFolder, provideStore } from '@tidegauge/loadtests/targets/targets';
import type { LedgerDocument } from '@tidegauge/readings';
import { type Config, defineConfig, duration, integer, oneOf, run, text } from '@tidegauge/service/program';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';
import { cpuSeconds } from '@tidegauge/test-support/process-usage';
import { publishFromProcess } from '@tidegauge/test-support/publisher-process';
import { maskUrl } from '@tidegauge/text';
import { BENCH_SETTINGS, type BenchContext, defineBench } from '../src/define-bench.ts';
import { findSaturation, requireShare, type Saturation, type Step } from '../src/find-saturation.ts';

/**
 * `npm run bench -- saturate`: the highest rate that meets the objective: the limit for p99, no errors, no loss according
 * to the ledger, and everything stored. It publishes readings over MQTT to ingest, or operates on records over HTTP
 * with k6's open model. Latencies count from the scheduled start of an operation, so that waiting time is included.
 */
const { rounds: _, ...common } = BENCH_SETTINGS;
const SETTINGS = defineConfig({
  ...common,
  target: {
    kind: oneOf(['ingest', 'records']),
    default: 'ingest',
    help: 'Readings over MQTT, or records over HTTP.',
  },
  p99: { kind: duration(0.001, 60), default: '100ms', help: 'The objective for the 99th percentile.' },
  from: {
    kind: integer(1, 1_000_000),
    help: 'The first rate, per second. Default: 1000 readings, 250 records.',
  },
  to: {
    kind: integer(1, 1_000_000),
    help: 'The highest rate. Default: 64000 readings, 16000 records.',
  },
  workload: {
    kind: text('a letter from a to g, or i, or a YCSB property file', 'WORKLOAD'),
    default: 'a',
    help: 'Workload of records.',
  },
});

const DEVICES = 500;
/** The rate that failed is at most this many times the one that held. */
const PRECISION = 1.1;
/** How long each rate is offered, and the share of it that must be achieved: the ends are much of a quick step. */
const FULL = { seconds: 15, minimum: 0.95, records: 10_000 };
const QUICK = { seconds: 1, minimum: 0.25, records: 500 };
const STORED_MS = 30_000;
const ASK_MS = 20;
const LOADERS = 16;

type Setup = Config<typeof SETTINGS> & {
  readonly seconds: number;
  readonly slo: number;
  /** Share of the offered rate that must be achieved, 0 to 1. */
  readonly minimum: number;
};

export const program = defineBench({
  name: 'saturate',
  summary:
    'The highest rate that keeps p99, loses nothing and leaves nothing behind, and the curve up to it.',
  settings: SETTINGS,
  check(config) {
    checkStore(config.store, config);
    const ingest = config.target === 'ingest';
    const from = config.from ?? (ingest ? 1000 : 250);
    const to = config.to ?? (config.quick ? from * 2 : ingest ? 64_000 : 16_000);
    if (from > to) throw mistake(`--from ${from} is above --to ${to}: there is nothing to search`);
    const { seconds, minimum, records } = config.quick ? QUICK : FULL;
    const workload = readWorkload(config.workload, { recordcount: String(records) });
    if (workload.mix.insert > 0) {
      throw mistake(
        `--workload ${config.workload} inserts, and each rate would insert the same records again: use a, b, c or f`,
      );
    }
    return { from, to, workload, seconds, minimum };
  },
  async run(config, { from, to, workload, seconds, minimum }, context) {
    const setup = { ...config, seconds, slo: config.p99 * 1000, minimum };
    const measure =
      config.target === 'ingest'
        ? await ingestSteps(setup, context)
        : await recordSteps(setup, workload, context);
    // Warm-up: the first measurement includes compiling code and creating tables.
    await measure(from);
    const saturation = await findSaturation({ from, to, precision: PRECISION }, async (rate) => {
      context.signal.throwIfAborted();
      const step = requireShare(await measure(rate), setup.minimum);
      process.stderr.write(`${rate}/s: ${step.broken.join('; ') || 'held'}\n`);
      return step;
    });
    print(setup, saturation);
    const { target, quick, seed } = config;
    return {
      setup: { target, quick, seed, from, to, seconds, p99Ms: setup.slo, minimum, precision: PRECISION },
      ...saturation,
    };
  },
});

type Measure = (rate: number) => Promise<Step>;

/** Starts a separate ingest process for each rate, because the figures of ingest count from its start. */
async function ingestSteps({ store, seconds, slo }: Setup, { closers }: BenchContext): Promise<Measure> {
  const url = await provideStore(store, closers);
  const broker = await startMosquitto();
  closers.add(() => broker.stop());
  const run = `saturate-${Date.now().toString(36)}`;
  let number = 0;
  return async (rate) => {
    const name = `${run}-${number++}`;
    const ingest = await startIngestProcess({
      STORE: url,
      BROKER: broker.url,
      CLIENT_ID: name,
      DATA_DIR: provideFolder(closers),
      // The objective is for the latency that is possible. `auto` waits up to 200 ms at low rates.
      PACE: '3ms',
    });
    try {
      const cpu = cpuSeconds(ingest.pid);
      const count = Math.ceil(rate * seconds);
      const messages = { port: broker.port, count, devices: DEVICES, rate, prefix: name };
      const published = await publishFromProcess(messages);
      const ended = performance.now();
      let ledger = await ingest.ledger();
      while (!isStored(ledger, count) && performance.now() - ended < STORED_MS) {
        await sleep(ASK_MS);
        ledger = await ingest.ledger();
      }
      const took = published.seconds + (performance.now() - ended) / 1000;
      const { stored, duplicate, quarantined } = ledger.readings;
      const { p50, p99 } = ledger.stages.end_to_end;
      // A publisher behind schedule writes late timestamps. Its delay is included only in its own figures.
      const p99Ms = Math.max((p99 ?? Number.NaN) * 1000, published.intended!.p99 / 1000);
      return {
        offered: rate,
        achieved: stored / took,
        p50Ms: (p50 ?? Number.NaN) * 1000,
        p99Ms,
        cpu: (cpuSeconds(ingest.pid) - cpu) / took,
        broken: [
          ...late(p99Ms, slo),
          ...when(published.acknowledged < count, `${count - published.acknowledged} were not acknowledged`),
          ...when(stored + duplicate < count, `${count - stored - duplicate} are not stored`),
          ...when(quarantined > 0, `${quarantined} are in quarantine`),
          ...when(!ledger.balanced || ledger.gaps.missing > 0, `the ledger misses ${ledger.gaps.missing}`),
        ],
      };
    } finally {
      await ingest.stop();
    }
  };
}

function isStored({ readings: { received, inFlight, spooled } }: LedgerDocument, count: number): boolean {
  return received >= count && inFlight + spooled === 0;
}

async function recordSteps(
  { store, seed, seconds, slo }: Setup,
  workload: ReturnType<typeof readWorkload>,
  { closers, signal }: BenchContext,
): Promise<Measure> {
  const k6 = await buildK6();
  const api = await startApiProcess({ STORE: await provideStore(store, closers) });
  closers.add(() => api.stop());
  const client = new HttpClient(LOADERS, null);
  await makeTable(api.url, client, workload);
  await load(recordItems(api.url, client, workload, seed), LOADERS, signal);
  client.close();
  return async (rate) => {
    const underWay = Math.ceil((rate * slo) / 1000);
    const model = {
      kind: 'open',
      threads: Math.min(1000, Math.max(64, underWay)),
      startRate: rate,
      stages: [{ rate, durationMs: seconds * 1000 }],
    } as const;
    const plan: Plan = {
      parts: [{ profile: 'records', workload, model }],
      seed,
      api: { url: api.url, token: null },
      broker: null,
      thresholds: {},
    };
    const cpu = cpuSeconds(api.pid);
    const figures = await runK6(plan, { k6, script: 'records.ts', dashboardPort: null, signal });
    const used = cpuSeconds(api.pid) - cpu;
    const { runTimeMs, throughput, operations, dropped, failures } = summarize(figures, true);
    const timed = Object.values(operations).flatMap(({ intended }) => intended ?? []);
    // The objective applies to each type of operation.
    const p99Ms = Math.max(...timed.map(({ p99 }) => p99)) / 1000;
    const p50Ms = Math.max(...timed.map(({ p50 }) => p50)) / 1000;
    return {
      offered: rate,
      achieved: throughput,
      p50Ms,
      p99Ms,
      cpu: (used * 1000) / runTimeMs,
      broken: [...late(p99Ms, slo), ...when(dropped > 0, `${dropped} operations were dropped`), ...failures],
    };
  };
}

function late(p99Ms: number, slo: number): string[] {
  return when(!(p99Ms <= slo), `p99 ${showNumber(p99Ms)} ms`);
}

function when(so: boolean, problem: string): string[] {
  return so ? [problem] : [];
}

function print({ target, store, seconds, slo, minimum }: Setup, { curve, knee, beyond }: Saturation): void {
  const what = target === 'ingest' ? 'readings over MQTT' : 'operations on records over HTTP';
  process.stdout.write(
    `\nSaturation: ${what}, ${maskUrl(store)}, ${seconds} s each, objective p99 <= ${showNumber(slo)} ms and ${minimum * 100} % of the rate\n`,
  );
  process.stdout.write(
    textTable([
      ['offered', 'achieved', 'p50', 'p99', 'CPU', 'objective'],
      ...curve.map(({ offered, achieved, p50Ms, p99Ms, cpu, broken }) => [
        `${offered}/s`,
        `${showNumber(achieved)}/s`,
        `${showNumber(p50Ms)} ms`,
        `${showNumber(p99Ms)} ms`,
        `${(cpu * 100).toFixed(0)} %`,
        broken.length === 0 ? 'held' : broken.join('; '),
      ]),
    ]),
  );
  if (knee === null) process.stdout.write('no rate held: begin lower with --from\n');
  else if (beyond) process.stdout.write(`the knee is beyond ${knee.offered}/s: raise --to\n`);
  else process.stdout.write(`knee: ${knee.offered}/s\n`);
}

if (import.meta.main) process.exitCode = await run(program);

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startMosquitto } from '@tidegauge/lab';
import { INFLUXDB_VERSION, startInfluxDb } from '@tidegauge/lab/influxdb';
import { startPostgres } from '@tidegauge/lab/postgres';
import { familyOf } from '@tidegauge/lab/processes';
import { buildTelegraf, TELEGRAF_VERSION } from '@tidegauge/lab/telegraf';
import { drawFigures } from '@tidegauge/loadtests/results/run-analysis';
import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { median } from '@tidegauge/loadtests/results/statistics';
import { textTable } from '@tidegauge/loadtests/results/table';
import { defineConfig, outputFile, run } from '@tidegauge/service/program';
import { cpuSeconds, memoryOf } from '@tidegauge/test-support/process-usage';
import { publishFromProcess } from '@tidegauge/test-support/publisher-process';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';
import {
  CONSUMERS,
  type Consumer,
  type MakeConsumer,
  PLUGINS,
  type Servers,
} from '../src/peers/consumers.ts';

/**
 * `npm run bench -- peers`: ingest and Telegraf empty a queue at the broker, in turns. The consumer is stopped while the
 * messages are published, and then started again. The rate is that between the first and the last time at which the number
 * of stored messages was read while the queue was not empty: broker and publisher would limit a consumer that runs
 * while messages are published.
 */
const WAIT_MS = 180_000;
const POLL_MS = 100;
/** A pause after a count is this many times as long as the count, because counting costs the database time. */
const PAUSE_FACTOR = 4;
/** Telegraf has no readiness check. Messages that arrive before it has made its persistent session are lost. */
const SESSION_MS = 3000;
const DEVICES = 500;
const { quick, rounds, json } = BENCH_SETTINGS;
const settings = defineConfig({
  rounds,
  picture: { kind: outputFile(), help: 'Draw the figures to this file as SVG.' },
  quick,
  json,
});

/** Settings that all trials share. */
interface Setup {
  readonly messages: number;
  readonly rounds: number;
}

interface Trial {
  readonly perSecond: number;
  /** Processor time of the consumer, of the broker and of the database. The database also counts its rows meanwhile. */
  readonly cpuMicros: number;
  readonly brokerCpuMicros: number;
  readonly databaseCpuMicros: number;
  /** Largest resident memory of the consumer. */
  readonly mebibytes: number;
  /** The largest resident memory that is no file. */
  readonly anonymousMebibytes: number;
}

/** All trials of a consumer, with medians of rate and processor times, and the largest memory. */
interface Result extends Trial {
  readonly consumer: string;
  readonly trials: readonly Trial[];
}

/** Figures of ingest divided by those of another consumer, in each round: median, least and most. */
interface Comparison {
  readonly consumer: string;
  readonly rate: Spread;
  readonly cpu: Spread;
}

type Spread = readonly [median: number, least: number, most: number];

interface Sample {
  /** Seconds. */
  readonly at: number;
  readonly stored: number;
  /** Processor time since the start of each, seconds. */
  readonly cpu: { readonly consumer: number; readonly broker: number; readonly database: number };
}

export const program = defineBench({
  name: 'peers',
  summary:
    'Compares ingest with Telegraf while they empty a queue at the broker: both into PostgreSQL, and Telegraf into InfluxDB 1.8.',
  settings,
  check: ({ rounds, quick }): Setup => ({
    messages: quick ? 50_000 : 400_000,
    rounds: rounds ?? (quick ? 1 : 5),
  }),
  async run({ picture, quick }, setup, { closers, signal }) {
    const telegraf = await buildTelegraf(PLUGINS);
    const directory = mkdtempSync(join(tmpdir(), 'tidegauge-peers-'));
    closers.add(async () => rmSync(directory, { recursive: true }));
    const broker = await startMosquitto();
    closers.add(() => broker.stop());
    const postgres = await startPostgres();
    closers.add(() => postgres.stop());
    const influxdb = await startInfluxDb();
    closers.add(() => influxdb.stop());
    const servers: Servers = { telegraf, directory, broker, postgres, influxdb };
    const trials = Object.entries(CONSUMERS).map(([name, make]) => ({ name, make, done: [] as Trial[] }));
    for (let round = 0; round < setup.rounds; round++) {
      for (const [index, { name, make, done }] of (round % 2 === 0
        ? trials
        : trials.toReversed()
      ).entries()) {
        signal.throwIfAborted();
        done.push(await measure(make, servers, `peers_${round}_${index}`, setup.messages));
        process.stderr.write(`round ${round + 1}/${setup.rounds}: ${row(name, done.at(-1)!).join(' ')}\n`);
      }
    }
    const results = trials.map(({ name, done }) => resultOf(name, done));
    const comparisons = results.slice(1).map((other) => compare(results[0]!, other));
    process.stdout.write(show(results, comparisons, setup));
    const versions = { telegraf: `v${TELEGRAF_VERSION}`, influxdb: `v${INFLUXDB_VERSION}` };
    const figures = { ...setup, ...versions, quick, results, comparisons };
    if (picture !== null) await drawFigures('peers', figures, picture);
    return figures;
  },
});

async function measure(make: MakeConsumer, servers: Servers, id: string, messages: number): Promise<Trial> {
  const consumer = await make(servers, id);
  try {
    const earlier = await makeSession(consumer, servers);
    const { port } = servers.broker;
    await publishFromProcess({ port, count: messages, devices: DEVICES, prefix: 'later' });
    return await catchUp(consumer, servers.broker.pid, earlier, messages);
  } finally {
    await consumer.remove();
  }
}

/** Lets the consumer make its session and its tables. Resolves to the number of stored messages. */
async function makeSession(consumer: Consumer, { broker }: Servers): Promise<number> {
  const { stop } = await consumer.start();
  try {
    await sleep(SESSION_MS);
    await publishFromProcess({ port: broker.port, count: DEVICES, devices: DEVICES });
    for (const deadline = performance.now() + WAIT_MS; ; await sleep(POLL_MS)) {
      if ((await consumer.stored()) === DEVICES) return DEVICES;
      demand(performance.now() < deadline, 'a consumer did not store its first messages');
    }
  } finally {
    await stop();
  }
}

async function catchUp(
  consumer: Consumer,
  broker: number,
  earlier: number,
  messages: number,
): Promise<Trial> {
  const { pid, stop } = await consumer.start();
  try {
    const samples: Sample[] = [];
    let mebibytes = 0;
    let anonymousMebibytes = 0;
    const deadline = performance.now() + WAIT_MS;
    for (let stored = 0; stored < messages; ) {
      const at = performance.now() / 1000;
      const database = familyCpu(consumer.databasePid);
      const cpu = { consumer: cpuSeconds(pid), broker: cpuSeconds(broker), database };
      stored = (await consumer.stored()) - earlier;
      if (stored > 0 && (stored < messages || samples.length < 2)) samples.push({ at, stored, cpu });
      const { resident, anonymous } = memoryOf(pid);
      mebibytes = Math.max(mebibytes, resident / 2 ** 20);
      anonymousMebibytes = Math.max(anonymousMebibytes, anonymous / 2 ** 20);
      demand(performance.now() < deadline, `a consumer stored ${stored} of ${messages} messages`);
      await sleep(Math.max(POLL_MS, PAUSE_FACTOR * (performance.now() - at * 1000)));
    }
    const [first, last] = [samples[0], samples.at(-1)];
    demand(
      first !== undefined && last !== undefined && first !== last,
      'give more messages: all were stored at once',
    );
    const count = last.stored - first.stored;
    const micros = (of: keyof Sample['cpu']) => ((last.cpu[of] - first.cpu[of]) * 1e6) / count;
    return {
      perSecond: count / (last.at - first.at),
      cpuMicros: micros('consumer'),
      brokerCpuMicros: micros('broker'),
      databaseCpuMicros: micros('database'),
      mebibytes,
      anonymousMebibytes,
    };
  } finally {
    await stop();
  }
}

/** Processor time of a process and its descendants that run now, seconds. A process may end meanwhile. */
function familyCpu(pid: number): number {
  return familyOf(pid).reduce((sum, each) => {
    try {
      return sum + cpuSeconds(each);
    } catch {
      return sum;
    }
  }, 0);
}

function demand(isRight: boolean, otherwise: string): asserts isRight {
  if (!isRight) throw new Error(otherwise);
}

function resultOf(consumer: string, trials: readonly Trial[]): Result {
  return {
    consumer,
    perSecond: median(trials.map(({ perSecond }) => perSecond)),
    cpuMicros: median(trials.map(({ cpuMicros }) => cpuMicros)),
    brokerCpuMicros: median(trials.map(({ brokerCpuMicros }) => brokerCpuMicros)),
    databaseCpuMicros: median(trials.map(({ databaseCpuMicros }) => databaseCpuMicros)),
    mebibytes: Math.max(...trials.map(({ mebibytes }) => mebibytes)),
    anonymousMebibytes: Math.max(...trials.map(({ anonymousMebibytes }) => anonymousMebibytes)),
    trials,
  };
}

function compare(ingest: Result, other: Result): Comparison {
  const spread = (field: 'perSecond' | 'cpuMicros'): Spread => {
    const ratios = ingest.trials.map((trial, round) => trial[field] / other.trials[round]![field]);
    return [median(ratios), Math.min(...ratios), Math.max(...ratios)];
  };
  return { consumer: other.consumer, rate: spread('perSecond'), cpu: spread('cpuMicros') };
}

function row(consumer: string, trial: Trial): string[] {
  const { perSecond, cpuMicros, brokerCpuMicros, databaseCpuMicros, mebibytes, anonymousMebibytes } = trial;
  return [
    consumer,
    `${showNumber(perSecond)}/s`,
    `${cpuMicros.toFixed(1)} us`,
    `${brokerCpuMicros.toFixed(1)} us`,
    `${databaseCpuMicros.toFixed(1)} us`,
    `${mebibytes.toFixed(0)} MiB`,
    `${anonymousMebibytes.toFixed(0)} MiB`,
  ];
}

function show(
  results: readonly Result[],
  comparisons: readonly Comparison[],
  { messages, rounds }: Setup,
): string {
  const head = [
    'consumer, store',
    'messages',
    'CPU per message',
    'of the broker',
    'of the database',
    'largest memory',
    'without files',
  ];
  const table = textTable([head, ...results.map((result) => row(result.consumer, result))]);
  const range = ([middle, least, most]: Spread) =>
    `${middle.toFixed(2)} (${least.toFixed(2)} to ${most.toFixed(2)})`;
  const lines = comparisons.map(
    ({ consumer, rate, cpu }) =>
      `ingest beside ${consumer}: ${range(rate)} x its rate, ${range(cpu)} x its CPU\n`,
  );
  return `\nA queue of ${messages} QoS 1 messages, median of ${rounds} rounds\n${table}${lines.join('')}`;
}

if (import.meta.main) process.exitCode = await run(program);

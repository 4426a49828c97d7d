import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Mosquitto, startMosquitto } from '@tidegauge/lab';
import { median } from '@tidegauge/loadtests/results/statistics';
import { STORES, startStorePlaces } from '@tidegauge/loadtests/targets/store-places';
import { checkStore } from '@tidegauge/loadtests/targets/targets';
import { startProcess, waitUntil } from '@tidegauge/process';
import { boolean, defineConfig, run } from '@tidegauge/service/program';
import { type IngestProcess, startIngestProcess } from '@tidegauge/test-support/ingest-process';
import {
  cpuSeconds,
  type Memory,
  memoryOf,
  watchMemory,
  writtenBytes,
} from '@tidegauge/test-support/process-usage';
import type { PublishResult } from '@tidegauge/test-support/publisher';
import { publishFromProcess } from '@tidegauge/test-support/publisher-process';
import { maskUrl } from '@tidegauge/text';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';

/**
 * `npm run bench -- ingest`: compares ingest with a store, ingest without a store, and MQTT.js with automatic
 * acknowledgement and no store. They run in alternation on one broker with one publisher. Then measures the latency at
 * a fixed rate and the processor time at 50 messages per second. Rates count from the first publish to the last
 * acknowledgement by the consumer.
 */
const PEERS = fileURLToPath(new URL('../src/', import.meta.url));
const DEVICES = 500;
/** Messages per second when latency is measured. */
const RATE = 2000;
const IDLE_RATE = 50;
/** At that rate before it is measured, so that ingest has found that no sender waits for acknowledgements. */
const IDLE_SETTLE_SECONDS = 15;
/** The share of a trial's messages that is stored before the idle rate. Code that ran seldom is not compiled. */
const WARM_UP_SHARE = 0.15;
const { store, quick, rounds, json, allowHost } = BENCH_SETTINGS;
const settings = defineConfig({
  store,
  rounds,
  alerts: {
    kind: boolean(),
    default: 'false',
    help: 'Also measure ingest with alert rules for every reading.',
  },
  quick,
  json,
  allowHost,
});

interface Setup {
  readonly messages: number;
  readonly rounds: number;
  readonly devices: number;
  readonly rate: number;
  readonly consumers: readonly Consumer[];
  readonly latencySeconds: number;
  readonly idleSeconds: number;
  readonly settleSeconds: number;
}

/** Settings and servers that all trials share. */
interface Bench extends Setup {
  readonly directory: string;
  readonly broker: Mosquitto;
  /** The URL of a store for a trial: a new empty store from the lab, or the store that the options name. */
  readonly storeUrl: (label: string) => Promise<string>;
}

interface Trial {
  readonly consumer: string;
  readonly messagesPerSecond: number;
  readonly cpuMicrosPerMessage: number;
  readonly residentMiB: number;
  readonly anonymousMiB: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly correct: boolean;
}

type Consumer = 'ingest + store' | 'ingest, no store' | 'MQTT.js, no store' | 'ingest + alerts';
const CONSUMERS: readonly Consumer[] = ['ingest + store', 'ingest, no store', 'MQTT.js, no store'];

/** One rule about values and one about silence, for every series. No alert is raised. */
const ALERT_RULES = `
- { name: high, metric: METRIC, above: 1e300, clear: 1e299, for: 1m }
- { name: quiet, quiet: 1d }
`;

export const program = defineBench({
  name: 'ingest',
  summary:
    'Compares ingest with a store, ingest without a store, and MQTT.js without a store, on one broker and publisher.',
  details:
    'Rates are from the first publish to the last acknowledgement by the consumer. Then it measures the latency at a fixed rate, and the cost of 50 messages per second.',
  settings,
  check(config): Setup {
    checkStore(config.store, config);
    const { quick } = config;
    return {
      messages: quick ? 20_000 : 200_000,
      rounds: config.rounds ?? (quick ? 1 : 5),
      devices: DEVICES,
      rate: RATE,
      consumers: config.alerts ? [...CONSUMERS, 'ingest + alerts'] : CONSUMERS,
      latencySeconds: quick ? 5 : 30,
      idleSeconds: quick ? 5 : 60,
      settleSeconds: quick ? 1 : IDLE_SETTLE_SECONDS,
    };
  },
  async run({ store }, setup, { closers, signal }) {
    const directory = mkdtempSync(join(tmpdir(), 'tidegauge-bench-'));
    closers.add(async () => rmSync(directory, { recursive: true }));
    const places = STORES.includes(store) ? await startStorePlaces(store) : null;
    closers.add(async () => places?.stop());
    const broker = await startMosquitto();
    closers.add(() => broker.stop());
    const storeUrl = async (label: string) => (places === null ? store : places.create(`bench_${label}`));
    const bench: Bench = { ...setup, directory, broker, storeUrl };
    // Only the first start strips types and compiles code. A running service has no such cost.
    await (await startIngest(bench, 'null:', 'warm-up', {})).stop();
    const trials: Trial[] = [];
    for (let round = 0; round < setup.rounds; round++) {
      // The order rotates, so that no consumer is always measured on a warmer or busier machine.
      const { consumers } = setup;
      for (let turn = 0; turn < consumers.length; turn++) {
        signal.throwIfAborted();
        const consumer = consumers[(round + turn) % consumers.length]!;
        const trial =
          consumer === 'MQTT.js, no store'
            ? await peerTrial(bench)
            : await ingestTrial(bench, consumer, `${round}`);
        trials.push(trial);
        process.stderr.write(`round ${round + 1}/${setup.rounds}  ${row(trial)}\n`);
      }
    }
    const latency = await latencyTrial(bench);
    const idle = await idleTrial(bench);
    const figures = report(store, setup, trials, latency, idle);
    const { messages, devices, rounds } = setup;
    const { node, v8 } = process.versions;
    return {
      ...(trials.every(({ correct }) => correct)
        ? {}
        : { failure: 'messages were lost or counted wrongly: see INCORRECT above' }),
      ...{ messages, devices, rounds, versions: { node, v8 }, ...figures, latency, idle, trials },
    };
  },
});

async function ingestTrial(bench: Bench, consumer: Consumer, label: string): Promise<Trial> {
  const { messages, storeUrl, directory } = bench;
  const stored = consumer !== 'ingest, no store';
  const name = `${{ 'ingest + alerts': 'alerts', 'ingest + store': 'store' }[consumer as string] ?? 'null'}_${label}`;
  const rules = join(directory, 'alerts.yml');
  const hasRules = consumer === 'ingest + alerts';
  if (hasRules) writeFileSync(rules, ALERT_RULES);
  const ingest = await startIngest(bench, stored ? await storeUrl(name) : 'null:', name, {
    ACK: stored ? 'durable' : 'received',
    ...(hasRules ? { ALERTS: rules } : {}),
  });
  try {
    const before = cpuSeconds(ingest.pid);
    const peak = watchMemory(ingest.pid);
    const begun = performance.now();
    const published = startPublisher(bench, messages);
    const ledger = await ingest.until(
      ({ readings }) => readings.stored + readings.duplicate >= messages,
      120_000,
    );
    const seconds = (performance.now() - begun) / 1000;
    const cpu = cpuSeconds(ingest.pid) - before;
    const { acknowledged } = await published;
    const { end_to_end: stage } = ledger.stages;
    return {
      consumer,
      messagesPerSecond: messages / seconds,
      cpuMicrosPerMessage: (cpu * 1e6) / messages,
      ...mebibytes(peak()),
      p50Ms: stage.p50 === null ? null : stage.p50 * 1000,
      p99Ms: stage.p99 === null ? null : stage.p99 * 1000,
      correct: acknowledged === messages && ledger.balanced && ledger.gaps.missing === 0,
    };
  } finally {
    await ingest.stop();
  }
}

async function peerTrial(bench: Bench): Promise<Trial> {
  const { broker, messages } = bench;
  const child = startProcess({
    command: process.execPath,
    args: [join(PEERS, 'mqttjs-consumer.ts'), broker.url, String(messages)],
    stderr: 'inherit',
  });
  const lines = (): string[] => child.log().split('\n').slice(0, -1);
  const line = (number: number, timeoutMs: number) =>
    waitUntil(`line ${number} of the MQTT.js consumer`, () => lines().length >= number, {
      timeoutMs,
      pollMs: 5,
    });
  await line(1, 30_000);
  const before = cpuSeconds(child.pid);
  const peak = watchMemory(child.pid);
  const begun = performance.now();
  const published = startPublisher(bench, messages);
  await line(2, 120_000);
  const seconds = (performance.now() - begun) / 1000;
  const cpu = cpuSeconds(child.pid) - before;
  await published;
  await child.stop();
  const count = lines()[1];
  return {
    consumer: 'MQTT.js, no store',
    messagesPerSecond: messages / seconds,
    cpuMicrosPerMessage: (cpu * 1e6) / messages,
    ...mebibytes(peak()),
    p50Ms: null,
    p99Ms: null,
    correct: Number(count) === messages,
  };
}

/**
 * Measures the time from the publisher's timestamp to the commit, and what ingest writes to the disk, at a rate far below
 * saturation.
 */
async function latencyTrial(bench: Bench) {
  const { rate, latencySeconds, storeUrl } = bench;
  const ingest = await startIngest(bench, await storeUrl('latency'), 'latency', {});
  try {
    const count = rate * latencySeconds;
    const before = writtenBytes(ingest.pid);
    await startPublisher(bench, count, rate);
    const { stages } = await ingest.until(({ readings }) => readings.stored >= count, 30_000);
    const writtenPerMessage = (writtenBytes(ingest.pid) - before) / count;
    const { p50, p99 } = stages.end_to_end;
    return { rate, p50Ms: p50! * 1000, p99Ms: p99! * 1000, writtenPerMessage };
  } finally {
    await ingest.stop();
  }
}

/** Measures the processor time of ingest with 50 sensors at 1 Hz, in the state of a service that has run for some time. */
async function idleTrial(bench: Bench) {
  const { idleSeconds, settleSeconds, messages, storeUrl } = bench;
  const ingest = await startIngest(bench, await storeUrl('idle'), 'idle', {});
  try {
    const earlier = Math.round(messages * WARM_UP_SHARE);
    await startPublisher(bench, earlier);
    await ingest.until(({ readings }) => readings.stored >= earlier, 60_000);
    await startPublisher(bench, IDLE_RATE * settleSeconds, IDLE_RATE);
    const [before, written] = [cpuSeconds(ingest.pid), writtenBytes(ingest.pid)];
    const begun = performance.now();
    await startPublisher(bench, IDLE_RATE * idleSeconds, IDLE_RATE);
    const share = (cpuSeconds(ingest.pid) - before) / ((performance.now() - begun) / 1000);
    const writtenPerMessage = (writtenBytes(ingest.pid) - written) / (IDLE_RATE * idleSeconds);
    const memory = mebibytes(memoryOf(ingest.pid));
    return { percentOfCore: share * 100, writtenPerMessage, ...memory };
  } finally {
    await ingest.stop();
  }
}

function startIngest(
  { broker, directory }: Bench,
  store: string,
  label: string,
  env: Record<string, string>,
): Promise<IngestProcess> {
  return startIngestProcess({
    STORE: store,
    BROKER: broker.url,
    CLIENT_ID: `bench-${label}`,
    CLEAN_START: 'true',
    DATA_DIR: join(directory, label),
    ...env,
  });
}

function startPublisher({ broker, devices }: Bench, count: number, rate?: number): Promise<PublishResult> {
  return publishFromProcess({ port: broker.port, count, devices, ...(rate === undefined ? {} : { rate }) });
}

function mebibytes({ resident, anonymous }: Memory): Pick<Trial, 'residentMiB' | 'anonymousMiB'> {
  return { residentMiB: resident / 2 ** 20, anonymousMiB: anonymous / 2 ** 20 };
}

function row(trial: Trial): string {
  const latency =
    trial.p99Ms === null ? '' : `  p50 ${trial.p50Ms!.toFixed(0)} ms  p99 ${trial.p99Ms.toFixed(0)} ms`;
  return `${trial.consumer.padEnd(18)} ${Math.round(trial.messagesPerSecond).toString().padStart(7)}/s  ${trial.cpuMicrosPerMessage.toFixed(1).padStart(5)} us CPU/message  ${showMemory(trial)}${latency}${trial.correct ? '' : '  INCORRECT'}`;
}

/** The largest memory, and the part of it that is no file. */
function showMemory({ residentMiB, anonymousMiB }: Pick<Trial, 'residentMiB' | 'anonymousMiB'>): string {
  return `${residentMiB.toFixed(0).padStart(4)} MiB (anonymous ${anonymousMiB.toFixed(0)})`;
}

/** What the process of ingest itself has written to the disk: with a database on a server, only its ledger. */
function showWritten({ writtenPerMessage }: { readonly writtenPerMessage: number }): string {
  return `${(writtenPerMessage / 1000).toFixed(1)} KB written per message`;
}

/** Prints the figures. Returns the medians, and the rate with a store divided by that of MQTT.js. */
function report(
  store: string,
  { messages, devices, rounds, consumers }: Setup,
  trials: readonly Trial[],
  latency: Awaited<ReturnType<typeof latencyTrial>>,
  idle: Awaited<ReturnType<typeof idleTrial>>,
) {
  const of = (consumer: Consumer) => trials.filter((trial) => trial.consumer === consumer);
  const summary = consumers.map((consumer) => {
    const own = of(consumer);
    const median_ = (field: 'messagesPerSecond' | 'cpuMicrosPerMessage' | 'residentMiB') =>
      median(own.map((trial) => trial[field]));
    return {
      consumer,
      messagesPerSecond: median_('messagesPerSecond'),
      cpuMicrosPerMessage: median_('cpuMicrosPerMessage'),
      residentMiB: Math.max(...own.map((trial) => trial.residentMiB)),
      anonymousMiB: Math.max(...own.map((trial) => trial.anonymousMiB)),
      p50Ms: own[0]!.p50Ms === null ? null : median(own.map((trial) => trial.p50Ms!)),
      p99Ms: own[0]!.p99Ms === null ? null : median(own.map((trial) => trial.p99Ms!)),
      correct: own.every((trial) => trial.correct),
    };
  });
  const peers = of('MQTT.js, no store');
  const ratio = median(
    of('ingest + store').map((trial, round) => trial.messagesPerSecond / peers[round]!.messagesPerSecond),
  );
  process.stdout.write(
    `\n${maskUrl(store)}, ${messages} QoS 1 messages from ${devices} devices, median of ${rounds}\n`,
  );
  for (const line of summary) process.stdout.write(`  ${row(line)}\n`);
  process.stdout.write(
    `  stored beside MQTT.js without a store: ${ratio.toFixed(2)} x (median of the rounds)\n`,
  );
  const withRules = of('ingest + alerts');
  const cost =
    withRules.length === 0
      ? null
      : median(
          of('ingest + store').map(
            (trial, round) => withRules[round]!.cpuMicrosPerMessage / trial.cpuMicrosPerMessage,
          ),
        );
  if (cost !== null)
    process.stdout.write(
      `  processor time with alert rules beside without: ${cost.toFixed(3)} x (median of the rounds)\n`,
    );
  process.stdout.write(
    `  at ${latency.rate} messages/s: end to end p50 ${latency.p50Ms.toFixed(1)} ms, p99 ${latency.p99Ms.toFixed(1)} ms, ${showWritten(latency)}\n`,
  );
  process.stdout.write(
    `  idle, ${IDLE_RATE} messages/s: ${idle.percentOfCore.toFixed(1)} % of a core, ${showWritten(idle)}, ${showMemory(idle)}\n`,
  );
  return { summary, ratio, ...(cost === null ? {} : { alertRules: cost }) };
}

if (import.meta.main) process.exitCode = await run(program);

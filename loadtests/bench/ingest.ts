import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startMosquitto } from '@tidegauge/lab';
import { startProcess, waitUntil } from '@tidegauge/process';
import { type IngestProcess, startIngestProcess } from '@tidegauge/test-support/ingest-process';
import { cpuSeconds, residentBytes, watchMemory } from '@tidegauge/test-support/process-usage';
import type { PublishResult } from '@tidegauge/test-support/publisher';
import { publishFromProcess } from '@tidegauge/test-support/publisher-process';
import { maskUrl } from '@tidegauge/text';
import { benchFlags } from '../src/explain.ts';
import { machine, provenance } from '../src/results/machine.ts';
import { median } from '../src/results/statistics.ts';
import { STORES, startStorePlaces } from '../src/targets/store-places.ts';

/**
 * `npm run bench:ingest`: broker → ingest → store beside ingest without a store and beside MQTT.js with
 * auto-ack and no store, on one broker and one publisher, in turns in one run; then latency at a fixed rate (--rate,
 * messages per second) and the cost of idling. Rates are from the first publish to the last acknowledgement by the consumer.
 */
const HERE = fileURLToPath(new URL('.', import.meta.url));
const flags = benchFlags({
  store: { type: 'string', default: 'sqlite' },
  messages: { type: 'string' },
  rounds: { type: 'string' },
  devices: { type: 'string', default: '500' },
  rate: { type: 'string', default: '2000' },
  quick: { type: 'boolean', default: false },
  json: { type: 'string' },
});
const messages = Number(flags.messages ?? (flags.quick ? 20_000 : 200_000));
const rounds = Number(flags.rounds ?? (flags.quick ? 1 : 5));
const devices = Number(flags.devices);
const latencyRate = Number(flags.rate);
const latencySeconds = flags.quick ? 5 : 30;
const IDLE_RATE = 50;
const idleSeconds = flags.quick ? 5 : 30;

interface Trial {
  readonly consumer: string;
  readonly messagesPerSecond: number;
  readonly cpuMicrosPerMessage: number;
  readonly residentMiB: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly correct: boolean;
}

type Consumer = 'ingest + store' | 'ingest, no store' | 'MQTT.js, no store';
const CONSUMERS: readonly Consumer[] = ['ingest + store', 'ingest, no store', 'MQTT.js, no store'];

const directory = mkdtempSync(join(tmpdir(), 'tidegauge-bench-'));
// A store by name comes from the lab, an empty place for each trial; a URL is used as it is.
const places = STORES.includes(flags.store) ? await startStorePlaces(flags.store) : null;
const broker = await startMosquitto();
try {
  // Types are stripped and code is compiled at the first start only: not what a running service costs.
  await (await startIngest('null:', 'warm-up', {})).stop();
  const trials: Trial[] = [];
  for (let round = 0; round < rounds; round++) {
    // The order turns, so that no consumer always has the warmer or the noisier machine.
    for (let turn = 0; turn < CONSUMERS.length; turn++) {
      const consumer = CONSUMERS[(round + turn) % CONSUMERS.length]!;
      const trial =
        consumer === 'MQTT.js, no store' ? await peerTrial() : await ingestTrial(consumer, `${round}`);
      trials.push(trial);
      process.stderr.write(`round ${round + 1}/${rounds}  ${row(trial)}\n`);
    }
  }
  const latency = await latencyTrial();
  const idle = await idleTrial();
  report(trials, latency, idle);
} finally {
  await broker.stop();
  await places?.stop();
  rmSync(directory, { recursive: true });
}

async function ingestTrial(consumer: Consumer, label: string): Promise<Trial> {
  const stored = consumer === 'ingest + store';
  const ingest = await startIngest(
    stored ? await storeUrl(label) : 'null:',
    `${stored ? 'store' : 'null'}-${label}`,
    {
      ACK: stored ? 'durable' : 'received',
    },
  );
  try {
    const before = cpuSeconds(ingest.pid);
    const peak = watchMemory(ingest.pid);
    const begun = performance.now();
    const published = startPublisher(messages);
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
      residentMiB: peak() / 2 ** 20,
      p50Ms: stage.p50 === null ? null : stage.p50 * 1000,
      p99Ms: stage.p99 === null ? null : stage.p99 * 1000,
      correct: acknowledged === messages && ledger.balanced && ledger.gaps.missing === 0,
    };
  } finally {
    await ingest.stop();
  }
}

async function peerTrial(): Promise<Trial> {
  const child = startProcess({
    command: process.execPath,
    args: [join(HERE, 'mqttjs-consumer.ts'), broker.url, String(messages)],
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
  const published = startPublisher(messages);
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
    residentMiB: peak() / 2 ** 20,
    p50Ms: null,
    p99Ms: null,
    correct: Number(count) === messages,
  };
}

/** Time from the publisher's stamp to the commit, at a rate that is far from saturation. */
async function latencyTrial() {
  const ingest = await startIngest(await storeUrl('latency'), 'latency', {});
  try {
    const count = latencyRate * latencySeconds;
    await startPublisher(count, latencyRate);
    const { stages } = await ingest.until(({ readings }) => readings.stored >= count, 30_000);
    return { rate: latencyRate, p50Ms: stages.end_to_end.p50! * 1000, p99Ms: stages.end_to_end.p99! * 1000 };
  } finally {
    await ingest.stop();
  }
}

/** CPU of ingest with 50 sensors at 1 Hz, beside that of a process which does nothing but commit at that rate. */
async function idleTrial() {
  const ingest = await startIngest(await storeUrl('idle'), 'idle', {});
  try {
    await sleep(1000);
    const before = cpuSeconds(ingest.pid);
    const begun = performance.now();
    await startPublisher(IDLE_RATE * idleSeconds, IDLE_RATE);
    const share = (cpuSeconds(ingest.pid) - before) / ((performance.now() - begun) / 1000);
    const residentMiB = residentBytes(ingest.pid) / 2 ** 20;
    return { percentOfCore: share * 100, barePercentOfCore: await bareCommits(), residentMiB };
  } finally {
    await ingest.stop();
  }
}

async function bareCommits(): Promise<number> {
  const args = [
    join(HERE, 'bare-commits.ts'),
    join(directory, 'bare.db'),
    String(IDLE_RATE),
    String(idleSeconds),
  ];
  const child = startProcess({ command: process.execPath, args, stdout: 'inherit', stderr: 'inherit' });
  await sleep(1000);
  const before = cpuSeconds(child.pid);
  const measured = idleSeconds - 2;
  await sleep(measured * 1000);
  const share = (cpuSeconds(child.pid) - before) / measured;
  await child.exited;
  return share * 100;
}

async function storeUrl(label: string): Promise<string> {
  return places === null ? flags.store : places.create(`bench_${label}`);
}

function startIngest(store: string, label: string, env: Record<string, string>): Promise<IngestProcess> {
  return startIngestProcess({
    STORE: store,
    BROKER: broker.url,
    CLIENT_ID: `bench-${label}`,
    CLEAN_START: 'true',
    DATA_DIR: join(directory, label),
    ...env,
  });
}

function startPublisher(count: number, rate?: number): Promise<PublishResult> {
  return publishFromProcess({ port: broker.port, count, devices, ...(rate === undefined ? {} : { rate }) });
}

function row(trial: Trial): string {
  const latency =
    trial.p99Ms === null ? '' : `  p50 ${trial.p50Ms!.toFixed(0)} ms  p99 ${trial.p99Ms.toFixed(0)} ms`;
  return `${trial.consumer.padEnd(18)} ${Math.round(trial.messagesPerSecond).toString().padStart(7)}/s  ${trial.cpuMicrosPerMessage.toFixed(1).padStart(5)} us CPU/message  ${trial.residentMiB.toFixed(0).padStart(4)} MiB${latency}${trial.correct ? '' : '  INCORRECT'}`;
}

function report(
  trials: readonly Trial[],
  latency: Awaited<ReturnType<typeof latencyTrial>>,
  idle: Awaited<ReturnType<typeof idleTrial>>,
): void {
  const of = (consumer: Consumer) => trials.filter((trial) => trial.consumer === consumer);
  const summary = CONSUMERS.map((consumer) => {
    const own = of(consumer);
    const median_ = (field: 'messagesPerSecond' | 'cpuMicrosPerMessage' | 'residentMiB') =>
      median(own.map((trial) => trial[field]));
    return {
      consumer,
      messagesPerSecond: median_('messagesPerSecond'),
      cpuMicrosPerMessage: median_('cpuMicrosPerMessage'),
      residentMiB: Math.max(...own.map((trial) => trial.residentMiB)),
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
    `\n${maskUrl(flags.store)}, ${messages} QoS 1 messages from ${devices} devices, median of ${rounds}\n`,
  );
  for (const line of summary) process.stdout.write(`  ${row(line)}\n`);
  process.stdout.write(
    `  stored beside MQTT.js without a store: ${ratio.toFixed(2)} x (median of the rounds)\n`,
  );
  process.stdout.write(
    `  at ${latency.rate} messages/s: end to end p50 ${latency.p50Ms.toFixed(1)} ms, p99 ${latency.p99Ms.toFixed(1)} ms\n`,
  );
  process.stdout.write(
    `  idle, ${IDLE_RATE} messages/s: ${idle.percentOfCore.toFixed(1)} % of a core (a bare commit at that rate: ${idle.barePercentOfCore.toFixed(1)} %), ${idle.residentMiB.toFixed(0)} MiB\n`,
  );
  if (flags.json !== undefined) {
    const { node, v8 } = process.versions;
    const document = {
      ...provenance(),
      machine: machine(),
      store: maskUrl(flags.store),
      messages,
      devices,
      rounds,
      versions: { node, v8 },
      summary,
      ratio,
      latency,
      idle,
      trials,
    };
    writeFileSync(flags.json, `${JSON.stringify(document, null, 2)}\n`);
  }
  if (!trials.every((trial) => trial.correct)) process.exitCode = 1;
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { startMosquitto } from '@tidegauge/lab';
import { median } from '@tidegauge/loadtests/results/statistics';
import { defineConfig, run } from '@tidegauge/service/program';
import { openStore } from '@tidegauge/storage';
import { type IngestProcess, settled, startIngestProcess } from '@tidegauge/test-support/ingest-process';
import { cpuSeconds, writtenBytes } from '@tidegauge/test-support/process-usage';
import { publishFromProcess } from '@tidegauge/test-support/publisher-process';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';

/**
 * `npm run bench -- ack`: the cost of each way to acknowledge messages, measured in alternation in one run. The ways are:
 * on arrival, after the commit to SQLite (synchronous=FULL), and after the fsync of the spool while SQLite is locked.
 * Also measures the rate at which the spool is then replayed into the store, the bytes that ingest writes, the time to
 * the commit at a steady rate, and what is lost when ingest is killed at that rate.
 */
const { quick, rounds, json } = BENCH_SETTINGS;
const settings = defineConfig({ quick, rounds, json });
/** QoS 1 messages of a trial; then messages per second for some seconds, in which ingest is killed. */
const FULL = { messages: 200_000, rate: 5000, steadySeconds: 10 };
const QUICK = { messages: 20_000, rate: 1000, steadySeconds: 2 };
/** Messages that make ingest spool. */
const SPOOLED_FIRST = 100;
const WAYS = ['received', 'stored', 'spooled'] as const;
type Way = (typeof WAYS)[number];

interface Trial {
  readonly way: Way;
  /** The time counts from the first publish until ingest has acknowledged all messages. */
  readonly messagesPerSecond: number;
  readonly cpuMicrosPerMessage: number;
  /** Rate of the replay from the spool into the store. null: too few readings were spooled to measure it. */
  readonly replayedPerSecond: number | null;
  /** Bytes that ingest wrote to the disk, with the replay of the spool. */
  readonly writtenBytesPerMessage: number;
}

/** A steady load, and another one in the middle of which ingest is killed with SIGKILL. */
interface Steady {
  readonly way: Way;
  /** From the time stamp of the publisher to the commit. Null: readings went to the spool. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly writtenBytesPerMessage: number;
  /** Messages that the broker acknowledged to the publisher and that are not stored at the end. */
  readonly lostByKill: number;
}

export const program = defineBench({
  name: 'ack',
  summary: 'What it costs to acknowledge on arrival, after the commit, and from the spool.',
  settings,
  check: ({ quick, rounds }) => ({ ...(quick ? QUICK : FULL), rounds: rounds ?? (quick ? 1 : 3) }),
  async run(_config, { messages, rounds, rate, steadySeconds }, { closers, signal }) {
    const directory = mkdtempSync(join(tmpdir(), 'tidegauge-bench-'));
    closers.add(async () => rmSync(directory, { recursive: true }));
    const broker = await startMosquitto();
    closers.add(() => broker.stop());
    const trials: Trial[] = [];
    const steady: Steady[] = [];
    for (let round = 0; round < rounds; round++) {
      // The order rotates, so that no way of acknowledgement is always measured at a busier time of the machine.
      for (let turn = 0; turn < WAYS.length; turn++) {
        signal.throwIfAborted();
        const way = WAYS[(round + turn) % WAYS.length]!;
        const trial = await measure(way, join(directory, `${way}-${round}`), broker, messages);
        trials.push(trial);
        process.stderr.write(`round ${round + 1}/${rounds}  ${row(trial)}\n`);
        const load = { messages: rate * steadySeconds, rate };
        steady.push(await keepSteady(way, join(directory, `${way}-${round}-steady`), broker, load));
      }
    }
    const summary = WAYS.map((way) => summarise(trials.filter((trial) => trial.way === way)));
    process.stdout.write(`\n${messages} QoS 1 messages, median of ${rounds}\n`);
    for (const trial of summary) process.stdout.write(`  ${row(trial)}\n`);
    process.stdout.write(
      `\n${rate} messages/s for ${steadySeconds} s, median of ${rounds}; lost: in all rounds\n`,
    );
    const steadySummary = WAYS.map((way) => summariseSteady(steady.filter((load) => load.way === way)));
    for (const load of steadySummary) process.stdout.write(`  ${steadyRow(load)}\n`);
    return { messages, rounds, rate, steadySeconds, summary, trials, steadySummary, steady };
  },
});

interface Broker {
  readonly url: string;
  readonly port: number;
}

function start(way: Way, directory: string, broker: Broker, clientId: string): Promise<IngestProcess> {
  return startIngestProcess({
    STORE: `sqlite:${directory}.db?busy=100`,
    BROKER: broker.url,
    CLIENT_ID: clientId,
    DATA_DIR: directory,
    ACK: way === 'spooled' ? 'durable' : way,
    SPOOL_MAX_BYTES: '1GiB',
  });
}

/** Makes the store refuse writes, and waits until ingest spools. It begins that a second after the first refusal. */
async function refuseWrites(ingest: IngestProcess, directory: string, broker: Broker): Promise<DatabaseSync> {
  const lock = new DatabaseSync(`${directory}.db`);
  lock.exec('begin immediate');
  await publishFromProcess({ port: broker.port, count: SPOOLED_FIRST, devices: 100, prefix: 'first' });
  await ingest.until(({ readings }) => readings.spooled === SPOOLED_FIRST, 30_000);
  return lock;
}

/** A steady load without a fault, then another one with a kill of ingest after half of it. */
async function keepSteady(
  way: Way,
  directory: string,
  broker: Broker,
  { messages, rate }: { readonly messages: number; readonly rate: number },
): Promise<Steady> {
  // Each trial has its own session at the broker, which keeps what is published while ingest is down.
  const clientId = directory.slice(directory.lastIndexOf('/') + 1);
  let ingest = await start(way, directory, broker, clientId);
  let lock: DatabaseSync | null = null;
  try {
    if (way === 'spooled') lock = await refuseWrites(ingest, directory, broker);
    const before = writtenBytes(ingest.pid);
    await publishFromProcess({ port: broker.port, count: messages, devices: 500, rate, prefix: 'steady' });
    const { stages } = await ingest.until(
      ({ readings, messages: { received } }) => received >= messages && readings.inFlight === 0,
      60_000,
    );
    const written = writtenBytes(ingest.pid) - before;
    const published = publishFromProcess({
      port: broker.port,
      count: messages,
      devices: 500,
      rate,
      prefix: 'kill',
    });
    await sleep((messages / rate) * 500);
    await ingest.kill();
    // Ingest does not start while another program holds the lock of the database.
    lock?.close();
    lock = null;
    ingest = await start(way, directory, broker, clientId);
    const { acknowledged } = await published;
    await ingest.until(({ readings }) => readings.spooled === 0, 120_000);
    await settled(ingest);
    const stored = await storedBy('kill', `sqlite:${directory}.db`);
    return {
      way,
      p50Ms: way === 'spooled' ? null : stages.end_to_end.p50! * 1000,
      p99Ms: way === 'spooled' ? null : stages.end_to_end.p99! * 1000,
      writtenBytesPerMessage: written / messages,
      lostByKill: acknowledged - stored,
    };
  } finally {
    lock?.close();
    await ingest.stop();
  }
}

async function measure(way: Way, directory: string, broker: Broker, messages: number): Promise<Trial> {
  const ingest = await start(way, directory, broker, directory.slice(directory.lastIndexOf('/') + 1));
  let lock: DatabaseSync | null = null;
  try {
    if (way === 'spooled') lock = await refuseWrites(ingest, directory, broker);
    const written = writtenBytes(ingest.pid);
    const before = cpuSeconds(ingest.pid);
    const begun = performance.now();
    const published = publishFromProcess({ port: broker.port, count: messages, devices: 500 });
    await ingest.until(
      ({ readings, messages: { received } }) => received >= messages && readings.inFlight === 0,
      300_000,
    );
    const seconds = (performance.now() - begun) / 1000;
    const cpu = cpuSeconds(ingest.pid) - before;
    const { acknowledged } = await published;
    let replayedPerSecond: number | null = null;
    if (lock !== null) {
      lock.exec('rollback');
      lock.close();
      // The replay starts after ingest has detected that the store is available again.
      const begin = await ingest.until(({ readings }) => readings.stored > 0, 30_000);
      const replaying = performance.now();
      await ingest.until(({ readings }) => readings.spooled === 0 && readings.inFlight === 0, 300_000);
      const replayed = messages - begin.readings.stored;
      if (replayed > messages / 2) replayedPerSecond = (replayed * 1000) / (performance.now() - replaying);
    }
    const { balanced, readings } = await ingest.ledger();
    const kept = readings.stored + readings.duplicate;
    if (!balanced || acknowledged < messages || kept < messages)
      throw new Error(`${way}: of ${messages} messages ${kept} are stored`);
    return {
      way,
      messagesPerSecond: messages / seconds,
      cpuMicrosPerMessage: (cpu * 1e6) / messages,
      replayedPerSecond,
      writtenBytesPerMessage: (writtenBytes(ingest.pid) - written) / messages,
    };
  } finally {
    await ingest.stop();
  }
}

/** The number of stored readings of the devices of one publisher. */
async function storedBy(prefix: string, url: string): Promise<number> {
  const store = await openStore(url);
  try {
    let count = 0;
    for await (const device of store.readings.devices()) {
      if (!device.startsWith(`${prefix}/`)) continue;
      for await (const _ of store.readings.range({ device, limit: 1_000_000 })) count += 1;
    }
    return count;
  } finally {
    await store.close();
  }
}

function summarise(trials: readonly Trial[]): Trial {
  const { way } = trials[0]!;
  const replays = trials.map((trial) => trial.replayedPerSecond).filter((rate) => rate !== null);
  return {
    way,
    messagesPerSecond: median(trials.map((trial) => trial.messagesPerSecond)),
    cpuMicrosPerMessage: median(trials.map((trial) => trial.cpuMicrosPerMessage)),
    replayedPerSecond: replays.length === 0 ? null : median(replays),
    writtenBytesPerMessage: median(trials.map((trial) => trial.writtenBytesPerMessage)),
  };
}

function summariseSteady(loads: readonly Steady[]): Steady {
  const { way, p50Ms } = loads[0]!;
  return {
    way,
    p50Ms: p50Ms === null ? null : median(loads.map((load) => load.p50Ms!)),
    p99Ms: p50Ms === null ? null : median(loads.map((load) => load.p99Ms!)),
    writtenBytesPerMessage: median(loads.map((load) => load.writtenBytesPerMessage)),
    lostByKill: loads.reduce((sum, load) => sum + load.lostByKill, 0),
  };
}

function row(trial: Trial): string {
  const { way, messagesPerSecond, cpuMicrosPerMessage, replayedPerSecond, writtenBytesPerMessage } = trial;
  const rate = Math.round(messagesPerSecond).toString().padStart(7);
  const replay = replayedPerSecond === null ? '' : `  replayed at ${Math.round(replayedPerSecond)}/s`;
  const cpu = cpuMicrosPerMessage.toFixed(1).padStart(5);
  return `${way.padEnd(8)} ${rate}/s  ${cpu} us CPU/message  ${writtenBytesPerMessage.toFixed()} bytes written/message${replay}`;
}

function steadyRow({ way, p50Ms, p99Ms, writtenBytesPerMessage, lostByKill }: Steady): string {
  const commit = p50Ms === null ? '' : `  commit p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms!.toFixed(1)} ms`;
  return `${way.padEnd(8)} ${writtenBytesPerMessage.toFixed()} bytes written/message${commit}  lost by kill -9: ${lostByKill}`;
}

if (import.meta.main) process.exitCode = await run(program);

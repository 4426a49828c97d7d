import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { startMosquitto } from '@tidegauge/lab';
import { defineConfig, integer, run } from '@tidegauge/service/program';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';
import { cpuSeconds } from '@tidegauge/test-support/process-usage';
import { publishFromProcess } from '@tidegauge/test-support/publisher-process';
import { BENCH_SETTINGS, defineBench } from '../src/benches/define-bench.ts';
import { median } from '../src/results/statistics.ts';

/**
 * `npm run bench:ack`: the cost of each way to acknowledge messages, measured in alternation in one run. The ways are:
 * on arrival, after the commit to SQLite (synchronous=FULL), and after the fsync of the spool while SQLite is locked.
 * Also measures the rate at which the spool is then replayed into the store.
 */
const { quick, json } = BENCH_SETTINGS;
const settings = defineConfig({
  quick,
  json,
  messages: { kind: integer(1000, 5_000_000), default: '200000', help: 'QoS 1 messages in each trial.' },
  rounds: { kind: integer(1, 50), default: '3', help: 'Trials of each way.' },
});
const WAYS = ['received', 'stored', 'spooled'] as const;
type Way = (typeof WAYS)[number];

interface Trial {
  readonly way: Way;
  /** The time counts from the first publish until ingest has acknowledged all messages. */
  readonly messagesPerSecond: number;
  readonly cpuMicrosPerMessage: number;
  /** Rate of the replay from the spool into the store. null: too few readings were spooled to measure it. */
  readonly replayedPerSecond: number | null;
}

export const program = defineBench({
  name: 'bench:ack',
  summary: 'What it costs to acknowledge on arrival, after the commit, and from the spool.',
  settings,
  check: ({ quick, messages, rounds }) => (quick ? { messages: 20_000, rounds: 1 } : { messages, rounds }),
  async run(_config, { messages, rounds }, { closers, signal }) {
    const directory = mkdtempSync(join(tmpdir(), 'tidegauge-bench-'));
    closers.add(async () => rmSync(directory, { recursive: true }));
    const broker = await startMosquitto();
    closers.add(() => broker.stop());
    const trials: Trial[] = [];
    for (let round = 0; round < rounds; round++) {
      // The order rotates, so that no way of acknowledgement is always measured at a busier time of the machine.
      for (let turn = 0; turn < WAYS.length; turn++) {
        signal.throwIfAborted();
        const way = WAYS[(round + turn) % WAYS.length]!;
        const trial = await measure(way, join(directory, `${way}-${round}`), broker, messages);
        trials.push(trial);
        process.stderr.write(`round ${round + 1}/${rounds}  ${row(trial)}\n`);
      }
    }
    const summary = WAYS.map((way) => summarise(trials.filter((trial) => trial.way === way)));
    process.stdout.write(`\n${messages} QoS 1 messages, median of ${rounds}\n`);
    for (const trial of summary) process.stdout.write(`  ${row(trial)}\n`);
    return { messages, rounds, summary, trials };
  },
});

async function measure(
  way: Way,
  directory: string,
  broker: { readonly url: string; readonly port: number },
  messages: number,
): Promise<Trial> {
  const file = `${directory}.db`;
  const ingest = await startIngestProcess({
    STORE: `sqlite:${file}?busy=100`,
    BROKER: broker.url,
    CLIENT_ID: 'bench-ack',
    CLEAN_START: 'true',
    DATA_DIR: directory,
    ACK: way === 'spooled' ? 'durable' : way,
    SPOOL_MAX_BYTES: '1GiB',
  });
  try {
    const lock = way === 'spooled' ? new DatabaseSync(file) : null;
    lock?.exec('begin immediate');
    if (lock !== null) {
      // Ingest starts to spool after the store has been unavailable for a second. This delay must not be measured.
      await publishFromProcess({ port: broker.port, count: 100, devices: 100 });
      await ingest.until(({ readings }) => readings.spooled === 100, 30_000);
    }
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
    const cpuMicrosPerMessage = (cpu * 1e6) / messages;
    return { way, messagesPerSecond: messages / seconds, cpuMicrosPerMessage, replayedPerSecond };
  } finally {
    await ingest.stop();
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
  };
}

function row({ way, messagesPerSecond, cpuMicrosPerMessage, replayedPerSecond }: Trial): string {
  const rate = Math.round(messagesPerSecond).toString().padStart(7);
  const replay = replayedPerSecond === null ? '' : `  replayed at ${Math.round(replayedPerSecond)}/s`;
  return `${way.padEnd(8)} ${rate}/s  ${cpuMicrosPerMessage.toFixed(1).padStart(5)} us CPU/message${replay}`;
}

if (import.meta.main) process.exitCode = await run(program);

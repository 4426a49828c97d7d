import { join } from 'node:path';
import { startMosquitto } from '@tidegauge/lab';
import { provideFolder } from '@tidegauge/loadtests/targets/targets';
import { freePort } from '@tidegauge/process';
import { defineConfig, run } from '@tidegauge/service/program';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';
import { cpuSeconds, watchMemory } from '@tidegauge/test-support/process-usage';
import { publishFromConnections } from '@tidegauge/test-support/publisher-process';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';
import { mediansOf } from '../src/trial-medians.ts';

/**
 * `npm run bench -- direct`: sensors that connect to ingest itself, and sensors that connect to mosquitto, from which
 * ingest reads. Both store into SQLite, in alternation. A sensor's acknowledgement means that its message is stored in
 * the first case, and that the broker has it in memory in the second.
 */
const { quick, rounds, json } = BENCH_SETTINGS;
const settings = defineConfig({ quick, rounds, json });
/** QoS 1 messages, and connections that publish them, each for a device. */
const FULL = { messages: 300_000, connections: 500 };
const QUICK = { messages: 10_000, connections: 50 };
/** Messages of a connection that wait for their acknowledgement at most. */
const WINDOW = 20;
const WAYS = ['direct', 'mosquitto'] as const;
type Way = (typeof WAYS)[number];

interface Trial {
  readonly way: Way;
  /** From the first publication to the last PUBACK, which a sensor waits for. */
  readonly acknowledgedPerSecond: number;
  /** From the first publication until all are stored. */
  readonly storedPerSecond: number;
  /** Of ingest, without the broker. */
  readonly cpuMicrosPerMessage: number;
  readonly residentMiB: number;
}

interface Setup {
  readonly messages: number;
  readonly connections: number;
  readonly window: number;
  readonly rounds: number;
}

export const program = defineBench({
  name: 'direct',
  summary: 'Compares sensors that connect to ingest itself with sensors that connect to mosquitto.',
  settings,
  check: ({ quick, rounds }): Setup => ({
    ...(quick ? QUICK : FULL),
    window: WINDOW,
    rounds: rounds ?? (quick ? 1 : 3),
  }),
  async run(_config, setup, { closers, signal }) {
    const directory = provideFolder(closers);
    const trials: Trial[] = [];
    for (let round = 0; round < setup.rounds; round++) {
      for (let turn = 0; turn < WAYS.length; turn++) {
        signal.throwIfAborted();
        const way = WAYS[(round + turn) % WAYS.length]!;
        const trial = await measure(way, join(directory, `${way}-${round}`), setup);
        trials.push(trial);
        process.stderr.write(`round ${round + 1}/${setup.rounds}  ${row(trial)}\n`);
      }
    }
    const summary = WAYS.map((way) => mediansOf(trials.filter((trial) => trial.way === way)));
    const { messages, connections, window, rounds } = setup;
    process.stdout.write(
      `\n${messages} QoS 1 messages over ${connections} connections with ${window} in flight each, median of ${rounds}\n`,
    );
    for (const trial of summary) process.stdout.write(`  ${row(trial)}\n`);
    return { ...setup, summary, trials };
  },
});

async function measure(way: Way, directory: string, setup: Setup): Promise<Trial> {
  const broker = way === 'mosquitto' ? await startMosquitto() : null;
  const port = broker?.port ?? (await freePort());
  const source = broker === null ? { LISTEN: `mqtt://127.0.0.1:${port}` } : { BROKER: broker.url };
  const ingest = await startIngestProcess({
    STORE: `sqlite:${directory}.db`,
    DATA_DIR: directory,
    CLIENT_ID: 'bench-direct',
    LISTEN_MAX_CONNECTIONS: '5000',
    LISTEN_MAX_PER_LOGIN: '5000',
    ...source,
  });
  try {
    const { connections, window } = setup;
    const messages = setup.messages - (setup.messages % connections);
    const before = cpuSeconds(ingest.pid);
    const peak = watchMemory(ingest.pid);
    const begun = performance.now();
    const { acknowledged, seconds } = await publishFromConnections({
      port,
      connections,
      window,
      count: messages,
    });
    const published = (performance.now() - begun) / 1000;
    const { balanced, readings } = await ingest.until(
      ({ readings: now }) => now.stored + now.duplicate >= messages,
      300_000,
    );
    // The start of the publishers is not a part of it.
    const untilStored = (performance.now() - begun) / 1000 - (published - seconds);
    if (!balanced || acknowledged !== messages || readings.stored !== messages)
      throw new Error(`${way}: of ${messages} messages ${readings.stored} are stored`);
    return {
      way,
      acknowledgedPerSecond: messages / seconds,
      storedPerSecond: messages / untilStored,
      cpuMicrosPerMessage: ((cpuSeconds(ingest.pid) - before) * 1e6) / messages,
      residentMiB: peak().resident / 2 ** 20,
    };
  } finally {
    await ingest.stop();
    await broker?.stop();
  }
}

function row({
  way,
  acknowledgedPerSecond,
  storedPerSecond,
  cpuMicrosPerMessage,
  residentMiB,
}: Trial): string {
  const rate = (value: number) => Math.round(value).toString().padStart(7);
  return `${way.padEnd(9)} acknowledged ${rate(acknowledgedPerSecond)}/s  stored ${rate(storedPerSecond)}/s  ingest ${cpuMicrosPerMessage.toFixed(1).padStart(5)} us CPU/message  ${residentMiB.toFixed(0).padStart(4)} MiB`;
}

if (import.meta.main) process.exitCode = await run(program);

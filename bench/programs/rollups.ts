import { type Mosquitto, startMosquitto } from '@tidegauge/lab';
import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { median } from '@tidegauge/loadtests/results/statistics';
import { textTable } from '@tidegauge/loadtests/results/table';
import { temporaryDirectory, waitUntil } from '@tidegauge/process';
import type { Reading } from '@tidegauge/readings';
import { defineConfig, run } from '@tidegauge/service/program';
import { openStore } from '@tidegauge/storage';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';
import { cpuSeconds } from '@tidegauge/test-support/process-usage';
import { publishFromProcess } from '@tidegauge/test-support/publisher-process';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';

const HOUR = 3_600_000_000;
const BATCH = 5000;
const WAIT = { timeoutMs: 300_000, pollMs: 500 };

const { quick, rounds, json } = BENCH_SETTINGS;
const settings = defineConfig({ quick, rounds, json });
const DEVICES = 500;
/** Between two readings of a series whose rollups are computed. */
const INTERVAL_S = 10;

interface Setup {
  readonly messages: number;
  readonly devices: number;
  readonly interval: number;
  readonly rounds: number;
}

interface Trial {
  readonly rollups: boolean;
  readonly messagesPerSecond: number;
  readonly cpuMicrosPerMessage: number;
}

export const program = defineBench({
  name: 'rollups',
  summary: 'Compares ingest that computes rollups with ingest that does not, with SQLite.',
  details:
    'A store begins with as many readings of hours that have ended as there are messages. With ROLLUPS=true, ingest computes\n' +
    'their rollups while it receives the messages, so it computes one reading for each that it stores, as over a long time.\n' +
    'Processor time counts until both are done. Both kinds store marks, because ROLLUPS=false leaves them in the store.',
  settings,
  check: ({ rounds, quick }): Setup => ({
    messages: quick ? 20_000 : 200_000,
    devices: DEVICES,
    interval: INTERVAL_S,
    rounds: rounds ?? (quick ? 1 : 5),
  }),
  async run(_config, setup, { closers, signal }) {
    const broker = await startMosquitto();
    closers.add(() => broker.stop());
    // Only the first start compiles code.
    await trial(broker, { ...setup, messages: 1000 }, false);
    const trials: Trial[] = [];
    for (let round = 0; round < setup.rounds; round += 1) {
      for (const rollups of round % 2 === 0 ? [false, true] : [true, false]) {
        signal.throwIfAborted();
        const found = await trial(broker, setup, rollups);
        trials.push(found);
        const { messagesPerSecond, cpuMicrosPerMessage } = found;
        process.stderr.write(
          `${rollups ? 'with' : 'without'}: ${showNumber(messagesPerSecond)}/s, ${showNumber(cpuMicrosPerMessage)} µs\n`,
        );
      }
    }
    const of = (rollups: boolean, value: (trial: Trial) => number) =>
      median(trials.filter((each) => each.rollups === rollups).map(value));
    const rate = ({ messagesPerSecond }: Trial) => messagesPerSecond;
    const cpu = ({ cpuMicrosPerMessage }: Trial) => cpuMicrosPerMessage;
    process.stdout.write(
      textTable([
        ['rollups', 'messages/s', 'µs of processor time for a message'],
        ...[false, true].map((each) => [
          each ? 'computed' : 'not computed',
          showNumber(of(each, rate)),
          showNumber(of(each, cpu)),
        ]),
      ]),
    );
    const figures = {
      rateShare: of(true, rate) / of(false, rate),
      cpuShare: of(true, cpu) / of(false, cpu),
    };
    return { ...setup, ...figures, trials };
  },
});

async function trial(broker: Mosquitto, setup: Setup, rollups: boolean): Promise<Trial> {
  const { messages, devices } = setup;
  const directory = temporaryDirectory('bench-rollups');
  try {
    const url = `sqlite:${directory.path}/store.db`;
    const hours = await fill(url, setup);
    const ingest = await startIngestProcess({
      STORE: url,
      BROKER: broker.url,
      CLIENT_ID: 'bench-rollups',
      CLEAN_START: 'true',
      DATA_DIR: directory.path,
      ROLLUPS: String(rollups),
    });
    try {
      const before = cpuSeconds(ingest.pid);
      const begun = performance.now();
      const published = publishFromProcess({ port: broker.port, count: messages, devices });
      await ingest.until(({ readings }) => readings.stored >= messages, WAIT.timeoutMs);
      const seconds = (performance.now() - begun) / 1000;
      await published;
      const isDone = async () => {
        const text = await (await fetch(`${ingest.url}/metrics`)).text();
        return Number(/^tidegauge_rollup_hours_total (\d+)$/m.exec(text)?.[1]) >= hours;
      };
      if (rollups) await waitUntil('the rollups', isDone, WAIT);
      const cpuMicrosPerMessage = ((cpuSeconds(ingest.pid) - before) * 1e6) / messages;
      return { rollups, messagesPerSecond: messages / seconds, cpuMicrosPerMessage };
    } finally {
      await ingest.stop();
    }
  } finally {
    directory.remove();
  }
}

/** Writes readings of hours that ended a day ago. Resolves to the number of hours of series. */
async function fill(url: string, { messages, interval }: Setup): Promise<number> {
  const start = Math.floor((Date.now() * 1000) / HOUR) * HOUR - 25 * HOUR;
  const store = await openStore(url, { clock: () => start + HOUR });
  const perHour = Math.floor(3600 / interval);
  const hours = Math.ceil(messages / perHour);
  let batch: Reading[] = [];
  for (let hour = 0; hour < hours; hour += 1) {
    for (let index = 0; index < perHour; index += 1) {
      const time = start + index * interval * 1e6;
      const series = { device: `old/probe-${hour}`, metric: 'temperature' };
      batch.push({ ...series, time, value: index / 8, received: time, boot: null, seq: null, quality: 'ok' });
      if (batch.length < BATCH) continue;
      await store.readings.write(batch);
      batch = [];
    }
  }
  if (batch.length > 0) await store.readings.write(batch);
  await store.close();
  return hours;
}

if (import.meta.main) process.exitCode = await run(program);

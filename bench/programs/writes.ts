import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { textTable } from '@tidegauge/loadtests/results/table';
import { provideFolder } from '@tidegauge/loadtests/targets/targets';
import { freePort } from '@tidegauge/process';
import { now, type Reading } from '@tidegauge/readings';
import { defineConfig, integer, list, run } from '@tidegauge/service/program';
import { openStore } from '@tidegauge/storage';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';
import { cpuSeconds, writtenBytes } from '@tidegauge/test-support/process-usage';
import { publishFromConnections, publishFromProcess } from '@tidegauge/test-support/publisher-process';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';
import { mediansOf } from '../src/trial-medians.ts';

/**
 * `npm run bench -- writes`: the bytes that ingest writes to the disk for each reading in SQLite, by the counter of the
 * kernel, with `PACE=0ms` and with `PACE=auto`, in turns. The sensors publish with a schedule, to ingest itself, over one
 * connection, as a gateway does. Afterwards, a further sensor publishes one message after the other, each after the
 * acknowledgement of the one before.
 */
const { quick, rounds, json } = BENCH_SETTINGS;
const settings = defineConfig({
  rates: {
    kind: list(integer(1, 20_000)),
    default: '1,10,100,1000,5000',
    help: 'Readings per second, all sensors together. Each is measured.',
  },
  quick,
  rounds,
  json,
});
const PACES = ['0ms', 'auto'] as const;
type PaceName = (typeof PACES)[number];
const SENSORS = 50;
/**
 * `warm`: seconds until the figures count. Ingest takes ten to find out that the sensors do not wait. `seconds`: how long
 * bytes are counted, and the period of the latency in the ledger. `waited`: messages of the sensor that waits.
 */
const FULL = { warm: 15, seconds: 60, waited: 3000 };
const QUICK = { warm: 11, seconds: 4, waited: 100 };
/** Readings in the store before. With fewer, SQLite merges nothing into the table of old readings. */
const STORED_BEFORE = 20_000;
const BATCH = 5000;
/** Longer than a trial. The publisher is stopped at its end. */
const LONGEST_SECONDS = 600;

interface Trial {
  readonly pace: PaceName;
  readonly rate: number;
  readonly bytesPerReading: number;
  /** Of one core, percent. */
  readonly cpu: number;
  /** From the time stamp of a reading with a schedule to its commit, in the last minute. */
  readonly periodicP50Ms: number;
  readonly periodicP99Ms: number;
  /** From one message of the sensor that waits to the next, mean. */
  readonly waitingMs: number;
}

type Setup = typeof FULL & { readonly rates: readonly number[]; readonly rounds: number };

export const program = defineBench({
  name: 'writes',
  summary: 'Bytes that ingest writes for each reading, and latencies, with PACE=0ms and PACE=auto.',
  settings,
  check: ({ quick, rounds, rates }): Setup => ({
    ...(quick ? QUICK : FULL),
    rates: quick ? [100] : rates,
    rounds: rounds ?? (quick ? 1 : 3),
  }),
  async run(_config, setup, { closers, signal }) {
    const directory = provideFolder(closers);
    const trials: Trial[] = [];
    for (let round = 0; round < setup.rounds; round++) {
      for (const rate of setup.rates) {
        for (let turn = 0; turn < PACES.length; turn++) {
          signal.throwIfAborted();
          const pace = PACES[(round + turn) % PACES.length]!;
          const trial = await measure(pace, rate, join(directory, `${pace}-${rate}-${round}`), setup, signal);
          trials.push(trial);
          process.stderr.write(
            `round ${round + 1}/${setup.rounds}  ${rate}/s ${pace}: ${Math.round(trial.bytesPerReading)} bytes per reading\n`,
          );
        }
      }
    }
    const summary = setup.rates.flatMap((rate) =>
      PACES.map((pace) => mediansOf(trials.filter((trial) => trial.rate === rate && trial.pace === pace))),
    );
    process.stdout.write(`\n${SENSORS} sensors, medians of ${setup.rounds}\n${table(summary)}`);
    return { ...setup, sensors: SENSORS, summary, trials };
  },
});

async function measure(
  pace: PaceName,
  rate: number,
  directory: string,
  { warm, seconds, waited }: Setup,
  signal: AbortSignal,
): Promise<Trial> {
  const store = `sqlite:${directory}.db`;
  await fill(store);
  const port = await freePort();
  const ingest = await startIngestProcess({
    STORE: store,
    DATA_DIR: directory,
    CLIENT_ID: 'bench-writes',
    LISTEN: `mqtt://127.0.0.1:${port}`,
    PACE: pace,
  });
  const stop = new AbortController();
  const load = { port, count: rate * LONGEST_SECONDS, devices: SENSORS, rate, prefix: 'periodic' };
  const periodic = publishFromProcess({ ...load, signal: AbortSignal.any([signal, stop.signal]) });
  // It is awaited below. A failure before that must not end this process.
  periodic.catch(() => {});
  try {
    await sleep(warm * 1000, undefined, { signal });
    const before = await ingest.ledger();
    const written = writtenBytes(ingest.pid);
    const cpu = cpuSeconds(ingest.pid);
    await sleep(seconds * 1000, undefined, { signal });
    const after = await ingest.ledger();
    const bytes = writtenBytes(ingest.pid) - written;
    const busy = cpuSeconds(ingest.pid) - cpu;
    const { p50, p99 } = after.stages.end_to_end;
    const waiting = await publishFromConnections({ port, connections: 1, window: 1, count: waited });
    stop.abort();
    const { acknowledged } = await periodic;
    const { readings, balanced } = await ingest.until(({ readings: each }) => each.inFlight === 0, 30_000);
    if (!balanced || readings.stored !== acknowledged + waited)
      throw new Error(
        `${pace}, ${rate}/s: of ${acknowledged + waited} messages ${readings.stored} are stored`,
      );
    return {
      pace,
      rate,
      bytesPerReading: bytes / (after.readings.stored - before.readings.stored),
      cpu: (100 * busy) / seconds,
      periodicP50Ms: p50! * 1000,
      periodicP99Ms: p99! * 1000,
      waitingMs: (waiting.seconds * 1000) / waited,
    };
  } finally {
    stop.abort();
    await ingest.stop();
  }
}

/** Stores readings of other series, older ones. */
async function fill(url: string): Promise<void> {
  const store = await openStore(url);
  try {
    const start = now() - 3_600_000_000;
    for (let first = 0; first < STORED_BEFORE; first += BATCH)
      await store.readings.write(Array.from({ length: BATCH }, (_, index) => older(start, first + index)));
  } finally {
    await store.close();
  }
}

function older(start: number, number: number): Reading {
  const time = start + number;
  const seq = Math.floor(number / SENSORS);
  const device = `older/sensor-${number % SENSORS}`;
  return { device, metric: 'm', time, value: number / 10, received: time, boot: 'b', seq, quality: 'ok' };
}

function table(summary: readonly Trial[]): string {
  const head = ['readings/s', 'PACE', 'bytes/reading', 'CPU %', 'p50 ms', 'p99 ms', 'waiting: ms each'];
  const rows = summary.map((trial) => [
    String(trial.rate),
    trial.pace,
    String(Math.round(trial.bytesPerReading)),
    trial.cpu.toFixed(1),
    trial.periodicP50Ms.toFixed(1),
    trial.periodicP99Ms.toFixed(1),
    trial.waitingMs.toFixed(2),
  ]);
  return textTable([head, ...rows]);
}

if (import.meta.main) process.exitCode = await run(program);

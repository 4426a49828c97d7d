import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '@tidegauge/lab';
import { loadRaw } from '@tidegauge/loadtests/loading/load-records';
import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { median } from '@tidegauge/loadtests/results/statistics';
import { textTable } from '@tidegauge/loadtests/results/table';
import { startStorePlaces } from '@tidegauge/loadtests/targets/store-places';
import { checkLabStore, provideFolder } from '@tidegauge/loadtests/targets/targets';
import { runProgram } from '@tidegauge/process';
import type { Reading } from '@tidegauge/readings';
import { defineConfig, run } from '@tidegauge/service/program';
import { openStore, type Store } from '@tidegauge/storage';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import { cpuSeconds } from '@tidegauge/test-support/process-usage';
import { keyName, parseWorkload } from '@tidegauge/workload';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';
import { startEmptyHandler } from '../src/empty-handler.ts';

/**
 * `npm run bench -- api`: requests per second of the API, in turns with a handler that answers every request with one
 * record. The handler is the limit of Node's HTTP server. wrk sends the requests, because it takes less of the processor
 * than a client on Node.
 */
const { store, quick, rounds, seed, json } = BENCH_SETTINGS;
const SETTINGS = defineConfig({ store, quick, rounds, seed, json });

/** Connections of wrk. Each has one request at once. */
const CONNECTIONS = 16;

const SCRIPT = fileURLToPath(new URL('./http/requests.lua', import.meta.url));
const TABLE = 'bench_api';
const DEVICES = 100;
/** Readings of each device, one per second. */
const READINGS = 200;
const PAGE = 100;
const SECOND = 1_000_000;

interface Setup {
  readonly rounds: number;
  readonly seconds: number;
  readonly records: number;
}

interface Trial {
  readonly perSecond: number;
  readonly p50Micros: number;
  readonly p99Micros: number;
  /** Processor time of the process that answers. */
  readonly cpuMicros: number;
}

/** What wrk requests: paths of a file, one on each line. */
interface Load {
  readonly name: string;
  readonly target: { readonly url: string; readonly pid: number };
  readonly paths: string;
}

export const program = defineBench({
  name: 'api',
  summary: 'Requests per second of the API by kind, beside an empty handler of Node.',
  settings: SETTINGS,
  check({ store, quick, rounds }): Setup {
    checkLabStore(store);
    return { rounds: rounds ?? (quick ? 1 : 5), seconds: quick ? 1 : 5, records: quick ? 500 : 10_000 };
  },
  async run({ store: name, seed }, { rounds, seconds, records }, { closers, signal }) {
    const wrk = await findProgram('wrk', 'wrk');
    const places = await startStorePlaces(name);
    closers.add(() => places.stop());
    const url = await places.create('api');
    const start = Date.now() * 1000;
    const store = await openStore(url);
    try {
      await fillStore(store, records, start);
    } finally {
      await store.close();
    }
    const api = await startApiProcess({ STORE: url });
    closers.add(() => api.stop());
    const empty = await startEmptyHandler();
    closers.add(() => empty.stop());
    const folder = provideFolder(closers);
    const pathsOf = (file: string, paths: readonly string[]): string => {
      writeFileSync(join(folder, file), `${paths.join('\n')}\n`);
      return join(folder, file);
    };
    const devices = Array.from({ length: DEVICES }, (_, number) => encodeURIComponent(deviceName(number)));
    const loads: readonly Load[] = [
      { name: 'an empty handler', target: empty, paths: pathsOf('empty', ['/']) },
      {
        name: 'a record',
        target: api,
        paths: pathsOf(
          'record',
          Array.from(
            { length: records },
            (_, number) => `/v1/records/${TABLE}/${keyName(number, 'hashed', 1)}`,
          ),
        ),
      },
      {
        name: 'the latest reading of a device',
        target: api,
        paths: pathsOf(
          'latest',
          devices.map((device) => `/v1/readings/latest?device=${device}`),
        ),
      },
      {
        name: `${PAGE} readings of a device`,
        target: api,
        paths: pathsOf(
          'readings',
          devices.map((device) => `/v1/readings?device=${device}&limit=${PAGE}`),
        ),
      },
    ];
    const trials = loads.map((): Trial[] => []);
    const measure = (load: Load, forSeconds: number, number: number) =>
      send(wrk, load, { connections: CONNECTIONS, seconds: forSeconds, seed: seed + number });
    for (const load of loads) await measure(load, Math.min(seconds, 2), 0);
    for (let round = 0; round < rounds; round += 1) {
      const order = [...loads.keys()];
      for (const index of round % 2 === 0 ? order : order.toReversed()) {
        signal.throwIfAborted();
        trials[index]!.push(await measure(loads[index]!, seconds, round + 1));
      }
      process.stderr.write(`round ${round + 1}/${rounds}\n`);
    }
    const cores = availableParallelism();
    process.stdout.write(`\n${name}, ${CONNECTIONS} connections, ${cores} cores, medians of ${rounds}\n`);
    const results = loads.map(({ name: what }, index) => resultOf(what, trials[index]!, trials[0]!));
    process.stdout.write(tableOf(results));
    return { store: name, connections: CONNECTIONS, rounds, seconds, records, results };
  },
});

/** Writes the records, and the readings of one metric of each device. */
async function fillStore(store: Store, records: number, start: number): Promise<void> {
  const workload = parseWorkload(`recordcount=${records}`, { file: 'bench api' });
  await loadRaw(store, TABLE, workload, 1);
  for (let number = 0; number < DEVICES; number += 1) {
    const device = deviceName(number);
    const readings = Array.from({ length: READINGS }, (_, index): Reading => {
      const time = start - (READINGS - index) * SECOND;
      return {
        device,
        metric: 'temperature',
        time,
        value: 20 + (index % 100) / 10,
        received: time,
        boot: null,
        seq: null,
        quality: 'ok',
      };
    });
    await store.readings.write(readings);
  }
}

function deviceName(number: number): string {
  return `site-${number % 5}/sensor-${number}`;
}

/** @throws {Error} when an answer was no success, or there was none */
async function send(
  wrk: string,
  { name, target, paths }: Load,
  {
    connections,
    seconds,
    seed,
  }: { readonly connections: number; readonly seconds: number; readonly seed: number },
): Promise<Trial> {
  const before = cpuSeconds(target.pid);
  const args = [
    ...['--threads', '1', '--connections', String(connections), '--duration', `${seconds}s`],
    ...['--script', SCRIPT, target.url, '--', paths, String(seed)],
  ];
  const { stdout } = await runProgram(wrk, args);
  const cpu = cpuSeconds(target.pid) - before;
  const { requests, micros, failed, p50, p99 } = JSON.parse(stdout.trim().split('\n').at(-1)!) as Record<
    'requests' | 'micros' | 'failed' | 'p50' | 'p99',
    number
  >;
  if (requests === 0 || failed > 0) throw new Error(`${name}: ${failed} of ${requests} requests failed`);
  return {
    perSecond: (requests * SECOND) / micros,
    p50Micros: p50,
    p99Micros: p99,
    cpuMicros: (cpu * SECOND) / requests,
  };
}

interface Result extends Trial {
  readonly name: string;
  /** The rate as a share of the rate of the empty handler, median over rounds. */
  readonly ofEmpty: number;
}

function resultOf(name: string, trials: readonly Trial[], empty: readonly Trial[]): Result {
  const middle = (pick: (trial: Trial) => number) => median(trials.map(pick));
  return {
    name,
    perSecond: middle(({ perSecond }) => perSecond),
    p50Micros: middle(({ p50Micros }) => p50Micros),
    p99Micros: middle(({ p99Micros }) => p99Micros),
    cpuMicros: middle(({ cpuMicros }) => cpuMicros),
    ofEmpty: median(trials.map(({ perSecond }, round) => perSecond / empty[round]!.perSecond)),
  };
}

function tableOf(results: readonly Result[]): string {
  return textTable([
    ['request', 'rate', 'of the handler', 'median', 'p99', 'CPU of the process'],
    ...results.map(({ name, perSecond, ofEmpty, p50Micros, p99Micros, cpuMicros }) => [
      name,
      `${showNumber(perSecond)}/s`,
      `${(ofEmpty * 100).toFixed(0)} %`,
      `${showNumber(p50Micros)} us`,
      `${showNumber(p99Micros)} us`,
      `${cpuMicros.toFixed(0)} us`,
    ]),
  ]);
}

if (import.meta.main) process.exitCode = await run(program);

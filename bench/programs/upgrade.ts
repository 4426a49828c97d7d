import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startMosquitto } from '@tidegauge/lab';
import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { textTable } from '@tidegauge/loadtests/results/table';
import { say } from '@tidegauge/loadtests/say';
import { Closers } from '@tidegauge/loadtests/targets/closers';
import { provideFolder } from '@tidegauge/loadtests/targets/targets';
import { runProgram, waitUntil } from '@tidegauge/process';
import { defineConfig, integer, list, oneOf, run } from '@tidegauge/service/program';
import { openStore } from '@tidegauge/storage';
import { seeded } from '@tidegauge/workload';
import { NODE, ROOT } from '../../scripts/setup.js';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';
import { METRIC, makeStream } from '../src/faults/streams.ts';
import { type Flow, Traffic } from '../src/faults/traffic.ts';
import { INSTALL_MS, INSTALL_WAYS, type InstallWay } from '../src/ways/install-ways.ts';
import { readPage, type StartCommand, startPipeline } from '../src/ways/pipeline.ts';
import { digestOf, type SentReading, type SeriesDigest } from '../src/ways/series-digest.ts';

/** Version 0.2.0, which packages/storage/test/upgrade/README.md names too. */
const OLD_COMMIT = '12a3895f1fc27c4957b037d8d7c62407b2c801da';
const WAYS = Object.keys(INSTALL_WAYS) as readonly InstallWay[];
const HISTORY_RATE = 1000;
const LIVE_RATE = 50;
const STALL_MS = 10_000;
const STORED_MS = 600_000;
const ACKNOWLEDGED_MS = 60_000;
const MOST_READINGS = 1_000_000;

const { quick, json, seed } = BENCH_SETTINGS;
const settings = defineConfig({
  ways: { kind: list(oneOf(WAYS)), default: WAYS.join(','), help: 'What replaces version 0.2.0.' },
  readings: {
    kind: integer(1, MOST_READINGS),
    help: 'Readings before the upgrade. Default: 100,000, and with --quick 2,000.',
  },
  seconds: {
    kind: integer(1, 3600),
    help: 'How long the sensor publishes before the upgrade, and after it. Default: 30, with --quick 3.',
  },
  seed,
  quick,
  json,
});

interface Result {
  readonly way: InstallWay;
  /** From the stop of the old version until the new one is ready. */
  readonly downSeconds: number;
  readonly acknowledged: number;
  readonly sent: SeriesDigest;
  readonly stored: SeriesDigest;
}

interface Plan {
  readonly readings: number;
  readonly seconds: number;
  readonly seed: number;
}

export const program = defineBench({
  name: 'upgrade',
  summary: 'Upgrades version 0.2.0 while a sensor publishes, and compares all readings by digest.',
  details:
    'The old version is a clone at its commit, with SQLite and mosquitto. It stops, and each way to install continues with its\n' +
    'data directory. Ends with 1 if an acknowledged reading is missing, stored twice or changed. Needs git and a network, and\n' +
    'for the image root.',
  settings,
  check: ({ ways, readings, seconds, seed, quick }) => ({
    ways,
    plan: { readings: readings ?? (quick ? 2000 : 100_000), seconds: seconds ?? (quick ? 3 : 30), seed },
  }),
  async run({ quick }, { ways, plan }, { closers, signal }) {
    await requireOldCommit();
    const folder = provideFolder(closers);
    const old = await cloneOld(join(folder, 'old'));
    const results: Result[] = [];
    for (const way of ways) {
      const place = makeFolder(folder, way);
      const install = await INSTALL_WAYS[way]({ folder: makeFolder(place, 'archives'), quick, closers });
      const { start } = await install(place);
      // The first start of a clone downloads its packages, which is no part of an upgrade.
      const trial = await startPipeline(start, join(place, 'trial'), INSTALL_MS);
      await trial.stop();
      signal.throwIfAborted();
      const result = await upgrade({ way, old, start, place, signal }, plan);
      say(`${way}: ${result.stored.count} readings, ${showNumber(result.downSeconds)} s without ingest`);
      results.push(result);
    }
    process.stdout.write(tableOf(results));
    const wrong = results.filter(({ sent, stored }) => sent.digest !== stored.digest);
    const failure =
      wrong.length === 0 ? {} : { failure: `the digests differ: ${wrong.map(({ way }) => way).join(', ')}` };
    return { setup: { ...plan, historyRate: HISTORY_RATE, liveRate: LIVE_RATE }, results, ...failure };
  },
});

/** @throws {Error} in a shallow clone */
async function requireOldCommit(): Promise<void> {
  const { code } = await runProgram('git', ['cat-file', '-e', `${OLD_COMMIT}^{commit}`], {
    cwd: ROOT,
    accept: 'any',
  });
  if (code !== 0)
    throw new Error(`this clone lacks version 0.2.0, commit ${OLD_COMMIT}: run git fetch --unshallow`);
}

/** Its first start downloads its packages. */
async function cloneOld(folder: string): Promise<StartCommand> {
  await runProgram('git', ['clone', '--quiet', '--no-checkout', ROOT, folder], { timeoutMs: INSTALL_MS });
  await runProgram('git', ['checkout', '--quiet', '--detach', OLD_COMMIT], { cwd: folder });
  // What its `npm start` runs. npm does not pass a signal on to it.
  return { command: NODE, args: ['scripts/run.js', 'apps/tidegauge/src/main.ts'], cwd: folder };
}

function makeFolder(folder: string, name: string): string {
  const path = join(folder, name);
  mkdirSync(path);
  return path;
}

interface Upgrade {
  readonly way: InstallWay;
  readonly old: StartCommand;
  readonly start: StartCommand;
  readonly place: string;
  readonly signal: AbortSignal;
}

async function upgrade(
  { way, old, start, place, signal }: Upgrade,
  { readings, seconds, seed }: Plan,
): Promise<Result> {
  const closers = new Closers();
  try {
    const mosquitto = await startMosquitto();
    closers.add(() => mosquitto.stop());
    const data = join(place, 'data');
    const before = await startPipeline(withBroker(old, mosquitto.url), data, INSTALL_MS);
    closers.add(() => before.stop());

    const { port } = mosquitto;
    const history = publishOn(port, { root: 'history', rate: HISTORY_RATE, devices: 30, seed });
    closers.add(async () => history.stop());
    await waitUntil('the history to be sent', () => history.sent >= readings, { timeoutMs: STORED_MS });
    await endTraffic(history);
    // The next sensor has the same client id.
    history.stop();
    const live = publishOn(port, { root: 'live', rate: LIVE_RATE, devices: 5, seed: seed + 1 });
    closers.add(async () => live.stop());
    await waitForLast(before.api, history.flows);
    await sleep(seconds * 1000, undefined, { signal });

    const stopped = performance.now();
    await before.stop();
    const after = await startPipeline(withBroker(start, mosquitto.url), data, INSTALL_MS);
    const downSeconds = (performance.now() - stopped) / 1000;
    closers.add(() => after.stop());
    await sleep(seconds * 1000, undefined, { signal });
    await endTraffic(live);
    await waitForLast(after.api, live.flows);
    await after.stop();

    const flows = [...history.flows, ...live.flows];
    const acknowledged = history.acknowledged + live.acknowledged;
    const sent = await digestOf(sentReadings(flows));
    const stored = await digestOf(storedReadings(`sqlite:${join(data, 'tidegauge.db')}`, flows));
    return { way, downSeconds, acknowledged, sent, stored };
  } finally {
    await closers.close();
  }
}

/** The embedded broker of version 0.2.0 keeps no session, so both versions read from the same other one. */
function withBroker({ args, ...start }: StartCommand, url: string): StartCommand {
  return { ...start, args: [...args, '--broker', url] };
}

interface Sensors {
  readonly root: string;
  /** Messages per second. */
  readonly rate: number;
  readonly devices: number;
  readonly seed: number;
}

function publishOn(port: number, { root, rate, devices, seed }: Sensors): Traffic {
  const stream = makeStream({ kind: 'readings', share: 1, devices, connections: 1 }, rate, root);
  return new Traffic({ host: '127.0.0.1', port, streams: [stream], stallMs: STALL_MS, random: seeded(seed) });
}

async function endTraffic(traffic: Traffic): Promise<void> {
  traffic.end();
  await waitUntil('all acknowledgements', () => traffic.isAcknowledged, { timeoutMs: ACKNOWLEDGED_MS });
}

/** Waits until the last acknowledged reading of each device can be read. The broker keeps their order. */
async function waitForLast(api: string, flows: readonly Flow[]): Promise<void> {
  for (const [device, numbers] of devicesOf(flows)) {
    const last = numbers.at(-1);
    if (last === undefined) continue;
    const isStored = async () => (await readPage(api, device))?.value === last;
    await waitUntil(`reading ${last} of ${device}`, isStored, { timeoutMs: STORED_MS, pollMs: 200 });
  }
}

/** Each device with the numbers of its acknowledged messages, ascending. */
function* devicesOf(flows: readonly Flow[]): Generator<readonly [string, readonly number[], Flow]> {
  for (const flow of flows) {
    const { stream, acknowledged, sent } = flow;
    for (let place = 0; place < stream.devices; place++) {
      const numbers: number[] = [];
      for (let number = place; number < sent; number += stream.devices)
        if (acknowledged.has(number)) numbers.push(number);
      yield [stream.devicesOf(place)[0]!, numbers, flow];
    }
  }
}

function* sentReadings(flows: readonly Flow[]): Generator<SentReading> {
  for (const [device, numbers, { stream }] of devicesOf(flows)) {
    for (const number of numbers) {
      const { t: time, v: value, boot, seq } = JSON.parse(stream.payload(number));
      yield { device, time, value, boot, seq };
    }
  }
}

async function* storedReadings(url: string, flows: readonly Flow[]): AsyncGenerator<SentReading> {
  const store = await openStore(url);
  try {
    for (const [device] of devicesOf(flows))
      yield* store.readings.range({ device, metric: METRIC, order: 'asc', limit: MOST_READINGS });
  } finally {
    await store.close();
  }
}

function tableOf(results: readonly Result[]): string {
  return textTable([
    ['0.2.0 to', 'acknowledged', 'stored', 'digests', 'seconds without ingest'],
    ...results.map(({ way, acknowledged, stored, sent, downSeconds }) => [
      way,
      acknowledged.toLocaleString('en'),
      stored.count.toLocaleString('en'),
      sent.digest === stored.digest ? 'equal' : 'different',
      showNumber(downSeconds),
    ]),
  ]);
}

if (import.meta.main) process.exitCode = await run(program);

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeProcessFaults } from '@tidegauge/lab/process-faults';
import { startToxiproxy, type Toxiproxy } from '@tidegauge/lab/toxiproxy';
import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { textTable } from '@tidegauge/loadtests/results/table';
import { say } from '@tidegauge/loadtests/say';
import type { Closers } from '@tidegauge/loadtests/targets/closers';
import { isEmbedded, STORES, startStorePlaces } from '@tidegauge/loadtests/targets/store-places';
import { freePort, waitUntil } from '@tidegauge/process';
import { fetchFor } from '@tidegauge/service';
import { defineConfig, duration, integer, list, oneOf, run } from '@tidegauge/service/program';
import { openStore, type Store } from '@tidegauge/storage';
import { type SeededRandom, seeded } from '@tidegauge/workload';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';
import { type Disks, mountDisks } from '../src/faults/disks.ts';
import { judgeReadings, type Owed, type Verdict } from '../src/faults/judge.ts';
import { ownersOf } from '../src/faults/ledger-watch.ts';
import { Replica } from '../src/faults/replica.ts';
import { cutPower, embeddedUrl } from '../src/faults/scene.ts';
import { METRIC, makeStream } from '../src/faults/streams.ts';
import { Traffic } from '../src/faults/traffic.ts';

/**
 * `npm run bench -- relay`: boards with different stores relay to one centre. The link is cut again and again, boards and
 * the centre are killed, and the power of those with embedded stores is cut. Then everything that sensors had acknowledged
 * must be in the store of its board and in that of the centre, once and with equal values.
 */
const { quick, json, seed } = BENCH_SETTINGS;
const settings = defineConfig({
  store: { kind: oneOf(STORES), default: 'postgres', help: 'The store of the centre.' },
  boards: {
    kind: list(oneOf(STORES)),
    default: 'sqlite,json,mariadb',
    help: 'The stores of the boards.',
  },
  messages: {
    kind: integer(1, 100_000_000),
    help: 'Messages of all boards. Default: 1,000,000, and with --quick 4,000.',
  },
  rate: { kind: integer(1, 50_000), help: 'Messages per second of all boards. Default: 3,000, or 600.' },
  cuts: { kind: integer(0, 10_000), help: 'Cuts of the link. Default: 50, or 4.' },
  hold: {
    kind: duration(0.1, 86_400),
    help: 'Length of the last cut, whose backlog is measured. Default: 60s, or 3s.',
  },
  seed,
  quick,
  json,
});

const DEVICES = 30;
const CONNECTIONS = 2;
const STALL_MS = 10_000;
/** Of a cut, at most; of the last one, after which the rate of the backlog is measured; and between cuts. */
const PACE = { cutSeconds: 4, lastCutSeconds: 60, betweenSeconds: 2 } as const;
const QUICK_PACE: Pace = { cutSeconds: 1, lastCutSeconds: 3, betweenSeconds: 0.5 };
/** Every third cut kills a process, and every sixth cuts power instead. */
const KILL_EVERY = 3;
const POWER_EVERY = 6;
const RELAYED_MS = 1_200_000;
const ACKNOWLEDGED_MS = 180_000;
const REQUEST_MS = 5000;
const STREAMS = { sensors: 0, faults: 1 } as const;
const MOST_READINGS = 1_000_000;

type Pace = Readonly<Record<keyof typeof PACE, number>>;

/** An ingest process with its store. */
interface Site {
  readonly name: string;
  readonly store: string;
  /** Where sensors connect. */
  readonly port: number;
  readonly replica: Replica;
  /** The store's URL. It changes with a power cut. */
  readonly url: () => string;
  /** null: the store has a server, whose power is not cut. */
  readonly cutPower: (() => Promise<void>) | null;
}

interface Board extends Site {
  readonly traffic: Traffic;
}

interface Result {
  readonly board: string;
  readonly store: string;
  readonly acknowledged: number;
  readonly atBoard: Verdict;
  readonly atCentre: Verdict;
  /** Readings that differ between the two stores. */
  readonly unequal: number;
  readonly peakBytes: number;
}

export const program = defineBench({
  name: 'relay',
  summary: 'Relays from boards to a centre while links, processes and power fail, and compares all stores.',
  details: 'Ends with 1 if something is missing, stored twice or different. Power cuts need root.',
  settings,
  check({ messages, rate, cuts, hold, quick, ...rest }) {
    const pace = quick ? QUICK_PACE : PACE;
    return {
      ...rest,
      messages: messages ?? (quick ? 4000 : 1_000_000),
      rate: rate ?? (quick ? 600 : 3000),
      cuts: cuts ?? (quick ? 4 : 50),
      pace: { ...pace, lastCutSeconds: hold ?? pace.lastCutSeconds },
    };
  },
  async run(_config, { store, boards: stores, messages, rate, cuts, pace, seed }, { closers, signal }) {
    const random = seeded(seed, STREAMS.faults);
    const link = await openLink(closers);
    const centre = await openSite('centre', store, { METRICS_PORT: String(link.port) }, closers);
    await centre.replica.start();
    const boards: Board[] = [];
    for (const [index, each] of stores.entries()) {
      const name = `board-${index + 1}`;
      const site = await openSite(name, each, { RELAY: `http://${link.address}` }, closers);
      const { port } = site;
      await site.replica.start();
      const plan = { kind: 'readings', share: 1, devices: DEVICES, connections: CONNECTIONS } as const;
      const streams = [makeStream(plan, rate / stores.length, name)];
      const sensors = seeded(seed + index, STREAMS.sensors);
      const traffic = new Traffic({ host: '127.0.0.1', port, streams, stallMs: STALL_MS, random: sensors });
      closers.add(async () => traffic.stop());
      boards.push({ ...site, traffic });
    }
    const sent = (): number => boards.reduce((sum, { traffic }) => sum + traffic.sent, 0);
    const start = performance.now();
    for (let cut = 1; cut <= cuts || sent() < messages; cut++) {
      signal.throwIfAborted();
      await sleepFor(pace.betweenSeconds * random.double(), signal);
      if (cut <= cuts) await fail(cut, { link, centre, boards, pace, random, signal });
    }
    await link.change('refuse');
    await sleepFor(pace.lastCutSeconds, signal);
    for (const { traffic } of boards) traffic.end();
    await waitUntil(
      'the acknowledgement of all messages',
      () => boards.every(({ traffic }) => traffic.isAcknowledged),
      { timeoutMs: ACKNOWLEDGED_MS },
    );
    const before = await linkOf(boards);
    await centre.replica.ledger();
    const storedBefore = centre.replica.counts.stored;
    await link.change(null);
    const begin = performance.now();
    await waitUntil('the centre to have everything', async () => (await linkOf(boards)).backlogBytes === 0, {
      timeoutMs: RELAYED_MS,
    });
    const seconds = (performance.now() - begin) / 1000;
    await centre.replica.ledger();
    const caughtUp = (centre.replica.counts.stored - storedBefore) / seconds;
    const after = await linkOf(boards);
    const bytesPerReading = (after.sentBytes - before.sentBytes) / (after.received - before.received);
    for (const { replica } of [...boards, centre]) await replica.stop();
    const results: Result[] = [];
    for (const board of boards) results.push(await judge(board, centre));
    const published = sent();
    const centreBytes = centre.replica.peakBytes;
    process.stdout.write(textOf(results));
    process.stdout.write(
      `\n${published} messages in ${((begin - start) / 1000).toFixed(0)} s, ${cuts} cuts of the link\n` +
        `backlog of ${pace.lastCutSeconds} s: ${mebibytes(before.backlogBytes)}, sent in ${seconds.toFixed(1)} s, ` +
        `${showNumber(caughtUp)} readings/s, ${showNumber(bytesPerReading)} bytes on the link per reading\n` +
        `peak memory of the centre's ingest: ${mebibytes(centreBytes)}\n`,
    );
    const failure = results.flatMap(problemsOf).join('\n');
    return {
      setup: { store, stores, rate, cuts, seed },
      published,
      results,
      backlog: { bytes: before.backlogBytes, seconds, readingsPerSecond: caughtUp, bytesPerReading },
      centrePeakBytes: centreBytes,
      ...(failure === '' ? {} : { failure }),
    };
  },
});

interface CentreLinkPort {
  /** The centre's port, and where boards reach it. */
  readonly port: number;
  readonly address: string;
  change(change: Parameters<Toxiproxy['changeLink']>[1]): Promise<void>;
}

async function openLink(closers: Closers): Promise<CentreLinkPort> {
  const toxiproxy = await startToxiproxy();
  closers.add(() => toxiproxy.stop());
  const [port, listen] = [await freePort(), await freePort()];
  const address = `127.0.0.1:${listen}`;
  await toxiproxy.addLink(address, `127.0.0.1:${port}`);
  return { port, address, change: (change) => toxiproxy.changeLink(address, change) };
}

async function openSite(
  name: string,
  store: string,
  env: Readonly<Record<string, string>>,
  closers: Closers,
): Promise<Site> {
  const embedded = isEmbedded(store);
  const disks: Disks = await mountDisks(embedded ? 'power-cut' : 'plain', closers);
  const places = embedded ? null : await startStorePlaces(store);
  if (places !== null) closers.add(() => places.stop());
  const server = await places?.create('relay');
  const port = await freePort();
  // After a power cut, ingest must find another boot of the kernel.
  const systemCalls = embedded ? await makeProcessFaults() : null;
  if (systemCalls !== null) closers.add(async () => systemCalls.remove());
  const url = (): string => server ?? embeddedUrl(store, disks.store);
  const replica = new Replica(() => ({
    STORE: url(),
    DATA_DIR: join(disks.data, name),
    CLIENT_ID: name,
    LISTEN: `mqtt://127.0.0.1:${port}`,
    ...systemCalls?.environment,
    ...env,
  }));
  closers.add(() => replica.kill());
  const cut = async (): Promise<void> => {
    await cutPower([replica], disks, systemCalls!);
    await replica.start();
  };
  return { name, store, port, replica, url, cutPower: embedded ? cut : null };
}

interface Failing {
  readonly link: CentreLinkPort;
  readonly centre: Site;
  readonly boards: readonly Board[];
  readonly pace: Pace;
  readonly random: SeededRandom;
  readonly signal: AbortSignal;
}

/** One cut of the link, in which a process may be killed, or its power cut. */
async function fail(cut: number, { link, centre, boards, pace, random, signal }: Failing): Promise<void> {
  const hold = pace.cutSeconds * random.double();
  await link.change(random.below(2) === 0 ? 'refuse' : 'drop');
  const sites = [centre, ...boards];
  if (cut % POWER_EVERY === 0) {
    const able = sites.filter(({ cutPower }) => cutPower !== null);
    const site = able[random.below(Math.max(1, able.length))];
    say(`cut ${cut}: ${hold.toFixed(1)} s${site === undefined ? '' : `, power of ${site.name}`}`);
    await site?.cutPower?.();
  } else if (cut % KILL_EVERY === 0) {
    const { name, replica } = sites[random.below(sites.length)]!;
    say(`cut ${cut}: ${hold.toFixed(1)} s, kill -9 of ${name}`);
    await replica.kill();
    await replica.start();
  } else say(`cut ${cut}: ${hold.toFixed(1)} s`);
  await sleepFor(hold, signal);
  await link.change(null);
}

/**
 * What waits on the disks of all boards, and the readings and bytes that they sent since their starts.
 *
 * @throws {Error} while one of them does not answer
 */
async function linkOf(boards: readonly Board[]) {
  const sum = { backlogBytes: 0, received: 0, sentBytes: 0 };
  for (const { replica } of boards) {
    const answer = await fetchFor('read /relay', `${replica.url}/relay`, { timeoutMs: REQUEST_MS });
    const { centres } = (await answer.json()) as { centres: readonly (typeof sum)[] };
    const { backlogBytes, received, sentBytes } = centres[0]!;
    sum.backlogBytes += backlogBytes;
    sum.received += received;
    sum.sentBytes += sentBytes;
  }
  return sum;
}

async function judge({ name, store, traffic, url, replica }: Board, centre: Site): Promise<Result> {
  const owed: Owed = ({ acknowledged }, number) => acknowledged.has(number);
  const { flows } = traffic;
  return {
    board: name,
    store,
    acknowledged: traffic.acknowledged,
    atBoard: await judgeReadings(flows, owed, url()),
    atCentre: await judgeReadings(flows, owed, centre.url()),
    unequal: await differences(url(), centre.url(), ownersOf(flows).keys()),
    peakBytes: replica.peakBytes,
  };
}

/** Readings of some devices that only one of two stores has, or that differ in value, boot, number or quality. */
async function differences(one: string, other: string, devices: Iterable<string>): Promise<number> {
  const [first, second] = [await openStore(one), await openStore(other)];
  try {
    let count = 0;
    for (const device of devices) {
      const [here, there] = [await readingsOf(first, device), await readingsOf(second, device)];
      for (const [time, text] of here) if (there.get(time) !== text) count++;
      for (const time of there.keys()) if (!here.has(time)) count++;
    }
    return count;
  } finally {
    await Promise.all([first.close(), second.close()]);
  }
}

async function readingsOf(store: Store, device: string): Promise<ReadonlyMap<number, string>> {
  const found = new Map<number, string>();
  for await (const { time, value, boot, seq, quality } of store.readings.range({
    device,
    metric: METRIC,
    order: 'asc',
    limit: MOST_READINGS,
  }))
    found.set(time, JSON.stringify([value, boot, seq, quality]));
  return found;
}

function problemsOf({ board, acknowledged, atBoard, atCentre, unequal }: Result): string[] {
  const places = [
    ['at the board', atBoard],
    ['at the centre', atCentre],
  ] as const;
  const problems = places.flatMap(([where, { missing, duplicate, stored }]) => [
    ...(missing > 0 ? [`${board}: ${missing} acknowledged readings are missing ${where}`] : []),
    ...(duplicate > 0 ? [`${board}: ${duplicate} readings are stored twice ${where}`] : []),
    ...(stored < acknowledged ? [`${board}: ${stored} of ${acknowledged} readings are stored ${where}`] : []),
  ]);
  if (unequal > 0) problems.push(`${board}: ${unequal} readings differ between board and centre`);
  return problems.map((problem) => `FAILED: ${problem}`);
}

function textOf(results: readonly Result[]): string {
  return `\n${textTable([
    ['board', 'acknowledged', 'missing', 'twice', 'missing at the centre', 'twice', 'unequal', 'memory'],
    ...results.map(({ board, store, acknowledged, atBoard, atCentre, unequal, peakBytes }) => [
      `${board}, ${store}`,
      ...[
        acknowledged,
        atBoard.missing,
        atBoard.duplicate,
        atCentre.missing,
        atCentre.duplicate,
        unequal,
      ].map((count) => count.toLocaleString('en')),
      mebibytes(peakBytes),
    ]),
  ])}`;
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`;
}

async function sleepFor(seconds: number, signal: AbortSignal): Promise<void> {
  await sleep(seconds * 1000, undefined, { signal });
}

if (import.meta.main) process.exitCode = await run(program);

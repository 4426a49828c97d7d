import { isDeepStrictEqual } from 'node:util';
import { gatherStatistics } from '@tidegauge/loadtests/loading/gather-statistics';
import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { median } from '@tidegauge/loadtests/results/statistics';
import { estimate } from '@tidegauge/loadtests/results/student';
import { textTable } from '@tidegauge/loadtests/results/table';
import { STORES } from '@tidegauge/loadtests/targets/store-places';
import { type Reading, unknownDevice } from '@tidegauge/readings';
import { defineConfig, list, oneOf, run } from '@tidegauge/service/program';
import { NATIVE_CALLS, type NativeCall, nativeCalls, openStore, type Store } from '@tidegauge/storage';
import { BENCH_SETTINGS, type BenchContext, defineBench } from '../src/define-bench.ts';
import { startIfAvailable } from '../src/start-if-available.ts';

const { quick, rounds, json } = BENCH_SETTINGS;
const settings = defineConfig({
  stores: { kind: list(oneOf(STORES)), help: 'The stores. Default: all.' },
  calls: {
    kind: list(oneOf(NATIVE_CALLS)),
    help: 'The calls. Default: all of which a store has a native version.',
  },
  quick,
  rounds,
  json,
});

const SECOND = 1_000_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** 2026-01-01T00:00:00Z. */
const START = 1_767_225_600_000_000;
/** Readings that `expire` deletes. */
const OLD = START - 400 * DAY;
const OLD_READINGS = 10;
/** Days whose rollups are computed: later than those that can be deleted. */
const ROLLED_UP = START - 300 * DAY;
const METRICS = ['humidity', 'pressure', 'temperature', 'voltage'] as const;
const METRIC = METRICS[0];
const SITE = 'north';
/** A device with many readings of one metric. It is not registered. */
const LONG = 'long';
/** Seconds that a range of many devices covers: what a page about them shows. */
const SHOWN = 10;
const BATCH = 5000;
/** Devices of a page of the API. */
const PAGE = 50;
const WARM_UPS = 2;
/** The least time of a side in a round. */
const ROUND_MS = 100;

interface Setup {
  readonly devices: number;
  /** Of each of the four series of a device, one a second. */
  readonly readings: number;
  /** Of the series whose readings are read as a whole, one a second. */
  readonly long: number;
  readonly rounds: number;
}

/** A store, and how often the call has run on it. */
interface Side {
  readonly store: Store;
  readonly setup: Setup;
  readonly names: readonly string[];
  calls: number;
  /** Moves the clock of the store, microseconds. */
  ahead: number;
}

/** Returns what must be the same on both sides. */
type Work = (side: Side) => Promise<unknown>;

interface Measured {
  /** Comes before each call, and is not timed. */
  readonly prepare?: Work;
  readonly call: Work;
}

const CALLS: Readonly<Record<NativeCall, Measured>> = {
  latest: { call: ({ store, names }) => store.readings.latest(names.slice(0, PAGE)) },
  pages: {
    async call(side) {
      let count = 0;
      const query = { ...rangeOf(side), order: 'asc', limit: side.setup.long } as const;
      for await (const page of side.store.readings.pages(query)) count += page.length;
      return count;
    },
  },
  // No hour has rollups, so this reads the numbers of a series.
  numbers: {
    call: async (side) => {
      const { rollups } = await side.store.rollups.read({ ...rangeOf(side), period: 'minute' });
      return rollups.length;
    },
  },
  aggregate: {
    call: async (side) => {
      const { buckets } = await side.store.readings.aggregate({ ...rangeOf(side), bucket: 7 * SECOND });
      return buckets.length;
    },
  },
  groups: {
    call: async ({ store, setup: { devices, readings } }) => {
      const query = { by: 'device', from: START, to: START + readings * SECOND, limit: devices } as const;
      const { groups } = await store.readings.groups(query);
      return groups.map(({ key, count }) => [key, count]);
    },
  },
  rangeOfDevices: {
    async call({ store }) {
      let count = 0;
      const part = { from: START, to: START + SHOWN * SECOND, limit: BATCH };
      const query = { ...part, metric: METRIC, order: 'asc' } as const;
      for await (const _ of store.readings.rangeOfDevices({ site: SITE }, query)) count++;
      return count;
    },
  },
  expire: {
    prepare: async ({ store, setup }) => {
      for (const batch of batchesOf({ ...setup, readings: OLD_READINGS }, OLD))
        await store.readings.write(batch);
    },
    call: async ({ store }) => void (await store.readings.expire(OLD + DAY)),
  },
  units: {
    async call(side) {
      const { store, names, calls } = side;
      const series = names.map((device) => ({ device, metric: METRIC }));
      const unit = calls % 2 === 0 ? 'V' : 'mV';
      await store.readings.setUnits(series.map((each) => ({ ...each, unit })));
      return (await store.readings.units(series)).every((found) => found === unit);
    },
  },
  devices: {
    async call({ store, setup, names, calls }) {
      const name = names[calls % names.length]!;
      await store.devices.patch(name, { city: `city ${calls}` });
      await store.devices.get(name);
      return (await store.devices.list({ site: SITE, limit: setup.devices })).length;
    },
  },
  rollups: {
    async call(side) {
      const { store, calls } = side;
      const time = ROLLED_UP + calls * DAY;
      const hours = Array.from({ length: 24 }, (_, hour) => time + hour * HOUR);
      const names = side.names.slice(0, PAGE);
      await store.readings.write(
        hours.flatMap((hour) => names.map((device) => readingOf(device, METRIC, hour, 1))),
      );
      side.ahead += 10 * MINUTE;
      while ((await store.rollups.work()).more);
      const { rollups } = await store.rollups.read({
        ...{ device: names[0]!, metric: METRIC, period: 'day' },
        ...{ from: time, to: time + DAY },
      });
      return rollups[0]?.count;
    },
  },
  lease: { call: ({ store }) => store.lease('bench', 'holder', 60_000) },
};

interface Result {
  readonly store: string;
  readonly call: NativeCall;
  /** Medians of rounds. */
  readonly nativeMs: number;
  readonly derivedMs: number;
  /** Derived to native, with its 95 % interval. */
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
}

export const program = defineBench({
  name: 'natives',
  summary: 'Compares native versions of calls of a store with derived ones.',
  details:
    'For each call of which an engine has a native version, two stores with the same readings do it in turns: one derives this\n' +
    'call. The ratio is the time of the derived call to that of the native one, the geometric mean of all rounds.\n' +
    'ADR 2 has the rule for a native version: 1.5, or a bound that the derived one does not hold.',
  settings,
  check: ({ rounds, quick }): Setup => ({
    devices: quick ? 10 : 100,
    readings: quick ? 60 : 250,
    long: quick ? 600 : 18_000,
    rounds: rounds ?? (quick ? 2 : 15),
  }),
  async run({ stores, calls }, setup, context) {
    const results: Result[] = [];
    const missing: string[] = [];
    for (const name of stores ?? STORES) {
      // Each call has a new server: HBase has no room for many databases at once.
      for (let index = 0, left = true; left; index += 1) {
        const places = await startIfAvailable(name, stores !== null);
        if (places === null) {
          missing.push(name);
          break;
        }
        context.closers.add(() => places.stop());
        const url = await places.create('native');
        const measured = (await nativeCalls(url)).filter((call) => calls?.includes(call) ?? true);
        const call = measured[index];
        left = index + 1 < measured.length;
        if (call !== undefined) {
          const urls = { native: url, derived: await places.create('derived') };
          const result = { store: name, call, ...(await compare(call, urls, setup, context)) };
          results.push(result);
          process.stderr.write(`${name} ${call}: ${result.ratio.toFixed(2)}\n`);
        }
        await context.closers.close();
      }
    }
    process.stdout.write(
      textTable([
        ['store', 'call', 'native ms', 'derived ms', 'ratio', 'from', 'to'],
        ...results.map(({ store, call, nativeMs, derivedMs, ratio, low, high }) => [
          ...[store, call, showNumber(nativeMs), showNumber(derivedMs)],
          ...[ratio, low, high].map((value) => value.toFixed(2)),
        ]),
      ]),
    );
    return { ...setup, missing, results };
  },
});

async function compare(
  call: NativeCall,
  urls: { readonly native: string; readonly derived: string },
  setup: Setup,
  context: BenchContext,
): Promise<Omit<Result, 'store' | 'call'>> {
  const native = await filled(urls.native, setup, []);
  try {
    const derived = await filled(urls.derived, setup, [call]);
    try {
      return await inTurns(call, native, derived, context);
    } finally {
      await derived.store.close();
    }
  } finally {
    await native.store.close();
  }
}

async function inTurns(
  name: NativeCall,
  native: Side,
  derived: Side,
  { signal }: BenchContext,
): Promise<Omit<Result, 'store' | 'call'>> {
  const times: { readonly native: number; readonly derived: number }[] = [];
  const { rounds } = native.setup;
  for (let round = -WARM_UPS; round < rounds; round += 1) {
    signal.throwIfAborted();
    const sides = round % 2 === 0 ? [native, derived] : [derived, native];
    const found = [];
    for (const side of sides) found.push({ side, ...(await timed(name, side)) });
    const [first, second] = found as [(typeof found)[0], (typeof found)[0]];
    if (!isDeepStrictEqual(first.result, second.result))
      throw new Error(`${name}: the native and the derived call have different results`);
    const of = (side: Side) => (first.side === side ? first : second).ms;
    if (round >= 0) times.push({ native: of(native), derived: of(derived) });
  }
  const { mean, low, high } = estimate(times.map(({ native, derived }) => Math.log(derived / native)));
  return {
    nativeMs: median(times.map(({ native }) => native)),
    derivedMs: median(times.map(({ derived }) => derived)),
    ...{ ratio: Math.exp(mean), low: Math.exp(low), high: Math.exp(high) },
  };
}

/** The mean time of a call, and the last result. */
async function timed(
  name: NativeCall,
  side: Side,
): Promise<{ readonly ms: number; readonly result: unknown }> {
  const { prepare, call } = CALLS[name];
  let [ms, count, result]: [number, number, unknown] = [0, 0, null];
  do {
    await prepare?.(side);
    const begun = performance.now();
    result = await call(side);
    ms += performance.now() - begun;
    count += 1;
    side.calls += 1;
  } while (ms < ROUND_MS);
  return { ms: ms / count, result };
}

/** A store with registered devices and readings, none of which is in rollups. */
async function filled(url: string, setup: Setup, derived: readonly NativeCall[]): Promise<Side> {
  const names = namesOf(setup);
  const side = { setup, names, calls: 0, ahead: 0 };
  const store = await openStore(url, { derived, clock: () => Date.now() * 1000 + opened.ahead });
  const opened: Side = Object.assign(side, { store });
  for (const name of names) await store.devices.put({ ...unknownDevice(name), site: SITE });
  for (const batch of batchesOf(setup, START)) await store.readings.write(batch);
  for (const batch of longBatchesOf(setup)) await store.readings.write(batch);
  await gatherStatistics(url);
  return opened;
}

function namesOf({ devices }: Setup): readonly string[] {
  return Array.from({ length: devices }, (_, number) => `device-${String(number).padStart(4, '0')}`);
}

/** The long series, and its times. */
function rangeOf({ setup }: Side) {
  return { device: LONG, metric: METRIC, from: START, to: START + setup.long * SECOND };
}

function* longBatchesOf({ long }: Setup): Generator<readonly Reading[]> {
  for (let start = 0; start < long; start += BATCH) {
    const numbers = Array.from({ length: Math.min(BATCH, long - start) }, (_, index) => start + index);
    yield numbers.map((number) => readingOf(LONG, METRIC, START + number * SECOND, number / 8));
  }
}

function* batchesOf(setup: Setup, start: number): Generator<readonly Reading[]> {
  let batch: Reading[] = [];
  for (let number = 0; number < setup.readings; number += 1) {
    for (const device of namesOf(setup))
      for (const metric of METRICS)
        batch.push(readingOf(device, metric, start + number * SECOND, number / 8));
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

function readingOf(device: string, metric: string, time: number, value: number): Reading {
  return { device, metric, time, value, received: time, boot: null, seq: null, quality: 'ok' };
}

if (import.meta.main) process.exitCode = await run(program);

import { type Device, type Reading, type ReadingValue, unknownDevice } from '@tidegauge/readings';

/** 2026-01-01T00:00:00Z in microseconds. */
const START = 1_767_225_600_000_000;
const DAY_US = 86_400_000_000;
const BATCH = 5000;
const METRICS = ['humidity', 'state', 'temperature', 'Temperature', '__proto__'] as const;

/** Values that a store can change: extremes, both zeros, fractions without an end, texts of every kind. */
const VALUES: readonly ReadingValue[] = [
  -0,
  0,
  Number.MAX_VALUE,
  -Number.MAX_VALUE,
  Number.MIN_VALUE,
  -Number.MIN_VALUE,
  Number.EPSILON,
  0.1 + 0.2,
  1 / 3,
  2 ** 53,
  -(2 ** 63),
  1e21,
  '',
  'open',
  '1',
  '-0',
  'null',
  ' two  spaces ',
  'line\nbreak\ttab "quote" \'single\' \\ back, comma; %s $1',
  'Grüße 温度 \u{1f6aa} e\u0301',
  '\uffee\u{10ffff}',
];

/** Data that shows whether a copy is exact. The same count gives the same data. */
export interface Sample {
  /** The devices with readings, every third of them registered, and two registered devices without readings. */
  readonly registered: readonly Device[];
  readonly units: readonly { readonly device: string; readonly metric: string; readonly unit: string }[];
  /** Batches to write in this order. They have `count` identities, and corrections and duplicates besides. */
  batches(): Iterable<readonly Reading[]>;
}

/** @param count readings that remain */
export function sampleReadings(count: number): Sample {
  const devices = Math.max(4, Math.min(1000, Math.ceil(count / 500)));
  const nameOf = (number: number) =>
    number % 3 === 0 ? `site-${number % 7}/plant ${number}`.replace(' ', '~') : `sensor-${number}`;
  const names = Array.from({ length: devices }, (_, number) => nameOf(number));
  const registered = [
    ...names.filter((_, number) => number % 3 === 0).map((name, index) => describe(name, index)),
    unknownDevice('quiet'),
    describe('quiet/ü', 1),
  ];
  return {
    registered,
    units: names.flatMap((device, number) =>
      number % 2 === 0 ? [{ device, metric: 'temperature', unit: number % 4 === 0 ? 'Cel' : 'µg/m³' }] : [],
    ),
    batches: () => batchesOf(count, names),
  };
}

function* batchesOf(count: number, names: readonly string[]): Generator<readonly Reading[]> {
  let batch: Reading[] = [];
  for (let index = 0; index < count; index += 1) {
    const reading = readingOf(index, names);
    // Every 50th reading was another one at first, and every 70th comes twice.
    if (index % 50 === 0)
      batch.push({ ...reading, value: 'wrong', received: reading.received - 1, boot: null });
    batch.push(reading);
    if (index % 70 === 0) batch.push(reading);
    if (batch.length >= BATCH - 2) {
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}

/** What the sample needs of a store. */
interface FillableStore {
  readonly readings: {
    write(batch: readonly Reading[]): Promise<unknown>;
    setUnits(units: Sample['units']): Promise<unknown>;
  };
  readonly devices: { put(device: Device): Promise<unknown> };
  close(): Promise<void>;
}

/** Writes the sample of that size to a store, and closes the store. */
export async function fillStore(opening: Promise<FillableStore>, count: number): Promise<void> {
  const store = await opening;
  const sample = sampleReadings(count);
  for (const batch of sample.batches()) await store.readings.write(batch);
  await store.readings.setUnits(sample.units);
  for (const device of sample.registered) await store.devices.put(device);
  await store.close();
}

function describe(name: string, index: number): Device {
  return {
    name,
    site: index % 2 === 0 ? 'Süd "1"' : null,
    city: index % 3 === 0 ? 'Zürich' : null,
    kind: 'probe',
    year: index % 4 === 0 ? null : 2000 + (index % 26),
    attributes: { 'a.b': 1.5, $c: 'x', nothing: null, is: index % 2 === 0, constructor: 'text' },
  };
}

function readingOf(index: number, names: readonly string[]): Reading {
  const device = names[index % names.length]!;
  const turn = Math.floor(index / names.length);
  const metric = METRICS[turn % METRICS.length]!;
  // 100 readings of a device on each day, and its first one at the epoch.
  const time = turn === 0 ? 0 : START + Math.floor(turn / 100) * DAY_US + turn * 1_000_003;
  const value = index % 5 === 0 ? VALUES[(index / 5) % VALUES.length]! : Math.sin(index) * 1000;
  const hasBoot = index % 3 === 0;
  return {
    device,
    metric,
    time,
    value: index % 997 === 0 ? 'x'.repeat(4096) : value,
    received: START + index,
    boot: hasBoot ? `boot-${index % 11} é` : null,
    seq: hasBoot ? index : null,
    quality: time === 0 ? 'unsynced' : index % 101 === 0 ? 'skewed' : 'ok',
  };
}

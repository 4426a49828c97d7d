import type { Device, Quality, Reading, ReadingValue } from '@tidegauge/readings';

// The content of the stores in `fixtures`. README.md describes how version 0.1.0 wrote it.

const SECOND = 1_000_000;
const DAY = 86_400 * SECOND;
/** 2026-11-01T00:00:00Z in microseconds. */
export const START = 1_793_491_200 * SECOND;
const RECEIVED = START + 30 * DAY;

function reading(device: string, metric: string, time: number, value: ReadingValue): Reading {
  return { device, metric, time, value, received: time + 1500, boot: null, seq: null, quality: 'ok' };
}

/** Names that a store could confuse: upper and lower case, a longer name, letters beyond ASCII. */
const DEVICES_READ = ['site-3/boiler', 'site-3/Boiler', 'site-3/boiler/probe', 'Café:7/überlauf~β'];

const plain = DEVICES_READ.flatMap((device, index) =>
  Array.from({ length: 12 }, (_, step) =>
    reading(device, 'temperature', START + step * (DAY / 4) + index, 20 + index + step / 8),
  ),
);

const stamped = Array.from(
  { length: 6 },
  (_, seq): Reading => ({
    ...reading('stamping', 'level', START + 7 * DAY + seq * SECOND, seq * 0.1),
    boot: seq < 3 ? 'boot-1' : 'boot-2',
    seq: seq < 3 ? seq : 2 ** 40 + seq,
  }),
);

const values: readonly ReadingValue[] = [
  5e-324,
  Number.MAX_VALUE,
  -0.1,
  0,
  2 ** 53,
  'open',
  '42',
  `quoted "text" and 'text'\nof two lines, \u{1f6aa}`,
  'x'.repeat(4096),
];
const special = values.map((value, index) => reading('values', 'any', START + index, value));

function untrusted(metric: string, time: number, quality: Quality): Reading {
  return { ...reading('clockless', metric, time, 1), received: RECEIVED, quality };
}

const corrected = reading('corrected', 'temperature', START, 1);

/** The readings of the first batch. */
export const WRITTEN: readonly Reading[] = [
  ...plain,
  ...stamped,
  ...special,
  untrusted('unsynced', 12 * SECOND, 'unsynced'),
  untrusted('skewed', RECEIVED + 120 * SECOND, 'skewed'),
  corrected,
];
/** The readings of the second batch: a correction and a late reading. */
export const WRITTEN_LATER: readonly Reading[] = [
  { ...corrected, value: 2, received: corrected.received + SECOND },
  reading('site-3/boiler', 'temperature', START + 60 * SECOND, -4),
];
/** The readings that a store must then have. */
export const STORED: readonly Reading[] = [
  ...WRITTEN.filter((written) => written !== corrected),
  ...WRITTEN_LATER,
];

export const DEVICES: readonly Device[] = [
  {
    name: 'site-3/boiler',
    site: 'site-3',
    city: 'Faro',
    kind: 'boiler',
    year: 2019,
    attributes: { floor: 2, tested: true, note: 'α', none: null },
  },
  { name: 'Café:7/überlauf~β', site: null, city: 'Łódź', kind: null, year: null, attributes: {} },
];
/** Devices with only a name, as the first reading registers them. */
export const REGISTERED: readonly string[] = ['stamping', 'site-3/Boiler'];

export const TABLE = 'usertable';
/** A table of records that was created and has no records. */
export const EMPTY_TABLE = 'emptytable';
export const FIELD_COUNT = 3;
export const RECORDS: ReadonlyMap<string, Readonly<Record<string, string>>> = new Map(
  Array.from({ length: 8 }, (_, index) => [
    `user${index}`,
    { field0: `first ${index}`, field1: `é \u{1f6aa} ${index}`, field2: index % 2 === 0 ? '' : '"quoted"' },
  ]),
);

import type { Histogram } from './generators.ts';
import type { InsertOrder } from './keys.ts';
import type { Settings } from './settings.ts';

const MAX_INT = 2 ** 31 - 1;
const MAX_FIELDS = 1000;
const MAX_FIELD_LENGTH = 1_048_576;
const MAX_SCAN = 10_000;
const MIX_TOLERANCE = 1e-6;
const FIELD_PREFIX = 'field';

export const REQUEST_DISTRIBUTIONS = [
  'uniform',
  'zipfian',
  'latest',
  'hotspot',
  'exponential',
  'sequential',
] as const;
const LENGTH_DISTRIBUTIONS = ['constant', 'uniform', 'zipfian', 'histogram'] as const;
const SCAN_DISTRIBUTIONS = ['uniform', 'zipfian'] as const;

export type RequestDistribution = (typeof REQUEST_DISTRIBUTIONS)[number];

export const RECORD_OPERATIONS = ['read', 'update', 'insert', 'scan', 'readModifyWrite'] as const;

export type RecordOperationType = (typeof RECORD_OPERATIONS)[number];

/** YCSB's CoreWorkload: records of text fields under a key. */
export interface RecordWorkload {
  readonly kind: 'records';
  readonly table: string;
  /** Number of records of the loaded table. */
  readonly recordCount: number;
  /** Operations to run; 0 means until time is up. */
  readonly operationCount: number;
  /** The range that this client loads and reads. */
  readonly insertStart: number;
  readonly insertCount: number;
  readonly insertOrder: InsertOrder;
  readonly zeroPadding: number;
  readonly fieldCount: number;
  /** UTF-16 code units, which are bytes here: all is ASCII. */
  readonly fieldLength: {
    readonly distribution: (typeof LENGTH_DISTRIBUTIONS)[number];
    readonly minimum: number;
    readonly maximum: number;
    readonly histogram: Histogram | null;
  };
  readonly readAllFields: boolean;
  readonly writeAllFields: boolean;
  /** Whether values follow from key and field, so that a reader can check them. */
  readonly dataIntegrity: boolean;
  /** Shares of the operations; they add up to 1. */
  readonly mix: Readonly<Record<RecordOperationType, number>>;
  readonly requestDistribution: RequestDistribution;
  readonly hotspot: { readonly dataFraction: number; readonly operationFraction: number };
  readonly exponential: { readonly percentile: number; readonly fraction: number };
  readonly scanLength: {
    readonly distribution: (typeof SCAN_DISTRIBUTIONS)[number];
    readonly minimum: number;
    readonly maximum: number;
  };
  /** Properties that this package ignores. */
  readonly ignored: readonly string[];
}

/** Returns the text of a file that a property names. */
export type ReadFile = (name: string) => string;

/** The workload that properties describe, with YCSB's names and defaults. */
export function recordWorkload(settings: Settings, readFile: ReadFile | null): RecordWorkload {
  // YCSB reads 0 as the largest int.
  const recordCount = settings.whole('recordcount', 0, 0, MAX_INT) || MAX_INT;
  const insertStart = settings.whole('insertstart', 0, 0, recordCount - 1);
  const insertCount = settings.whole('insertcount', recordCount - insertStart, 1, MAX_INT);
  if (insertStart + insertCount > recordCount) {
    throw settings.wrong(
      'insertcount',
      `insertstart ${insertStart} and insertcount ${insertCount} go beyond recordcount ${recordCount}`,
      'lower one or raise recordcount',
    );
  }
  const fieldLength = fieldLengthOf(settings, readFile);
  const dataIntegrity = settings.flag('dataintegrity', false);
  if (dataIntegrity && fieldLength.distribution !== 'constant') {
    throw settings.wrong(
      'fieldlengthdistribution',
      `${fieldLength.distribution} lengths cannot be checked`,
      'set it to constant, or dataintegrity to false',
    );
  }
  if (settings.text('fieldnameprefix', FIELD_PREFIX) !== FIELD_PREFIX) {
    throw settings.wrong('fieldnameprefix', 'tables have field0, field1, ...', 'leave it out');
  }
  const scanLength = {
    distribution: settings.oneOf('scanlengthdistribution', 'uniform', SCAN_DISTRIBUTIONS),
    ...bounds(settings, 'scanlength', 1, 1000, MAX_SCAN),
  };
  const requestDistribution = settings.oneOf('requestdistribution', 'uniform', REQUEST_DISTRIBUTIONS);
  const common = {
    kind: 'records',
    table: settings.text('table', 'usertable'),
    recordCount,
    operationCount: settings.whole('operationcount', 0, 0, MAX_INT),
    insertStart,
    insertCount,
    insertOrder: settings.oneOf('insertorder', 'hashed', ['hashed', 'ordered']),
    zeroPadding: settings.whole('zeropadding', 1, 0, 100),
    fieldCount: settings.whole('fieldcount', 10, 1, MAX_FIELDS),
    fieldLength,
    readAllFields: settings.flag('readallfields', true),
    writeAllFields: settings.flag('writeallfields', false),
    dataIntegrity,
    mix: mixOf(settings),
    requestDistribution,
    hotspot: hotspotOf(settings, insertCount, requestDistribution === 'hotspot'),
    exponential: {
      percentile: settings.real('exponential.percentile', 95, 0.001, 99.999),
      fraction: settings.real('exponential.frac', 0.8571428571, 1e-9, 1),
    },
    scanLength,
  } as const;
  // What YCSB's own client and binding loader read from the same file.
  settings.text('workload', '');
  return { ...common, ignored: settings.ignored };
}

function fieldLengthOf(settings: Settings, readFile: ReadFile | null): RecordWorkload['fieldLength'] {
  const distribution = settings.oneOf('fieldlengthdistribution', 'constant', LENGTH_DISTRIBUTIONS);
  const maximum = settings.whole('fieldlength', 100, 1, MAX_FIELD_LENGTH);
  const ranged = distribution === 'uniform' || distribution === 'zipfian';
  const minimum = settings.whole('minfieldlength', 1, 0, ranged ? maximum : MAX_FIELD_LENGTH);
  const file = settings.text('fieldlengthhistogram', 'hist.txt');
  if (distribution !== 'histogram') return { distribution, minimum, maximum, histogram: null };
  if (readFile === null) {
    throw settings.wrong('fieldlengthhistogram', `${file} cannot be read here`, 'use another distribution');
  }
  let text: string;
  try {
    text = readFile(file);
  } catch (error) {
    throw settings.wrong('fieldlengthhistogram', `${file}: ${(error as Error).message}`, 'name a file');
  }
  const histogram = parseHistogram(text);
  if (histogram === null) {
    const form = 'BlockSize<tab>N, then a line of bucket<tab>count for each bucket from 0 on';
    throw settings.wrong('fieldlengthhistogram', `${file} is no histogram`, `it reads ${form}`);
  }
  return { distribution, minimum, maximum, histogram };
}

/** YCSB's histogram file, or null when it is none. */
function parseHistogram(text: string): Histogram | null {
  const [head, ...rows] = text.split(/\r?\n/).filter((line) => line !== '');
  const blockSize = Number(/^BlockSize\t(\d+)$/.exec(head ?? '')?.[1]);
  const buckets = rows.map((row, index) => {
    const [, bucket, count] = /^(\d+)\t(\d+)$/.exec(row) ?? [];
    return Number(bucket) === index ? Number(count) : Number.NaN;
  });
  const area = buckets.reduce((sum, count) => sum + count, 0);
  return blockSize > 0 && area > 0 ? { blockSize, buckets } : null;
}

/** `min...` and `max...`, or the other way round refused. */
function bounds(
  settings: Settings,
  name: string,
  low: number,
  high: number,
  most: number,
): { minimum: number; maximum: number } {
  const maximum = settings.whole(`max${name}`, high, 1, most);
  return { minimum: settings.whole(`min${name}`, low, 1, maximum), maximum };
}

function mixOf(settings: Settings): RecordWorkload['mix'] {
  const defaults = { read: 0.95, update: 0.05, insert: 0, scan: 0, readModifyWrite: 0 };
  const mix = { ...defaults };
  for (const type of RECORD_OPERATIONS) {
    mix[type] = settings.real(`${type.toLowerCase()}proportion`, defaults[type], 0, 1);
  }
  checkMix(settings, mix);
  return mix;
}

/** @throws {WorkloadError} when shares do not add up to 1; YCSB would scale them */
export function checkMix(settings: Settings, mix: Readonly<Record<string, number>>): void {
  const shares = Object.entries(mix).filter(([, share]) => share > 0);
  const sum = shares.reduce((total, [, share]) => total + share, 0);
  if (Math.abs(sum - 1) <= MIX_TOLERANCE) return;
  const parts = shares.map(([type, share]) => {
    const name = `${type.toLowerCase()}proportion`;
    return `${name} ${share}${settings.has(name) ? '' : ' (default)'}`;
  });
  const what = `${parts.join(' + ')} = ${Number(sum.toFixed(6))}`;
  throw settings.wrong('...proportion', what, 'let the shares add up to 1');
}

function hotspotOf(settings: Settings, items: number, used: boolean): RecordWorkload['hotspot'] {
  const dataFraction = settings.real('hotspotdatafraction', 0.2, 0, 1);
  const operationFraction = settings.real('hotspotopnfraction', 0.8, 0, 1);
  const hot = Math.trunc(items * dataFraction);
  if (used && ((hot === 0 && operationFraction > 0) || (hot === items && operationFraction < 1))) {
    throw settings.wrong(
      'hotspotdatafraction',
      `${dataFraction} of ${items} records leaves no ${hot === 0 ? 'hot' : 'cold'} ones to ask for`,
      'choose another fraction',
    );
  }
  return { dataFraction, operationFraction };
}

import { type DecodeContext, DecodeError } from '../codec.ts';
import {
  MAX_READINGS_PER_PAYLOAD,
  makeReading,
  readValue,
  recordPosition,
  replacedIn,
  timeProblem,
  tooManyReadings,
} from '../make-reading.ts';
import { deviceOfValue, resolveMetric } from '../naming.ts';
import { quote } from '../quote.ts';
import type { Reading, ReadingValue } from '../reading.ts';
import { MAX_TIME } from '../time.ts';

// The SenML data model of RFC 8428, independent of its representations (JSON, CBOR).

/** One record as sent, by JSON label (RFC 8428 section 4.3), checked for type but not resolved. */
export interface SenmlRecord {
  readonly bn?: string;
  readonly bt?: number;
  readonly bu?: string;
  readonly bv?: number;
  readonly bs?: number;
  readonly bver?: number;
  readonly n?: string;
  readonly u?: string;
  readonly v?: number;
  readonly vs?: string;
  readonly vb?: boolean;
  /** Base64 with the URL-safe alphabet, without padding. */
  readonly vd?: string;
  readonly s?: number;
  readonly t?: number;
  readonly ut?: number;
}

/** A record with its base fields applied. */
interface Resolved {
  readonly index: number;
  readonly name: string;
  readonly unit: string;
  /** Microseconds since the epoch. */
  readonly time: number;
  readonly value: ReadingValue | null;
  readonly sum: number | null;
}

/** The current base fields. Each is valid until a later record changes it. */
interface Base {
  name: string;
  time: number;
  unit: string;
  value: number;
  sum: number | null;
  version: number | null;
}

const VERSION = 10;
/** Seconds; below it a time is relative to now (RFC 8428 section 4.5.3). */
const FIRST_ABSOLUTE = 2 ** 28;
/** Enough for the longest device and metric. It bounds the cost of repeated base names. */
const MAX_NAME_LENGTH = 265;
/** RFC 8428 section 4.5.1. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9:./_-]*$/;
const BASE64URL = /^[A-Za-z0-9_-]*$/;
const VALUES = ['v', 'vs', 'vb', 'vd'] as const;
const REGULAR = ['n', 'u', ...VALUES, 's', 't', 'ut'] as const;

/**
 * Converts the records of a pack to readings by the rules of RFC 8428. A name is split at its last `:` or `/` into
 * device and metric. A sum becomes the metric `<metric>_sum`. Readings have no unit, so when records of one name
 * differ in unit (as in section 5.1.3), the unit becomes part of the metric: `<metric>_lat`. Units go to the notes of
 * the context, except those of sums, which are products of a unit and time.
 */
export function readPack(
  records: readonly SenmlRecord[],
  context: DecodeContext,
): readonly Reading[] | DecodeError {
  if (records.length > MAX_READINGS_PER_PAYLOAD) return tooManyReadings(records.length);
  const resolved = resolveAll(records, context.received);
  if (resolved instanceof DecodeError) return resolved;
  if (resolved.length === 0) return new DecodeError('empty_payload', 'the SenML pack holds no measurement');

  const manyUnits = namesWithManyUnits(resolved);
  const readings: Reading[] = [];
  for (const one of resolved) {
    const error = addReadings(readings, one, manyUnits.has(one.name), context);
    if (error !== null) return error.at(recordPosition(one.index, records.length));
  }
  if (readings.length > MAX_READINGS_PER_PAYLOAD) return tooManyReadings(readings.length);
  return replacedIn(readings) ?? readings;
}

/** The records that have a measurement, with the base values of those before them (RFC 8428 section 4.6). */
function resolveAll(records: readonly SenmlRecord[], received: number): Resolved[] | DecodeError {
  const base: Base = { name: '', time: 0, unit: '', value: 0, sum: null, version: null };
  const resolved: Resolved[] = [];
  for (let i = 0; i < records.length; i++) {
    const record = records[i]!;
    const wrong = applyBase(base, record, i === 0);
    if (wrong !== null) return wrong.at(recordPosition(i, records.length));
    if (REGULAR.every((label) => record[label] === undefined)) continue;
    const one = resolve(base, record, i, received);
    if (one instanceof DecodeError) return one.at(recordPosition(i, records.length));
    resolved.push(one);
  }
  return resolved;
}

function namesWithManyUnits(resolved: readonly Resolved[]): ReadonlySet<string> {
  const units = new Map<string, string>();
  const names = new Set<string>();
  for (const { name, unit } of resolved) {
    const first = units.get(name);
    if (first === undefined) units.set(name, unit);
    else if (first !== unit) names.add(name);
  }
  return names;
}

function applyBase(base: Base, record: SenmlRecord, first: boolean): DecodeError | null {
  const { bver } = record;
  if (bver !== undefined) {
    if (!Number.isInteger(bver) || bver < 1 || bver > VERSION) {
      return new DecodeError(
        'unsupported',
        `SenML version ("bver") is ${bver}; 1 to ${VERSION} are understood`,
      );
    }
    if (!first && bver !== (base.version ?? VERSION)) {
      return new DecodeError('malformed', `"bver" changes to ${bver}; a pack has one version throughout`);
    }
    base.version = bver;
  }
  if (record.bn !== undefined) base.name = record.bn;
  if (record.bt !== undefined) base.time = record.bt;
  if (record.bu !== undefined) base.unit = record.bu;
  if (record.bv !== undefined) base.value = record.bv;
  if (record.bs !== undefined) base.sum = record.bs;
  return null;
}

function resolve(base: Base, record: SenmlRecord, index: number, received: number): Resolved | DecodeError {
  const name = base.name + (record.n ?? '');
  if (name.length > MAX_NAME_LENGTH) {
    return new DecodeError(
      'invalid_name',
      `name ${quote(name)} is longer than ${MAX_NAME_LENGTH} characters`,
    );
  }
  if (name !== '' && !NAME.test(name)) {
    return new DecodeError(
      'invalid_name',
      `name ${quote(name)} must be letters A-Z a-z, digits and - : . / _, and begin with a letter or digit`,
    );
  }
  const time = resolveTime(base.time + (record.t ?? 0), received);
  if (time instanceof DecodeError) return time;
  const sum = record.s === undefined ? base.sum : (base.sum ?? 0) + record.s;
  const value = resolveValue(base, record, sum !== null);
  if (value instanceof DecodeError) return value;
  return { index, name, unit: record.u ?? base.unit, time, value, sum };
}

function resolveTime(seconds: number, received: number): number | DecodeError {
  const time = Math.round(seconds * 1e6) + (seconds < FIRST_ABSOLUTE ? received : 0);
  if (time >= 0 && time <= MAX_TIME) return timeProblem(time, 't', received) ?? time;
  return new DecodeError(
    'invalid_time',
    `the time, "bt" plus "t", is ${seconds} s; SenML counts seconds since 1970, or from now below 2^28`,
  );
}

function resolveValue(base: Base, record: SenmlRecord, hasSum: boolean): ReadingValue | null | DecodeError {
  const given = VALUES.filter((label) => record[label] !== undefined);
  const [label] = given;
  if (label === undefined) {
    return hasSum
      ? null
      : new DecodeError(
          'malformed',
          'the record has no value; one of "v", "vs", "vb", "vd" or "s" is needed',
        );
  }
  if (given.length > 1) {
    return new DecodeError(
      'malformed',
      `the record has ${given.join(' and ')}; it must have exactly one value`,
    );
  }
  if (record.v !== undefined) return readValue(base.value + record.v, 'v');
  const value = readValue(record[label], label);
  if (label !== 'vd' || value instanceof DecodeError) return value;
  if (BASE64URL.test(record.vd!) && record.vd!.length % 4 !== 1) return value;
  return new DecodeError('invalid_value', `"vd" is ${quote(value)}; it must be base64url without padding`);
}

function addReadings(
  into: Reading[],
  { name, unit, time, value, sum }: Resolved,
  withUnit: boolean,
  context: DecodeContext,
): DecodeError | null {
  const cut = Math.max(name.lastIndexOf(':'), name.lastIndexOf('/'));
  const ownMetric = name.slice(cut + 1) || null;
  const device = deviceOfValue(context, cut === -1 ? null : name.slice(0, cut), ownMetric);
  if (device instanceof DecodeError) return device;
  const plain = resolveMetric(context.metric, ownMetric);
  if (plain instanceof DecodeError) return plain;
  const metric = withUnit && unit !== '' ? resolveMetric(null, `${plain}_${unitWord(unit)}`) : plain;
  if (metric instanceof DecodeError) return metric;
  const { received, notes } = context;
  if (value !== null) {
    into.push(makeReading(device, metric, time, value, received, null, null));
    if (unit !== '') notes?.unit(device, metric, unit);
  }
  if (sum === null) return null;
  const sumMetric = resolveMetric(null, `${metric}_sum`);
  if (sumMetric instanceof DecodeError) return sumMetric;
  const total = readValue(sum, 's');
  if (total instanceof DecodeError) return total;
  into.push(makeReading(device, sumMetric, time, total, received, null, null));
  return null;
}

/** A unit of the SenML registry as part of a metric name. Only these characters must be replaced. */
function unitWord(unit: string): string {
  return unit.replaceAll('%', 'pct').replaceAll('/', '_per_');
}

import { type Decode, type DecodeContext, DecodeError } from '../codec.ts';
import {
  identityOf,
  MAX_BOOT_LENGTH,
  MAX_READINGS_PER_PAYLOAD,
  makeReading,
  readText,
  readTime,
  readValue,
  recordPosition,
  replacement,
  tooManyReadings,
} from '../make-reading.ts';
import { noteNames } from '../mapping/assumptions.ts';
import type { Quantity } from '../mapping/numbers.ts';
import { isLikelyTime, mayBeTime } from '../mapping/record-time.ts';
import { isShortTime, MAY_BE_TIME, mayBeUptime } from '../mapping/short-time.ts';
import { mayStateUnit, siblingUnits } from '../mapping/sibling-units.ts';
import { ASSUMED_UTC, hasZone } from '../mapping/times.ts';
import { ANOTHER_NAME, deviceOfValue, resolveMetric } from '../naming.ts';
import { quote } from '../quote.ts';
import { isReadingDocument, type Reading, type ReadingValue, SET_BY_INGEST } from '../reading.ts';
import { mayNameSender, senderField, severalSenders, withoutDevice } from '../record-senders.ts';
import { readFlatRecord } from './flat-record.ts';
import { type FieldNote, readJsonValue } from './json-value.ts';
import { parseJson } from './parse-json.ts';
import { readScalar } from './scalar.ts';
import { keepDigits } from './whole-numbers.ts';

/** Fields that are no metric, except a `t` that is no time. */
const RESERVED = new Set('t time ts timestamp v value boot seq device metric'.split(' '));

/**
 * What `readJson` returns for a record with a field that a mapping can read as its time, such as `last_seen`, or whose time
 * is local, so that the mapping reads it in the zone of the route.
 */
export const LIKELY_TIME = new DecodeError('invalid_time', 'the record has a field that is likely its time');

/**
 * Decodes JSON: a bare number, boolean or text; an object with `v` (or `value`) and any of `t` (`time`, `ts`,
 * `timestamp`), `boot`, `seq`, `device`, `metric`; an object in which every other field is a metric; an array of such
 * objects, bare or as `{"readings": [...]}`. An object with `boot` and `kept` only is a declaration,
 * see `Declared`. A `t` that cannot be a date is a metric, see `isShortTime`. A field with the unit of another field is no metric, see `siblingUnits`.
 */
export const decodeJson: Decode = (payload, context) => {
  const flat = readFlatRecord(payload, context);
  if (flat !== null) return flat;
  const root = parseJson(payload, context.notes);
  if (root instanceof DecodeError) return root;
  const decoded = readJson(keepDigits(payload, root, context.notes, mayBeTime), context, false);
  if (!(decoded instanceof DecodeError)) noteNames(root, decoded, context);
  return decoded;
};

/**
 * Like `decodeJson`, from the parsed value.
 *
 * @param findsTimes return `LIKELY_TIME` for a record without a time that has a field with a usual name of times
 */
export function readJson(
  root: unknown,
  context: DecodeContext,
  findsTimes: boolean,
): readonly Reading[] | DecodeError {
  const notes: FieldNote[] = [];
  const readings = readRoot(root, context, findsTimes, notes);
  if (!(readings instanceof DecodeError))
    for (const [field, why] of notes) context.notes?.ignored(field, why);
  return readings;
}

function readRoot(
  root: unknown,
  context: DecodeContext,
  findsTimes: boolean,
  notes: FieldNote[],
): readonly Reading[] | DecodeError {
  if (typeof root === 'string') return readBareText(root, context, notes);
  if (typeof root !== 'object' || root === null) return readScalar(root, context);
  if (Array.isArray(root)) return readArray(root, context, findsTimes, notes);
  const record = root as Record<string, unknown>;
  if (Array.isArray(record.readings) && Object.keys(record).length === 1) {
    return readArray(record.readings, context, findsTimes, notes);
  }
  const readings: Reading[] = [];
  return readRecord(record, context, readings, findsTimes, notes, null) ?? readings;
}

function readBareText(
  text: string,
  context: DecodeContext,
  notes: FieldNote[],
): readonly Reading[] | DecodeError {
  const value = readJsonValue(text, null, notes);
  if (value === null) return [];
  if (typeof value !== 'object' || value instanceof DecodeError)
    return value instanceof DecodeError ? value : readScalar(value, context);
  const readings = readScalar(value.value, context);
  if (readings instanceof DecodeError) return readings;
  const [{ device, metric }] = readings as [Reading];
  noteUnit(context, device, metric, value.unit ?? undefined);
  return readings;
}

function readArray(
  records: readonly unknown[],
  context: DecodeContext,
  findsTimes: boolean,
  notes: FieldNote[],
): readonly Reading[] | DecodeError {
  if (records.length === 0) return new DecodeError('empty_payload', 'the array holds no readings');
  if (records.length > MAX_READINGS_PER_PAYLOAD) return tooManyReadings(records.length);
  const readings: Reading[] = [];
  const seen: Seen = {
    ...{ untimed: new Set(), latest: Number.NEGATIVE_INFINITY, values: null },
    hasSenders: context.full === undefined ? null : false,
  };
  for (let i = 0; i < records.length; i++) {
    const first = readings.length;
    const error =
      readElement(records[i], context, readings, findsTimes, notes, seen) ??
      overwrites(readings, first, context, seen);
    if (error === LIKELY_TIME) return error;
    if (error !== null)
      return sendersOf(records, context, seen) ?? error.at(recordPosition(i, records.length));
  }
  return (
    sendersOf(records, context, seen) ??
    (readings.length <= MAX_READINGS_PER_PAYLOAD ? readings : tooManyReadings(readings.length))
  );
}

/** The refusal of records of several senders; null when they are of one. */
function sendersOf(
  records: readonly unknown[],
  context: DecodeContext,
  { hasSenders }: Seen,
): DecodeError | null {
  const field = hasSenders === true ? senderField(withoutDevice(records)) : null;
  return field === null ? null : severalSenders(field, context);
}

function readElement(
  record: unknown,
  context: DecodeContext,
  into: Reading[],
  findsTimes: boolean,
  notes: FieldNote[],
  seen: Seen,
): DecodeError | null {
  if (typeof record === 'object' && record !== null && !Array.isArray(record)) {
    return readRecord(record as Record<string, unknown>, context, into, findsTimes, notes, seen);
  }
  return new DecodeError('malformed', `${quote(record)} is not an object such as {"t": ..., "v": ...}`);
}

/** The readings of the records before. */
interface Seen {
  /** The series of those without a time. */
  readonly untimed: Set<string>;
  /** The largest time. */
  latest: number;
  /** The values by series and time. Null while times rise, because no reading can overwrite another one then. */
  values: Map<string, ReadingValue> | null;
  /** Whether a field can name the sender of its record; null when it does not matter. */
  hasSenders: boolean | null;
}

/**
 * Checks for several readings of one series without a time: all of them would have the time of receipt, and become
 * one reading. The same holds for several values at one time.
 */
function overwrites(
  readings: readonly Reading[],
  from: number,
  { received }: DecodeContext,
  seen: Seen,
): DecodeError | null {
  const { untimed, latest } = seen;
  for (let i = from; i < readings.length; i++) {
    const { device, metric, time } = readings[i]!;
    if (time !== received) {
      const error = replaces(readings, i, latest, seen);
      if (error !== null) return error;
      continue;
    }
    const series = `${device} ${metric}`;
    if (untimed.has(series)) {
      return new DecodeError(
        'invalid_time',
        `a second ${series} without a time would overwrite the first; give each its "time"`,
      );
    }
    untimed.add(series);
  }
  return null;
}

/** Whether a reading has another value than an earlier one of its series and time. */
function replaces(readings: readonly Reading[], at: number, latest: number, seen: Seen): DecodeError | null {
  const reading = readings[at]!;
  const { time, value } = reading;
  if (time > seen.latest) seen.latest = time;
  if (time <= latest)
    seen.values ??= new Map(readings.slice(0, at).map((each) => [identityOf(each), each.value]));
  if (seen.values === null) return null;
  const identity = identityOf(reading);
  const before = seen.values.get(identity);
  seen.values.set(identity, value);
  return before === undefined || before === value ? null : replacement(reading, ', or its device or metric');
}

/** Decodes one object and adds its readings to `into`. It is on the hot path of ingest. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: separate steps would need an object for each record
function readRecord(
  record: Record<string, unknown>,
  context: DecodeContext,
  into: Reading[],
  findsTimes: boolean,
  notes: FieldNote[],
  seen: Seen | null,
): DecodeError | null {
  let timeField = '';
  let rawTime: unknown = null;
  let valueField = '';
  let rawValue: unknown = null;
  let rawBoot: unknown = null;
  let rawSeq: unknown = null;
  let rawDevice: unknown = null;
  let rawMetric: unknown = null;
  let hasShortTime = false;
  let metrics = 0;
  let mayHaveUnits = false;
  let mayHaveTime = false;
  for (const field in record) {
    switch (field) {
      case 't':
        hasShortTime = true;
        break;
      case 'time':
      case 'ts':
      case 'timestamp':
        if (timeField !== '') return twice(timeField, field);
        timeField = field;
        rawTime = record[field];
        break;
      case 'v':
      case 'value':
        if (valueField !== '') return twice(valueField, field);
        valueField = field;
        rawValue = record[field];
        break;
      case 'boot':
        rawBoot = record[field];
        break;
      case 'seq':
        rawSeq = record[field];
        break;
      case 'device':
        rawDevice = record[field];
        break;
      case 'metric':
        rawMetric = record[field];
        break;
      default:
        if (++metrics > MAX_READINGS_PER_PAYLOAD) return tooManyReadings(metrics);
        if (seen !== null && seen.hasSenders === false && mayNameSender(field)) seen.hasSenders = true;
        if (mayStateUnit(field)) mayHaveUnits = true;
        else if (findsTimes && isLikelyTime(field)) mayHaveTime = true;
    }
  }
  if (metrics === 1 && rawBoot !== null && Object.hasOwn(record, 'kept')) {
    const others = Object.keys(record).length - (rawDevice === null ? 2 : 3);
    if (others === 0) return readDeclaration(record.kept, rawBoot, rawDevice, context);
  }
  let isMeasurement = false;
  if (hasShortTime) {
    if (!isShortTime(record.t, valueField !== '', rawBoot, rawSeq)) {
      isMeasurement = true;
      metrics++;
      if (mayBeUptime(record.t, valueField !== '')) context.notes?.ignored('t', MAY_BE_TIME);
    } else if (timeField !== '') return twice('t', timeField);
    else {
      timeField = 't';
      rawTime = record.t;
    }
  }
  if (mayHaveTime && timeField === '') return LIKELY_TIME;
  if (typeof rawTime === 'string' && !hasZone(rawTime)) {
    if (findsTimes) return LIKELY_TIME;
    context.notes?.doubt?.(timeField, ASSUMED_UTC);
  }

  const { received } = context;
  const time = rawTime === null ? received : readTime(rawTime, timeField, received);
  if (time instanceof DecodeError) return time;
  const boot = readBoot(rawBoot);
  if (boot instanceof DecodeError) return boot;
  const seq = readSeq(rawSeq);
  if (seq instanceof DecodeError) return seq;
  const deviceName = readName(rawDevice, 'device');
  if (deviceName instanceof DecodeError) return deviceName;
  const metricName = readName(rawMetric, 'metric');
  if (metricName instanceof DecodeError) return metricName;

  let valueMetric: string | null = null;
  let valueDevice = '';
  let isOurs = false;
  if (valueField !== '') {
    const device = deviceOfValue(context, deviceName, metricName);
    if (device instanceof DecodeError) return device;
    const metric = resolveMetric(context.metric, metricName);
    if (metric instanceof DecodeError) return metric;
    valueDevice = device;
    // The types of its values are those of the store.
    isOurs = isReadingDocument(record);
    const value = isOurs ? readValue(rawValue, valueField) : readJsonValue(rawValue, valueField, notes);
    if (value instanceof DecodeError) return value;
    if (value !== null) into.push(reading(device, metric, time, value, context, boot, seq));
    valueMetric = metric;
  } else if (metricName !== null || metrics === 0) {
    return new DecodeError('malformed', 'the object has no value; give it as "v"');
  }
  if (metrics === 0) return null;
  if (into.length + metrics > MAX_READINGS_PER_PAYLOAD) return tooManyReadings(into.length + metrics);

  const units = mayHaveUnits ? siblingUnits(record) : null;
  if (units !== null && valueMetric !== null)
    noteUnit(context, valueDevice, valueMetric, units.of.get(valueField));
  const fieldDevice = deviceOfValue(context, deviceName, ANOTHER_NAME);
  for (const field in record) {
    if (RESERVED.has(field) && !(isMeasurement && field === 't')) continue;
    if (isOurs && SET_BY_INGEST.has(field)) continue;
    if (units?.stated.has(field)) continue;
    if (field === valueMetric) return twice(valueField, field);
    const metric = resolveMetric(null, field);
    if (metric instanceof DecodeError) return metric;
    const device = field === context.metric ? deviceOfValue(context, deviceName, field) : fieldDevice;
    if (device instanceof DecodeError) return device;
    const value = readJsonValue(record[field], field, notes);
    if (value instanceof DecodeError) return value;
    if (value === null) continue;
    if (units !== null) noteUnit(context, device, metric, units.of.get(field));
    into.push(reading(device, metric, time, value, context, boot, seq));
  }
  return null;
}

/** Reads which numbers of a boot its sensor can still send. */
function readDeclaration(
  kept: unknown,
  rawBoot: unknown,
  rawDevice: unknown,
  context: DecodeContext,
): DecodeError | null {
  const boot = readBoot(rawBoot);
  if (boot instanceof DecodeError) return boot;
  const named = readName(rawDevice, 'device');
  if (named instanceof DecodeError) return named;
  const device = deviceOfValue(context, named, null);
  if (device instanceof DecodeError) return device;
  const from = readSeq(kept, 'kept');
  if (from instanceof DecodeError) return from;
  context.declared?.(device, boot!, from);
  return null;
}

/** Makes a reading. A quantity has its unit, which is noted. */
function reading(
  device: string,
  metric: string,
  time: number,
  value: ReadingValue | Quantity,
  context: DecodeContext,
  boot: string | null,
  seq: number | null,
): Reading {
  if (typeof value !== 'object') return makeReading(device, metric, time, value, context.received, boot, seq);
  noteUnit(context, device, metric, value.unit ?? undefined);
  return makeReading(device, metric, time, value.value, context.received, boot, seq);
}

function noteUnit({ notes }: DecodeContext, device: string, metric: string, unit: string | undefined): void {
  if (unit !== undefined) notes?.unit(device, metric, unit);
}

/** Reads `boot`, which identifies the power cycle. Sensors use a counter or a random word. */
export function readBoot(boot: unknown): string | null | DecodeError {
  if (boot === null) return null;
  if (typeof boot === 'string' && boot.length > 0 && boot.length <= MAX_BOOT_LENGTH)
    return readText(boot, 'boot');
  if (Number.isSafeInteger(boot)) return String(boot);
  return new DecodeError(
    'invalid_value',
    `"boot" is ${quote(boot)}; it is a whole number or a text of 1 to ${MAX_BOOT_LENGTH} characters`,
  );
}

/** Reads `seq`, which counts the readings of a boot. */
export function readSeq(seq: unknown, field = 'seq'): number | null | DecodeError {
  if (seq === null) return null;
  if (typeof seq === 'number' && Number.isSafeInteger(seq) && seq >= 0) return seq;
  return new DecodeError(
    'invalid_value',
    `"${field}" is ${quote(seq)}; it is a whole number from 0 to 2^53 - 1`,
  );
}

function readName(name: unknown, field: string): string | null | DecodeError {
  if (name === null || typeof name === 'string') return name;
  return new DecodeError('invalid_name', `"${field}" is ${quote(name)}; a name is a text`);
}

function twice(one: string, other: string): DecodeError {
  return new DecodeError('malformed', `"${one}" and "${other}" say the same thing; send one of them`);
}

import { DecodeError } from '../codec.ts';
import { isTable } from './paths.ts';
import { mayBeTime } from './record-time.ts';
import { compileTime, isDate, isTimeOfDay, UNKNOWN_ZONE } from './times.ts';

// Values of several times in one payload: arrays whose elements have their own time, a column of times beside columns of
// values, and a time of the first value with a step.

type Fields = Readonly<Record<string, unknown>>;

/** 2001-09-09, seconds: smaller numbers are more often counters or values. */
const FIRST_TIME = 1e9;
/** Names of an array that say nothing about its values, in the form of `snake`. */
const NAMELESS = new Set('values data samples measurements points v'.split(' '));
const START =
  /^(?:start|start_time|start_ts|start_timestamp|started_at|from|begin|first|first_time|t0|t_0|base_time|basetime|base_ts)$/;
const STEP =
  /^(?:step|interval|period|resolution|dt|(?:sample|sampling|log|logging|measurement|record|recording)_(?:interval|period))(?:_(s|sec|secs|second|seconds|ms|msec|millis|milliseconds|min|mins|minute|minutes|h|hours))?$/;
/** Microseconds of a unit, by its first two letters, or else by its first one. */
const UNITS: Readonly<Record<string, number>> = { ms: 1e3, mi: 60e6, m: 60e6, h: 3600e6, s: 1e6 };
/** How far ahead of the receiver the last value may be when the unit of the step is not in its name, microseconds. */
const MAX_LEAD = 600_000_000;

const readAny = compileTime({ unit: 'auto', format: 'day-first', zone: UNKNOWN_ZONE });
const ANYTIME = { received: 0, after: null, doubt: () => {} };

/** Whether a value is a time without doubt, except for its zone and the order of day and month. */
export function isTime(value: unknown): boolean {
  if (typeof value === 'number') return value >= FIRST_TIME && readAny(value, ANYTIME) !== 'unreadable';
  if (typeof value !== 'string' || /^\d{1,9}(?:\.\d*)?$/.test(value.trim())) return false;
  return readAny(value, ANYTIME) !== 'unreadable';
}

function hasTime(record: Fields): boolean {
  const isDated = Object.values(record).some((value) => typeof value === 'string' && isDate(value));
  for (const field in record) {
    const value = record[field];
    if (!mayBeTime(field)) continue;
    if (isTime(value) || (isDated && typeof value === 'string' && isTimeOfDay(value))) return true;
  }
  return false;
}

/** Whether a field below the record is a time, so that its value seems to have another time than the record. */
export function isTimeBelow(path: string, value: unknown): boolean {
  const point = path.lastIndexOf('.');
  return point !== -1 && mayBeTime(path.slice(point + 1)) && isTime(value);
}

/** Records with their own times. */
export interface TimedRecords {
  readonly records: readonly Fields[];
  /** The field of the only value of each record, which needs no name; null when they have names. */
  readonly only: string | null;
}

/**
 * The elements of an array as records, when each of them has its own time: objects with a field for it, or arrays with a
 * time at the same place, such as `[[1795262400, 21.5], …]`. Null for others.
 */
export function timedRecords(array: readonly unknown[]): TimedRecords | null {
  const first = array[0];
  if (isTable(first)) {
    const isTimed = array.every((element) => isTable(element) && hasTime(element));
    return isTimed ? { records: array as readonly Fields[], only: null } : null;
  }
  if (!Array.isArray(first) || first.length < 2 || first.length > 64) return null;
  const place = first.findIndex(isTime);
  const isRow = (row: unknown): row is readonly unknown[] =>
    Array.isArray(row) &&
    row.length === first.length &&
    row.every((cell, i) => isTime(cell) === (i === place));
  if (place === -1 || !array.every(isRow)) return null;
  const only = first.length === 2 ? String(1 - place) : null;
  const records = array.map((row) =>
    Object.fromEntries(row.map((cell, i) => [i === place ? 'time' : String(i), cell])),
  );
  return { records, only };
}

/** Columns of values of an object, and their times. */
export interface Series {
  /** The fields that are used, besides the columns. */
  readonly used: readonly string[];
  readonly columns: readonly {
    readonly field: string;
    readonly isNameless: boolean;
    readonly values: readonly unknown[];
  }[];
  /** The times of the values, as they are in the payload; or that of the first one. */
  readonly times: readonly unknown[];
  /** From one value to the next, microseconds; null when each has its own time. */
  readonly step: number | null;
}

/**
 * The series in an object; null without one. An error when it is certain that there is a series, and its times are not.
 *
 * @param received microseconds since the epoch
 */
export function seriesOf(fields: Fields, received: number): Series | DecodeError | null {
  if (!hasArray(fields)) return null;
  const columns = Object.keys(fields)
    .filter((field) => isColumn(fields[field]))
    .map((field) => ({
      field,
      isNameless: NAMELESS.has(field),
      values: fields[field] as readonly unknown[],
    }));
  if (columns.length === 0) return null;
  const isEven = columns.every(({ values }) => values.length === columns[0]!.values.length);
  const times = columns.find(({ field, values }) => mayBeTime(field) && values.every(isTime));
  if (times !== undefined) {
    if (columns.length === 1) return null;
    if (!isEven)
      return refused(`the array "${times.field}" of times and those of values have different lengths`);
    const others = columns.filter((column) => column !== times);
    return { used: [times.field], columns: others, times: times.values, step: null };
  }
  const stepField = Object.keys(fields).find((field) => STEP.test(snake(field)) && isPositive(fields[field]));
  if (stepField === undefined) return null;
  const startField = Object.keys(fields).find((field) => START.test(snake(field)) && isTime(fields[field]));
  if (startField === undefined) {
    const time = Object.keys(fields).find((field) => mayBeTime(field) && isTime(fields[field]));
    const nameless = columns.find(({ isNameless }) => isNameless);
    if (time === undefined || nameless === undefined) return null;
    return refused(
      `it is not certain whether "${time}" is the time of the first or of the last value of "${nameless.field}": name it start`,
    );
  }
  if (!isEven) return refused(`the arrays beside "${startField}" and "${stepField}" have different lengths`);
  const step = stepOf(
    stepField,
    fields[stepField] as number,
    fields[startField],
    columns[0]!.values.length,
    received,
  );
  if (step === null) {
    return refused(
      `the unit of "${stepField}" is not certain: name it ${snake(stepField)}_s or ${snake(stepField)}_ms`,
    );
  }
  return { used: [startField, stepField], columns, times: [fields[startField]], step };
}

/**
 * The column of an object with a step and a time that is not named as that of the first value: the values can be of one time
 * or of several. Null without one.
 */
export function columnWithStep(fields: Fields): string | null {
  if (!hasArray(fields)) return null;
  const names = Object.keys(fields);
  const hasStep = names.some((field) => STEP.test(snake(field)) && isPositive(fields[field]));
  if (!hasStep || !names.some((field) => mayBeTime(field) && isTime(fields[field]))) return null;
  return names.find((field) => isColumn(fields[field])) ?? null;
}

function hasArray(fields: Fields): boolean {
  for (const field in fields) if (Array.isArray(fields[field])) return true;
  return false;
}

/** A step in microseconds; null when its unit is not certain. */
function stepOf(field: string, step: number, start: unknown, count: number, received: number): number | null {
  const named = STEP.exec(snake(field))?.[1];
  if (named !== undefined) return step * (UNITS[named.slice(0, 2)] ?? UNITS[named[0]!]!);
  const isWholeSecond = step % 1000 === 0;
  const isMilliseconds = typeof start === 'number' && start >= 1e11;
  if (isMilliseconds && (start >= 1e14 || !isWholeSecond)) return null;
  if (!isMilliseconds && isWholeSecond) return null;
  const micros = step * (isMilliseconds ? 1e3 : 1e6);
  const first = readAny(start, ANYTIME);
  const isPossible = typeof first !== 'number' || first + micros * (count - 1) <= received + MAX_LEAD;
  return isPossible ? micros : null;
}

function isColumn(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.length > 1 &&
    value.every((element) => typeof element !== 'object' || element === null)
  );
}

function isPositive(value: unknown): boolean {
  return typeof value === 'number' && value > 0 && Number.isFinite(value);
}

/** `startTime` as `start_time`. */
function snake(field: string): string {
  return field
    .slice(0, 64)
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase();
}

function refused(why: string): DecodeError {
  return new DecodeError('invalid_time', `the payload is a series of values with a step, and ${why}`);
}

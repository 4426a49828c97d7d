import { MAX_TIME, parseTime } from '../time.ts';
import { compileZone } from './zones.ts';

export const TIME_UNITS = ['auto', 's', 'ms', 'us', 'ns'] as const;
export type TimeUnit = (typeof TIME_UNITS)[number];

export const TIME_FORMATS = ['auto', 'iso8601', 'rfc2822', 'epoch'] as const;
export type TimeFormat = (typeof TIME_FORMATS)[number];

/** The zone of texts without an offset, when nothing is known about it. */
export const UNKNOWN_ZONE = 'unknown';

export interface TimeReading {
  readonly unit: TimeUnit;
  readonly format: TimeFormat;
  /** A zone of the IANA database for texts without an offset, or `UNKNOWN_ZONE`. */
  readonly zone: string;
}

/**
 * Converts a time to microseconds since the epoch. `unreadable`: it is no time. `local`: it has no offset, and the zone
 * is not known.
 */
export type ReadTime = (value: unknown) => number | 'unreadable' | 'local';

const MICROSECONDS = { s: 1e6, ms: 1e3, us: 1, ns: 1e-3 } as const;
const LONGEST = 64;

// Groups: year, month, day, hour, minute, second, fraction, zone. `.` and `/` separate the parts of dates too.
const DATE_TIME =
  /^(\d{4})([-/.])(\d\d?)\2(\d\d?)(?:[Tt]| +)(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)? ?(Z|z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?$/;
// 21.11.2026 12:00: with points the day is first everywhere. With slashes it differs by country, so that is not read.
const DAY_FIRST =
  /^(\d\d?)\.(\d\d?)\.(\d{4})(?:,? +)(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)? ?(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?$/;
// RFC 2822 section 3.3 and RFC 5322: [day-name,] day month year hour:minute[:second] zone
const RFC_2822 =
  /^(?:[A-Za-z]{3}, ?)?(\d{1,2}) ([A-Za-z]{3}) (\d{4}) (\d\d):(\d\d)(?::(\d\d))?(?: (GMT|UTC?|Z|[+-]\d{4}|EST|EDT|CST|CDT|MST|MDT|PST|PDT))?$/;
const NUMBER = /^\d{1,19}(?:\.\d{1,9})?$/;
const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ');
/** Hours of the zones of RFC 2822 section 4.3. */
const NAMED: Readonly<Record<string, number>> = {
  EST: -5,
  EDT: -4,
  CST: -6,
  CDT: -5,
  MST: -7,
  MDT: -6,
  PST: -8,
  PDT: -7,
};

interface Parts {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly micros: number;
  /** Null without one. */
  readonly zone: string | null;
}

/**
 * Compiles how times are read.
 *
 * @throws {RangeError} when the zone does not exist
 */
export function compileTime({ unit, format, zone }: TimeReading): ReadTime {
  const toInstant = zone === UNKNOWN_ZONE ? null : compileZone(zone);
  const readNumber = (value: number): number | 'unreadable' => {
    if (unit === 'auto') return parseTime(value) ?? 'unreadable';
    return bounded(Math.round(value * MICROSECONDS[unit]));
  };
  const readText = (text: string): ReturnType<ReadTime> => {
    if (text.length > LONGEST) return 'unreadable';
    const trimmed = text.trim();
    if (format !== 'iso8601' && format !== 'rfc2822' && NUMBER.test(trimmed))
      return readNumber(Number(trimmed));
    const parts =
      (format === 'auto' || format === 'iso8601' ? readDateTime(trimmed) : null) ??
      (format === 'auto' ? readDayFirst(trimmed) : null) ??
      (format === 'auto' || format === 'rfc2822' ? readRfc2822(trimmed) : null);
    if (parts === null) return 'unreadable';
    const milliseconds = millisecondsOf(parts);
    if (milliseconds === null) return 'unreadable';
    const offset = parts.zone === null ? null : offsetOf(parts.zone);
    if (offset !== null) return bounded((milliseconds - offset) * 1000 + parts.micros);
    return toInstant === null ? 'local' : bounded(toInstant(milliseconds) * 1000 + parts.micros);
  };
  return (value) => {
    if (typeof value === 'string') return readText(value);
    if (typeof value !== 'number' || format === 'iso8601' || format === 'rfc2822') return 'unreadable';
    return readNumber(value);
  };
}

function bounded(time: number): number | 'unreadable' {
  return time >= 0 && time <= MAX_TIME ? time : 'unreadable';
}

function readDateTime(text: string): Parts | null {
  const match = DATE_TIME.exec(text);
  if (match === null) return null;
  const [, year, , month, day, hour, minute, second = '0', fraction = '', zone = null] = match;
  const micros = Number(fraction.slice(0, 6).padEnd(6, '0'));
  return {
    ...{ year: Number(year), month: Number(month), day: Number(day) },
    ...{ hour: Number(hour), minute: Number(minute), second: Number(second), micros, zone },
  };
}

function readDayFirst(text: string): Parts | null {
  const match = DAY_FIRST.exec(text);
  if (match === null) return null;
  const [, day, month, year, hour, minute, second = '0', fraction = '', zone = null] = match;
  const micros = Number(fraction.slice(0, 6).padEnd(6, '0'));
  return {
    ...{ year: Number(year), month: Number(month), day: Number(day) },
    ...{ hour: Number(hour), minute: Number(minute), second: Number(second), micros, zone },
  };
}

function readRfc2822(text: string): Parts | null {
  const match = RFC_2822.exec(text);
  if (match === null) return null;
  const [, day, name = '', year, hour, minute, second = '0', zone = null] = match;
  const month = MONTHS.indexOf(name.toLowerCase()) + 1;
  if (month === 0) return null;
  return {
    ...{ year: Number(year), month, day: Number(day) },
    ...{ hour: Number(hour), minute: Number(minute), second: Number(second), micros: 0, zone },
  };
}

/** Milliseconds since the epoch as if the time were UTC; null when there is no such date. */
function millisecondsOf({ year, month, day, hour, minute, second }: Parts): number | null {
  if (hour > 23 || minute > 59 || second > 59) return null;
  const midnight = new Date(Date.UTC(year, month - 1, day));
  // Date.UTC changes 30 February to a day in March, and the years 0 to 99 to 1900 to 1999.
  if (midnight.getUTCFullYear() !== year || midnight.getUTCMonth() !== month - 1) return null;
  if (midnight.getUTCDate() !== day) return null;
  return midnight.getTime() + ((hour * 60 + minute) * 60 + second) * 1000;
}

/** Milliseconds of an offset from UTC; NaN when it is impossible. */
function offsetOf(zone: string): number {
  const named = NAMED[zone];
  if (named !== undefined) return named * 3_600_000;
  if (!/^[+-]/.test(zone)) return 0;
  const digits = zone.slice(1).replace(':', '').padEnd(4, '0');
  if (Number(digits.slice(0, 2)) > 23 || Number(digits.slice(2)) > 59) return Number.NaN;
  const minutes = Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2));
  return (zone[0] === '-' ? -minutes : minutes) * 60_000;
}

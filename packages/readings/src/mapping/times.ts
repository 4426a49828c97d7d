import { MAX_TIME, parseSensorTime } from '../time.ts';
import { compileZone, type Instants } from './zones.ts';

export const TIME_UNITS = ['auto', 's', 'ms', 'us', 'ns'] as const;
export type TimeUnit = (typeof TIME_UNITS)[number];

export const TIME_FORMATS = ['auto', 'iso8601', 'rfc2822', 'epoch', 'day-first', 'month-first'] as const;
export type TimeFormat = (typeof TIME_FORMATS)[number];

/** The zone of texts without an offset, when nothing is known about it. */
export const UNKNOWN_ZONE = 'unknown';

export interface TimeReading {
  readonly unit: TimeUnit;
  readonly format: TimeFormat;
  /**
   * A zone of the IANA database for texts without an offset, or `UNKNOWN_ZONE`. Null: nobody stated one, so UTC is assumed.
   */
  readonly zone: string | null;
}

/** What is known about a time besides its text. Times are microseconds since the epoch. */
export interface When {
  readonly received: number;
  /** The time of the record before it in the payload; null without one. */
  readonly after: number | null;
  /** Receives what was assumed. */
  doubt(why: string): void;
}

/** What is noted of a local time when nobody stated its zone. */
export const ASSUMED_UTC =
  'it is a local time without a zone, and is read as UTC: set zone of its route, such as Europe/Berlin or UTC, or TIME_ZONE';
const OCCURS_TWICE =
  'this local time occurs twice, because clocks are set back: the one nearest to its receipt is used';
const SKIPPED =
  'this local time does not occur, because clocks are set forward: it is read with the offset before; set zone to that of the clock, such as +01:00';
/** How far a clock of a sensor may be ahead, so that the second of two instants is possible. */
const MAX_LEAD = 600_000_000;
/** A message that is received longer after the second instant may be of either. */
const MAX_DELAY = 3_600_000_000;

/**
 * Converts a time to microseconds since the epoch. `unreadable`: it is no time. `local`: it has no offset, and the zone
 * is not known. `twice`: it is a local time that occurs twice, and was received too late to decide which.
 */
export type ReadTime = (value: unknown, when: When) => number | 'unreadable' | 'local' | 'twice';

const MICROSECONDS = { s: 1e6, ms: 1e3, us: 1, ns: 1e-3 } as const;
const LONGEST = 64;

// Groups: year, month, day, hour, minute, second, fraction, zone. `.` and `/` separate the parts of dates too.
const DATE_TIME =
  /^(\d{4})([-/.])(\d\d?)\2(\d\d?)(?:[Tt]| +)(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)? ?(Z|z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?$/;
// 21.11.2026 12:00: with points the day is first everywhere. With slashes it differs by country, so that is not read.
const DAY_FIRST =
  /^(\d\d?)\.(\d\d?)\.(\d{4}|\d\d)(?:,? +)(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)? ?(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?$/;
// 11/26/2026, 10:00:00 PM. Only the formats day-first and month-first state the order.
const SLASHES =
  /^(\d\d?)\/(\d\d?)\/(\d{4})(?:,? +)(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?: ?([AaPp])\.?[Mm]\.?)? ?(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?$/;
// 20261126T220000Z, the basic format of ISO 8601, or the same digits alone, also without seconds. As numbers since 1970 these
// are in the year 2600, and those without seconds in 1976.
const BASIC = /^((?:19|20)\d\d)(\d\d)(\d\d)(?:T|t|)(\d\d)(\d\d)(\d\d)?(Z|[+-]\d\d(?::?\d\d)?)?$/;
// 261126220000W: YYMMDDhhmmss and winter (UTC+1) or summer (UTC+2), of Dutch and Belgian meters (DSMR 5 P1, section 6.4).
const METER = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)([WS])$/;
const TIME_OF_DAY =
  /^\d\d?:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?(?:Z|UTC|GMT|[+-]\d\d(?::?\d\d)?|[AaPp][Mm]))?$/;
const DATE = /^(?:\d{4}([-/.])\d\d?\1\d\d?|\d\d?\.\d\d?\.(?:\d{4}|\d\d)|\d\d?\/\d\d?\/\d{4})$/;
const BASIC_DATE = /^(?:19|20)\d{6}$/;
const BASIC_CLOCK = /^\d{4}(?:\d\d)?$/;
// RFC 2822 section 3.3 and RFC 5322: [day-name,] day month year hour:minute[:second] zone
const RFC_2822 =
  /^(?:[A-Za-z]{3}, ?)?(\d{1,2}) ([A-Za-z]{3}) (\d{4}) (\d\d):(\d\d)(?::(\d\d))?(?: (GMT|UTC?|Z|[+-]\d{4}|EST|EDT|CST|CDT|MST|MDT|PST|PDT))?$/;
// 2026-11-26 22:00:00 CET, 2026-11-26T22:00:00+01:00[Europe/Berlin]
const ZONE_NAME = /\d:\d\d.*(?:\d ?[A-Z]{3,5}|[ []\p{L}+\/[\p{L}_/-]+\]?)$/u;
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

type ReadParts = (text: string) => Parts | null;

const ANY_ORDER: readonly ReadParts[] = [readDateTime, readDayFirst, readMeter];

/** How texts are read besides numbers and the basic format. The first that succeeds counts. */
const READERS: Readonly<Record<TimeFormat, readonly ReadParts[]>> = {
  auto: [...ANY_ORDER, readRfc2822],
  iso8601: [readDateTime],
  rfc2822: [readRfc2822],
  epoch: [],
  'day-first': [...ANY_ORDER, (text) => readSlashes(text, 'day-first'), readRfc2822],
  'month-first': [...ANY_ORDER, (text) => readSlashes(text, 'month-first'), readRfc2822],
};

function readFirst(readers: readonly ReadParts[], text: string): Parts | null {
  for (const read of readers) {
    const parts = read(text);
    if (parts !== null) return parts;
  }
  return null;
}

/**
 * Compiles how times are read.
 *
 * @throws {RangeError} when the zone does not exist
 */
export function compileTime({ unit, format, zone }: TimeReading): ReadTime {
  const toInstants = zone === UNKNOWN_ZONE ? null : compileZone(zone ?? 'UTC');
  const isAny = format === 'auto' || format === 'day-first' || format === 'month-first';
  const readsNumbers = isAny || format === 'epoch';
  const readsBasic = format === 'iso8601' || (isAny && unit === 'auto');
  const readNumber = (value: number): number | 'unreadable' => {
    if (unit === 'auto') return parseSensorTime(value) ?? 'unreadable';
    return bounded(Math.round(value * MICROSECONDS[unit]));
  };
  const readText = (text: string, when: When): ReturnType<ReadTime> => {
    if (text.length > LONGEST) return 'unreadable';
    const trimmed = text.trim();
    const basic = readsBasic ? readBasic(trimmed) : null;
    if (basic === null && readsNumbers && NUMBER.test(trimmed)) return readNumber(Number(trimmed));
    const parts = basic ?? readFirst(READERS[format], trimmed);
    return parts === null ? 'unreadable' : instantOf(parts, when);
  };
  const instantOf = (parts: Parts, when: When): ReturnType<ReadTime> => {
    const milliseconds = millisecondsOf(parts);
    if (milliseconds === null) return 'unreadable';
    const offset = parts.zone === null ? null : offsetOf(parts.zone);
    if (offset !== null) return bounded((milliseconds - offset) * 1000 + parts.micros);
    if (toInstants === null) return 'local';
    if (zone === null) when.doubt(ASSUMED_UTC);
    const instant = chosen(toInstants(milliseconds), parts.micros, when);
    return instant === null ? 'twice' : bounded(instant);
  };
  return (value, when) => {
    if (typeof value === 'string') return readText(value, when);
    if (typeof value !== 'number' || !readsNumbers) return 'unreadable';
    return unit === 'auto' && isAny && isBasicNumber(value)
      ? readText(String(value), when)
      : readNumber(value);
  };
}

/** Whether a number has the digits of a date and a time: 20261126220000, which would be in the year 2612, or 202611262200. */
function isBasicNumber(value: number): boolean {
  return (value >= 19e12 && value < 21e12) || (value >= 19e10 && value < 21e10);
}

/** Of two instants the first after the record before it, or the nearest to the receipt; null when that is too late. */
function chosen(
  { first, again, isSkipped }: Instants,
  micros: number,
  { received, after, doubt }: When,
): number | null {
  const early = first * 1000 + micros;
  if (isSkipped) doubt(SKIPPED);
  if (first === again) return early;
  const late = again * 1000 + micros;
  doubt(OCCURS_TWICE);
  if (after !== null) return early > after ? early : late;
  if (received - late > MAX_DELAY) return null;
  return received >= late - MAX_LEAD ? late : early;
}

/** Why a text is no time, when it is a part of one, or can be two; null for other values. */
export function timeDoubt(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > LONGEST) return null;
  const text = value.trim();
  if (SLASHES.test(text))
    return 'the day or the month of a date with slashes can be first: set format: day-first or format: month-first in the time of the mapping';
  if (ZONE_NAME.test(text))
    return 'its zone is a name or an abbreviation, which is not read: send an offset such as +01:00, or a time in UTC with Z';
  return isTimeOfDay(text)
    ? 'it is a time of day without a date: set the time of the mapping, such as "{day} {time}", or time: false'
    : null;
}

/** Whether a text is a time of day, `22:00:00`. */
export function isTimeOfDay(text: string): boolean {
  return text.length <= LONGEST && TIME_OF_DAY.test(text.trim());
}

/** Whether a text is a date, `2026-11-26`. */
export function isDate(text: string): boolean {
  return text.length <= LONGEST && DATE.test(text.trim());
}

/** One text of a date and a time of day: `2026-11-26` and `22:00:00`, or `20261126` and `220000`. Null for others. */
export function joinTime(date: unknown, clock: unknown): string | null {
  if (typeof date !== 'string' || typeof clock !== 'string') return null;
  if (isDate(date) && isTimeOfDay(clock)) return `${date.trim()} ${clock.trim()}`;
  return BASIC_DATE.test(date) && BASIC_CLOCK.test(clock) ? `${date}T${clock}` : null;
}

/** Whether an ISO 8601 time, or a text with a similar end, states its zone. It is fast, for the hot path. */
export function hasZone(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last === 0x5a || last === 0x7a || /[+-]\d\d(?::?\d\d)?$/.test(text.slice(-6));
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
    ...{ year: Number(year) + (year!.length === 2 ? 2000 : 0), month: Number(month), day: Number(day) },
    ...{ hour: Number(hour), minute: Number(minute), second: Number(second), micros, zone },
  };
}

function readSlashes(text: string, order: 'day-first' | 'month-first'): Parts | null {
  const match = SLASHES.exec(text);
  if (match === null) return null;
  const [, one, other, year, clock, minute, second = '0', fraction = '', half = null, zone = null] = match;
  const [day, month] = order === 'day-first' ? [one, other] : [other, one];
  const isHalf = half !== null && Number(clock) >= 1 && Number(clock) <= 12;
  if (half !== null && !isHalf) return null;
  const hour = half === null ? Number(clock) : (Number(clock) % 12) + (half.toLowerCase() === 'p' ? 12 : 0);
  const micros = Number(fraction.slice(0, 6).padEnd(6, '0'));
  return {
    ...{ year: Number(year), month: Number(month), day: Number(day) },
    ...{ hour, minute: Number(minute), second: Number(second), micros, zone },
  };
}

function readBasic(text: string): Parts | null {
  const match = BASIC.exec(text);
  return match === null ? null : partsOf(match, match[7] ?? null, 0);
}

function readMeter(text: string): Parts | null {
  const match = METER.exec(text);
  return match === null ? null : partsOf(match, match[7] === 'W' ? '+01' : '+02', 2000);
}

/** Year, month, day, hour, minute and second of a match, in this order. */
function partsOf(match: RegExpExecArray, zone: string | null, century: number): Parts {
  const [year, month, day, hour, minute, second] = match
    .slice(1, 7)
    .map((digits = '0') => Number(digits)) as [number, number, number, number, number, number];
  return { year: century + year, month, day, hour, minute, second, micros: 0, zone };
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

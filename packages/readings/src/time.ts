import type { Quality } from './reading.ts';

/** Largest time of a reading: the largest number of microseconds that a double represents exactly (June 2255). */
export const MAX_TIME = Number.MAX_SAFE_INTEGER;

/** How far ahead of the receiver's clock a reading is still `ok`, microseconds. */
export const SKEW_TOLERANCE = 60_000_000;

/** A time that is older than this at its receipt can be of a clock that was never set, or another count, microseconds. */
export const FAR_PAST = 365 * 86_400_000_000;

/** How far ahead of the receiver's clock a time is accepted: 24 hours, in microseconds. */
export const MAX_AHEAD = 86_400_000_000;

/** 2000-01-01. An older reading comes from a board that has no clock yet. */
const FIRST_SYNCED = Date.UTC(2000, 0, 1) * 1000;

/** 1980-01-01, the earliest date of a clock that was not set, in milliseconds. */
const FIRST_MILLISECONDS = Date.UTC(1980, 0, 1);

// Groups: year, month, day, hour, minute, second, fraction, zone sign, zone hours, zone minutes.
const ISO_8601 =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?)?$/;
const MAX_ISO_LENGTH = 40;

/**
 * Converts a sensor's time to integer microseconds since the Unix epoch, or returns `null` when it is invalid. The
 * size of a number selects its unit: below 1e11 seconds (fractions allowed), below 1e14 milliseconds, below 1e17
 * microseconds, else nanoseconds. A string is an ISO 8601 date and time with up to nine decimals, of which six are
 * kept; without a zone it is UTC. Times before the epoch and after `MAX_TIME` are invalid.
 */
export function parseTime(value: unknown): number | null {
  if (typeof value === 'number') return fromNumber(value);
  if (typeof value === 'string') return fromIso(value);
  return null;
}

/**
 * Like `parseTime`, for the clock of a sensor: milliseconds before 1980 are no time, but the digits of a date (202611262200,
 * 261126220000) or another count.
 */
export function parseSensorTime(value: unknown): number | null {
  return typeof value === 'number' && value >= 1e11 && value < FIRST_MILLISECONDS ? null : parseTime(value);
}

function fromNumber(value: number): number | null {
  if (!(value >= 0)) return null;
  let time: number;
  if (value < 1e11) time = Math.round(value * 1e6);
  else if (value < 1e14) time = Math.round(value * 1e3);
  else if (value < 1e17) time = Math.round(value);
  else time = Math.round(value / 1e3);
  return time <= MAX_TIME ? time : null;
}

function fromIso(text: string): number | null {
  if (text.length > MAX_ISO_LENGTH) return null;
  const match = ISO_8601.exec(text);
  if (match === null) return null;
  const [
    ,
    year,
    month,
    day,
    hour,
    minute,
    second = '0',
    fraction = '',
    sign,
    zoneHour = '0',
    zoneMinute = '0',
  ] = match;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return null;
  if (Number(zoneHour) > 23 || Number(zoneMinute) > 59) return null;
  const midnight = Date.UTC(Number(year), Number(month) - 1, Number(day));
  // Date.UTC changes 30 February to a day in March, and the years 0 to 99 to 1900 to 1999.
  if (new Date(midnight).toISOString().slice(0, 10) !== text.slice(0, 10)) return null;
  const offset = (Number(zoneHour) * 60 + Number(zoneMinute)) * (sign === '-' ? -60 : 60);
  const seconds = midnight / 1000 + Number(hour) * 3600 + Number(minute) * 60 + Number(second) - offset;
  const time = seconds * 1e6 + Number(fraction.slice(0, 6).padEnd(6, '0'));
  return time >= 0 && time <= MAX_TIME ? time : null;
}

/**
 * The quality of `time` at the receive time `received` (both microseconds since the epoch): before the year 2000 the
 * board had no clock yet, and more than `tolerance` ahead its clock is wrong.
 */
export function timeQuality(time: number, received: number, tolerance: number = SKEW_TOLERANCE): Quality {
  if (time < FIRST_SYNCED) return 'unsynced';
  return time - received > tolerance ? 'skewed' : 'ok';
}

/** The last second that was formatted, because a reading is mostly received in the second of its time. */
const formatted = { second: 0, text: '1970-01-01T00:00:00.' };

/** Formats microseconds since the epoch as ISO 8601 UTC with six decimals: `2026-11-21T14:05:08.000250Z`. */
export function formatTime(time: number): string {
  const second = Math.floor(time / 1e6);
  if (second !== formatted.second) {
    formatted.second = second;
    // Without milliseconds and Z.
    formatted.text = new Date(second * 1000).toISOString().slice(0, -4);
  }
  return `${formatted.text}${String(time - second * 1e6).padStart(6, '0')}Z`;
}

/** Its origin has microseconds of the system clock, so the clocks of processes agree from their start. */
let monotonicOffset = performance.timeOrigin * 1000;

/**
 * The current time, microseconds since the epoch: the milliseconds of the system clock, refined by the monotonic
 * clock. It follows steps of the system clock, for example when NTP first answers on a board without a battery.
 */
export function now(): number {
  const monotonic = performance.now() * 1000;
  const wall = Date.now() * 1000;
  const refined = Math.floor(monotonicOffset + monotonic);
  return refined >= wall && refined <= wall + 999 ? refined : corrected();
}

/**
 * Makes the smallest correction, so that small differences of the clocks do not cost the microseconds. The system clock is
 * read between two readings of the monotonic clock: this process can be interrupted anywhere for milliseconds, and would
 * otherwise be ahead of other processes afterwards.
 */
function corrected(): number {
  const before = performance.now() * 1000;
  const wall = Date.now() * 1000;
  const after = performance.now() * 1000;
  monotonicOffset = Math.min(Math.max(monotonicOffset, wall - after), wall + 999 - before);
  return Math.min(Math.max(Math.floor(monotonicOffset + after), wall), wall + 999);
}

import { isNoValue } from './texts.ts';

// `t` is the time of some senders, and the temperature, total or tension of others.

/** 2001-09-09, seconds: smaller numbers are more often counters and measurements. */
export const FIRST_DATE = 1e9;
/** Characters between the parts of a date or a time. A decimal point is none. */
const SEPARATED = /\d[:/-]\d/;
const TIME_OF_DAY = /\d:\d\d/;
/** Digits of a date without separators: 20261121. */
const DATE_DIGITS = 8;
const LONGEST = 64;

/** The note of a `t` that can be either. */
export const MAY_BE_TIME =
  'it can be a measurement or the time since a start: it is stored as a metric, and the time of receipt is used; set time: t in a mapping if it is the time';
/** No temperature, voltage or humidity is larger. */
const LARGE = 1000;

/**
 * Whether a value of a field that is not always a time can be a date: a number since 2001-09-09, or a text with a date or
 * a time. The values of a measurement do not reach such numbers, so all of them are read in the same way.
 */
export function canBeDate(value: unknown): boolean {
  if (typeof value === 'number') return value >= FIRST_DATE;
  if (typeof value !== 'string' || value.length > LONGEST) return value === null;
  // As in other fields of a time, a word for no value means that there is no time.
  if (isNoValue(value)) return true;
  const number = Number(value);
  if (!Number.isNaN(number)) return number >= FIRST_DATE;
  return SEPARATED.test(value) || value.replace(/\D/g, '').length >= DATE_DIGITS;
}

/** Whether a text has a date and a time of day, in any form: `2026-11-26T24:00:00Z`, `Thu Nov 26 22:00:00 2026`. */
export function looksLikeTime(text: string): boolean {
  return text.length <= LONGEST && TIME_OF_DAY.test(text) && text.replace(/\D/g, '').length >= DATE_DIGITS;
}

/**
 * Whether `t` of a record is its time: it can be a date, or the record is a stamped reading with `v`, `boot` and `seq`,
 * whose `t` counts from the start until its clock is set.
 */
export function isShortTime(t: unknown, hasValue: boolean, boot: unknown, seq: unknown): boolean {
  return canBeDate(t) || (hasValue && isGiven(boot) && isGiven(seq));
}

/** Whether a `t` that is no date can be a time all the same: it is beside a value, or too large for a measurement. */
export function mayBeUptime(t: unknown, hasValue: boolean): boolean {
  return typeof t === 'number' && t >= 0 && (hasValue || t >= LARGE);
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

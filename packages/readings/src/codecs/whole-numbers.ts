import { DecodeError } from '../codec.ts';
import { MAX_READINGS_PER_PAYLOAD } from '../make-reading.ts';
import { keepsDigits } from '../mapping/numbers.ts';
import type { Notes } from '../notes.ts';
import { decodeUtf8 } from './utf8.ts';

// Whole numbers of JSON that no double represents, such as 9007199254740993 = 2^53 + 1.

const QUOTE = 0x22;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
/** The digits of 2^53. */
const SAFE_DIGITS = 16;
/** Characters of a field in a note. */
const LONGEST_NAME = 64;

/** The note of a whole number that no double represents. */
export const ROUNDED = 'it is a whole number beyond 2^53, so its last digits are rounded';
const KEPT = 'it is a whole number beyond 2^53, so it is kept as a text';

/** A text with the number after it, if it is the name of one, or a number without a name. */
const LONG_NUMBER =
  /"([^"\\]*(?:\\.[^"\\]*)*)"(?:\s*:\s*(-?\d{16,}(?:\.0*)?)(?![\d.eE]))?|(?<![\d.eE+-])(-?\d{16,}(?:\.0*)?)(?![\d.eE])/g;

/**
 * The parsed value of a payload, in which whole numbers that no double represents are texts of their digits.
 *
 * @param isTime whether a field is a time, whose number stays a number
 */
export function keepDigits(
  payload: Uint8Array,
  root: unknown,
  notes: Notes | undefined,
  isTime?: (field: string) => boolean,
): unknown {
  const parts: string[] = [];
  let from = 0;
  const text = textOf(payload);
  for (const { field, digits, at } of longNumbers(text)) {
    if (isTime?.(field)) continue;
    notes?.ignored(nameOf(field), KEPT);
    parts.push(text.slice(from, at), JSON.stringify(digits));
    from = at + digits.length;
  }
  return parts.length === 0 ? root : JSON.parse(parts.join('') + text.slice(from));
}

/** Notes whole numbers that no double represents, of a format in which they are rounded. Returns the value as it is. */
export function noteRounded(payload: Uint8Array, root: unknown, notes: Notes | undefined): unknown {
  if (notes === undefined) return root;
  for (const { field } of longNumbers(textOf(payload))) notes.ignored(nameOf(field), ROUNDED);
  return root;
}

/** The text of a payload; empty if it has no number of so many digits. */
function textOf(payload: Uint8Array): string {
  const text = hasLongNumber(payload) ? decodeUtf8(payload) : '';
  return text instanceof DecodeError ? '' : text;
}

/** The whole numbers of a JSON text that no double represents, at most as many as readings. */
function* longNumbers(text: string): Generator<{ field: string; digits: string; at: number }> {
  let found = 0;
  for (const { 0: match, 1: field = '', 2: named, 3: bare, index } of text.matchAll(LONG_NUMBER)) {
    const digits = named ?? bare;
    if (digits === undefined || keepsDigits(digits) || !Number.isFinite(Number(digits))) continue;
    yield { field, digits, at: index + match.length - digits.length };
    if (++found === MAX_READINGS_PER_PAYLOAD) return;
  }
}

/**
 * Whether a payload can have a whole number beyond 2^53: 16 digits from 9 on, or more. Of so many digits, one is at
 * every 16th byte.
 */
function hasLongNumber(payload: Uint8Array): boolean {
  for (let at = SAFE_DIGITS - 1; at < payload.length; at += SAFE_DIGITS) {
    if (!isDigit(payload[at])) continue;
    let from = at;
    while (isDigit(payload[from - 1])) from--;
    let to = at + 1;
    while (isDigit(payload[to])) to++;
    const digits = to - from;
    const before = payload[from - 1];
    const isLong = digits > SAFE_DIGITS || (digits === SAFE_DIGITS && payload[from] === NINE);
    if (isLong && before !== POINT && before !== QUOTE) return true;
    at += SAFE_DIGITS * Math.floor((to - 1 - at) / SAFE_DIGITS);
  }
  return false;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

function nameOf(field: string): string {
  return field.slice(0, LONGEST_NAME) || '(payload)';
}

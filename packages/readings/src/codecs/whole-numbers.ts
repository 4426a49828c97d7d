import { DecodeError } from '../codec.ts';
import { keepsDigits } from '../mapping/numbers.ts';
import type { Notes } from '../notes.ts';
import { decodeUtf8 } from './utf8.ts';

// Whole numbers of JSON that no double represents, such as 9007199254740993 = 2^53 + 1.

const QUOTE = 0x22;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
/** Characters of a field in a note. */
const LONGEST_NAME = 64;

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
  if (!hasLongNumber(payload)) return root;
  return withSource(payload, root, (field, value, source) => {
    if (isTime?.(field)) return value;
    notes?.ignored(nameOf(field), 'it is a whole number beyond 2^53, so it is kept as a text');
    return source;
  });
}

/** Notes whole numbers that no double represents, of a format in which they stay numbers. Returns the parsed value as it is. */
export function noteRounded(payload: Uint8Array, root: unknown, notes: Notes | undefined): unknown {
  if (notes === undefined || !hasLongNumber(payload)) return root;
  return withSource(payload, root, (field, value) => {
    notes.ignored(nameOf(field), ROUNDED);
    return value;
  });
}

/** The note of a whole number that no double represents. */
export const ROUNDED = 'it is a whole number beyond 2^53, so its last digits are rounded';

function withSource(
  payload: Uint8Array,
  root: unknown,
  replacement: (field: string, value: number, source: string) => unknown,
): unknown {
  const text = decodeUtf8(payload);
  if (text instanceof DecodeError) return root;
  const revive = (field: string, value: unknown, context?: { readonly source?: string }) => {
    if (typeof value !== 'number' || Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value;
    const source = context?.source ?? '';
    return keepsDigits(source) || !Number.isFinite(value) ? value : replacement(field, value, source);
  };
  try {
    return JSON.parse(text, revive);
  } catch {
    // A function that sees each value is called recursively: the payload has thousands of levels, of which few are read.
    return root;
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

function nameOf(field: string): string {
  return field.slice(0, LONGEST_NAME) || '(payload)';
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

/** The digits of 2^53. */
const SAFE_DIGITS = 16;

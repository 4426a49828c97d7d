import { isUnit, writtenUnit } from './units.ts';

// Which texts are numbers. The rule is the same for plain payloads, texts of JSON and mappings; docs/payloads.md states it.

/** What a comma and a point in numbers mean, as a mapping states it. */
export const DECIMALS = ['point', 'comma'] as const;
export type Decimal = (typeof DECIMALS)[number];

export interface Quantity {
  readonly value: number;
  /** Its registered name, or as it is written; null without a unit. */
  readonly unit: string | null;
}

/** Why a text that looks like a number is none. */
export class Doubt {
  readonly why: string;
  /** Whether the text itself is right, such as an identifier. Otherwise a setting makes it a number. */
  readonly isText: boolean;

  constructor(why: string, isText = false) {
    this.why = why;
    this.isText = isText;
  }
}

const SETTING = 'values of the mapping, number or text, decide';
const ZEROS = new Doubt(`its leading zeros can be those of an identifier: ${SETTING}`, true);
const EXPONENT = new Doubt(
  `an exponent without point or sign can be part of an identifier: ${SETTING}`,
  true,
);
const PLUS = new Doubt(`a plus sign and seven digits or more can be a telephone number: ${SETTING}`, true);
const LONG = new Doubt(`as a number it would lose digits, because it is beyond 2^53: ${SETTING}`, true);
const WHY_LETTER = `its letter can be a unit or the end of an identifier: ${SETTING}`;
const LETTER = new Doubt(WHY_LETTER, true);
/** No identifier is usual that has a separator and one letter. */
const DECIMAL_LETTER = new Doubt(WHY_LETTER);
/** A number that is too large for a double. */
export const TOO_LARGE = new Doubt('it is a number beyond 1.8e308, the largest there is', true);
const COMMA = new Doubt('its comma can be decimal or separate values: set decimal: comma in the mapping');
const POINT = new Doubt('its comma can separate thousands or values: set decimal: point in the mapping');
const SPACE = new Doubt(
  'its space can separate thousands or values: set decimal: comma or decimal: point in the mapping',
);
const EITHER = new Doubt(
  'its comma can be decimal or separate thousands: set decimal: comma or decimal: point in the mapping',
);
const MISFIT = { point: misfit('point'), comma: misfit('comma') };

function misfit(decimal: Decimal): Doubt {
  return new Doubt(`its separators do not fit decimal: ${decimal} of the mapping`);
}

/** The most characters of a number with separators or a unit. */
const LONGEST = 64;
/** The most characters of another number: no double needs more to be written exactly. */
const LONGEST_PLAIN = 1100;

// Each takes linear time: it is not ambiguous, or the text is short.
const PLAIN = /^([+−-]?)(\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d+))?$/;
// A sign, digits with separators, an exponent, and the rest.
const QUANTITY = /^([+−-]?)(\d(?:[\d.,'’ \u00a0\u202f]*\d)?[.,]?|[.,]\d+)(?:[eE]([+-]?\d{1,3}))?(\s*)(\S*)$/;
/** These units are recognised without white space before them. Other single letters could end an identifier. */
const SHORT_UNITS = new Set(['%', '°', 'V', 'W', 'K', 'l', 'L', 's', 'm', 'g', 'h', 'Ω', 'Ω', '℃', '℉']);

/** A network, a resolution or a size: `4g`, `4K`, `64K`. */
const SHORT_NAME = /^\d{1,2}[gK]$/;

/**
 * Reads a number that may have a unit and separators: `21.5`, `-3,2 °C`, `1.234,5 kWh`, `45%`.
 *
 * @param decimal what separators mean; null: only what is certain. Then a comma needs a unit, and one comma before
 *   exactly three digits is in doubt also with a unit.
 * @param isNumber whether the text is known to be a number, and no identifier
 * @returns null for a text that does not look like a number
 */
export function numberOf(text: string, decimal: Decimal | null, isNumber = false): Quantity | Doubt | null {
  if (text.length > LONGEST_PLAIN) return null;
  const trimmed = text.trim();
  const plain = PLAIN.exec(trimmed);
  if (plain !== null && (decimal !== 'comma' || !plain[2]!.includes('.'))) {
    return finished(plain[1]!, plain[2]!, plain[3], '', isNumber);
  }
  if (trimmed.length > LONGEST) return null;
  const match = QUANTITY.exec(trimmed);
  if (match === null) return null;
  const [, sign = '', digits = '', exponent, space = '', word = ''] = match;
  if (word !== '' && !isUnit(word)) return null;
  const isShort = space === '' && word.length === 1;
  const letter = isShort && !isNumber ? letterDoubt(trimmed, digits, word) : null;
  if (letter !== null) return letter;
  const number =
    decimal === null ? certain(digits, word !== '') : (split(digits, decimal) ?? MISFIT[decimal]);
  return typeof number === 'string' ? finished(sign, number, exponent, word, isNumber) : number;
}

/** Whether the double of a whole number has the same digits; true for a number with decimals, which may be rounded. */
export function keepsDigits(digits: string): boolean {
  const whole = /^-?(\d+)(?:\.0*)?$/.exec(digits)?.[1];
  if (whole === undefined || whole.length < 16 || /^\d{1,15}0*$/.test(whole)) return true;
  const value = Number(whole);
  return Number.isFinite(value) && (String(value) === whole || BigInt(value) === BigInt(whole));
}

/** Numbers as most senders write them, which need no further check: at most 15 digits before the point. */
const SIMPLE = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,40})?$/;

/** The number of a text without unit, exponent and white space around it; NaN for others, see `numberOf`. It is fast. */
export function simpleNumber(text: string): number {
  return SIMPLE.test(text) ? Number(text) : Number.NaN;
}

/** The number of a text of digits; null for others, also `1.234`, which the mapping reads as it states `decimal`. */
export function wholeNumber(text: string): number | null {
  const number = simpleNumber(text);
  return Number.isNaN(number) || text.includes('.') ? null : number;
}

/** Why one letter after a number may be no unit; null when it is one. */
function letterDoubt(text: string, digits: string, letter: string): Doubt | null {
  if (SHORT_UNITS.has(letter) && !SHORT_NAME.test(text)) return null;
  return /\D/.test(digits) ? DECIMAL_LETTER : LETTER;
}

/** Why a text of digits may be an identifier; null when it is a number. */
function identifierDoubt(
  sign: string,
  digits: string,
  exponent: string | undefined,
  magnitude: number,
): Doubt | null {
  if (/^0\d/.test(digits)) return ZEROS;
  if (exponent !== undefined && !digits.includes('.') && !/^[+-]/.test(exponent)) return EXPONENT;
  if (sign === '+' && /^\d{7}/.test(digits)) return PLUS;
  if (exponent === undefined && magnitude > Number.MAX_SAFE_INTEGER && !keepsDigits(digits)) return LONG;
  return null;
}

/** A number of digits with at most one point. */
function finished(
  sign: string,
  digits: string,
  exponent: string | undefined,
  unit: string,
  isNumber: boolean,
): Quantity | Doubt | null {
  const isNegative = sign === '-' || sign === '−';
  const magnitude = Number(exponent === undefined ? digits : `${digits}e${exponent}`);
  if (!Number.isFinite(magnitude)) return TOO_LARGE;
  const doubt = isNumber ? null : identifierDoubt(sign, digits, exponent, magnitude);
  if (doubt !== null) return doubt;
  return { value: isNegative ? -magnitude : magnitude, unit: unit === '' ? null : writtenUnit(unit) };
}

/**
 * The digits with a decimal point and no other separator, if their separators have one meaning only. Without a unit, a
 * comma can separate values (21.5,45), several points are those of an address or a version, and so is a space.
 */
function certain(digits: string, hasUnit: boolean): string | Doubt | null {
  if (/^\d*\.?\d*$/.test(digits)) return digits;
  const withPoint = split(digits, 'point');
  const withComma = split(digits, 'comma');
  if (withPoint === null && withComma === null) return null;
  if (digits.includes(' ')) return hasUnit ? SPACE : null;
  if (digits.includes(',')) return withCommas(digits, withPoint, withComma, hasUnit);
  const points = digits.split('.').length - 1;
  return points > 1 && !hasUnit ? null : (withPoint ?? withComma);
}

function withCommas(
  digits: string,
  withPoint: string | null,
  withComma: string | null,
  hasUnit: boolean,
): string | Doubt | null {
  if (withPoint !== null && withComma !== null) return EITHER;
  if (withPoint !== null) return hasUnit ? withPoint : POINT;
  // One sender can write 1234,567 and 1,567 with the same meaning, so three digits after the only comma are in doubt.
  return !hasUnit || /^[^.,]*,\d{3}$/.test(digits) ? COMMA : withComma;
}

/** The digits with a decimal point and no other separator; null when they do not fit `decimal`. */
function split(digits: string, decimal: Decimal): string | null {
  const [whole = '', fraction, ...others] = digits.split(decimal === 'comma' ? ',' : '.');
  if (others.length > 0 || !/^\d*$/.test(fraction ?? '')) return null;
  const isGrouped = /^\d{1,3}([.,'’ \u00a0\u202f])\d{3}(?:\1\d{3})*$/.test(whole);
  if (!isGrouped && !/^\d*$/.test(whole)) return null;
  return `${whole.replace(/\D/g, '') || '0'}${fraction === undefined ? '' : `.${fraction}`}`;
}

/**
 * Whether a text can be a number or a word for no value, by its first character. It is fast, for the hot path: most
 * texts are neither.
 */
export function mayBeNumberOrNone(text: string): boolean {
  const first = text.charCodeAt(0);
  // Digits and + , - . first; white space; the letters of unavailable, unknown, none, null, nan, n/a, inf; ? and #.
  if (first >= 0x2b && first <= 0x39) return first !== 0x2f;
  if (first >= 0x7f || !(first > 0x20) || first === 0x3f || first === 0x23) return true;
  const letter = first | 0x20;
  return letter === 0x6e || letter === 0x75 || letter === 0x69;
}

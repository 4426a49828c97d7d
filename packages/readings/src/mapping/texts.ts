import { isUnit, writtenUnit } from './units.ts';

// How texts of payloads are read: numbers with and without a unit, words for states, and words for no value.

/** The most characters of a number, a unit or a word. Longer texts are only texts. */
const LONGEST = 64;

/** Words for no value, in lower case. */
const NO_VALUE = new Set(
  [
    '',
    '-',
    '--',
    '---',
    '?',
    'unavailable',
    'unknown',
    'none',
    'null',
    'nil',
    'undefined',
    'nan',
    '+nan',
    '-nan',
  ].concat(['inf', '+inf', '-inf', 'infinity', '+infinity', '-infinity', 'n/a', 'n.a.', 'na', '#n/a']),
);

/** Whether a text is a word for no value, in any case: `unavailable`, `unknown`, `NaN`, or empty. */
export function isNoValue(text: string): boolean {
  return text.length <= LONGEST && NO_VALUE.has(text.trim().toLowerCase());
}

const COLOUR =
  /^(?:#(?:[0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})|(?:rgb|rgba|hsl|hsla|hsv)\([^)]{0,48}\))$/;

/** Whether a text is a colour as in CSS: `#ff8800`, `rgb(255, 136, 0)`. */
export function isColour(text: string): boolean {
  return text.length <= LONGEST && COLOUR.test(text);
}

/** Pairs of words that are states wherever they are the whole payload. They mean 1 and 0. */
const COMMON = [
  ['on', 'off'],
  ['true', 'false'],
  ['yes', 'no'],
  ['open', 'closed'],
  ['online', 'offline'],
  ['connected', 'disconnected'],
  ['home', 'not_home'],
] as const;

/** Further pairs, for fields that a mapping declares as states. Elsewhere they can have other meanings. */
const FURTHER = [
  ['opened', 'close'],
  ['home', 'away'],
  ['alive', 'dead'],
  ['up', 'down'],
  ['active', 'inactive'],
  ['enabled', 'disabled'],
  ['detected', 'clear'],
  ['occupied', 'unoccupied'],
  ['wet', 'dry'],
  ['locked', 'unlocked'],
  ['lock', 'unlock'],
  ['running', 'stopped'],
  ['present', 'absent'],
] as const;

/** All words for states, for documents and messages. */
export const statePairs: readonly (readonly [string, string])[] = [...COMMON, ...FURTHER];

const COMMON_STATES = tableOf(COMMON);
const STATES = tableOf(statePairs);

function tableOf(pairs: readonly (readonly [string, string])[]): ReadonlyMap<string, number> {
  return new Map(
    pairs.flatMap(([one, zero]) => [
      [one, 1],
      [zero, 0],
    ]),
  );
}

/** The number of a word for a state, in any case: 1 for `ON` or `open`, 0 for `OFF` or `closed`; null for others. */
export function stateOf(text: string): number | null {
  return text.length > LONGEST ? null : (STATES.get(text.trim().toLowerCase()) ?? null);
}

/** Like `stateOf`, for the words that are states wherever they are the whole payload. */
export function commonStateOf(text: string): number | null {
  return text.length > LONGEST ? null : (COMMON_STATES.get(text.trim().toLowerCase()) ?? null);
}

export interface Quantity {
  readonly value: number;
  /** Its registered name, or as it is written; null without a unit. */
  readonly unit: string | null;
}

// Digits with separators, an exponent, and the rest. It has no ambiguity, so it takes linear time.
const QUANTITY = /^([+-]?)(\d[\d.,'’]*|[.,]\d+)(?:[eE]([+-]?\d{1,3}))?(\s*)(\S*)$/;
/** These units are recognised without white space before them. Other single letters could end an identifier. */
const SHORT_UNITS = new Set(['%', '°', 'V', 'W', 'K', 'l', 'L', 's', 'm', 'g', 'h', 'Ω', 'Ω', '℃', '℉']);

/** One comma before three digits: a thousand, or a decimal comma. Before a unit it is taken as a thousand. */
const AMBIGUOUS = /^[1-9]\d{0,2},\d{3}$/;

/**
 * Reads a number that may have separators and a unit: `21.5`, `-3,2 °C`, `1,234 W`, `1.234,5 kWh`, `45%`. A separator
 * is a thousands separator when it occurs several times, or when it is a comma before exactly three digits. Returns
 * null for other texts, for `1,234` without a unit, which can mean both, also for a number before a word that is no known unit, and for numbers with leading zeros such
 * as `007`, which are identifiers.
 */
export function quantityOf(text: string): Quantity | null {
  if (text.length > LONGEST) return null;
  const match = QUANTITY.exec(text.trim());
  if (match === null) return null;
  const [, sign, digits = '', exponent = '0', space = '', word = ''] = match;
  const plain = withoutSeparators(digits);
  if (plain === null || /^0\d/.test(plain)) return null;
  const value = Number(`${sign}${plain}e${exponent}`);
  if (!Number.isFinite(value)) return null;
  if (word === '') return AMBIGUOUS.test(digits) ? null : { value, unit: null };
  if (!isUnit(word) || (space === '' && word.length === 1 && !SHORT_UNITS.has(word))) return null;
  return { value, unit: writtenUnit(word) };
}

/** The digits with a decimal point and no other separator; null when the separators make no sense. */
function withoutSeparators(digits: string): string | null {
  if (/^\d*\.?\d*$/.test(digits)) return digits;
  const comma = digits.lastIndexOf(',');
  const point = digits.lastIndexOf('.');
  const decimal = decimalSeparator(digits, comma, point);
  const whole = decimal === -1 ? digits : digits.slice(0, decimal);
  const fraction = decimal === -1 ? '' : digits.slice(decimal + 1);
  if (!/^\d*$/.test(fraction)) return null;
  const isGrouped = /^\d{1,3}(?:([.,'’])\d{3})(?:\1\d{3})*$/.test(whole);
  if (!isGrouped && !/^\d*$/.test(whole)) return null;
  return `${whole.replace(/\D/g, '') || '0'}.${fraction || '0'}`;
}

/** The index of the decimal separator; -1 when there is none. */
function decimalSeparator(digits: string, comma: number, point: number): number {
  if (comma !== -1 && point !== -1) return Math.max(comma, point);
  if (comma === -1) return digits.indexOf('.') === point ? point : -1;
  if (digits.indexOf(',') !== comma) return -1;
  return digits.length - comma - 1 === 3 && /^\d{1,3}$/.test(digits.slice(0, comma)) && digits[0] !== '0'
    ? -1
    : comma;
}

import { DecodeError } from '../codec.ts';
import { MAX_READINGS_PER_PAYLOAD, tooManyReadings } from '../make-reading.ts';
import { MAX_TEXT_LENGTH } from '../reading.ts';

// InfluxDB line protocol, as InfluxDB 1.x and 2.x read it:
// https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/

/**
 * A field value. Integers (`1i`) and unsigned integers (`1u`) are numbers, as floats are, and those that no double
 * represents are bigints.
 */
export type FieldValue = number | string | boolean | bigint;

/** One line: a measurement with its tags, at least one field, and maybe a time. */
export interface Point {
  readonly measurement: string;
  /** Keys and values in the order of the line. No key is there twice. */
  readonly tags: readonly (readonly [key: string, value: string])[];
  readonly fields: readonly (readonly [key: string, value: FieldValue])[];
  /** The digits of the timestamp with their sign; null when the line has none. */
  readonly timestamp: string | null;
}

/** Where a line is in its text, without the newline. */
export interface Span {
  /** The same with the spaces before it and a carriage return after it, on which the place where it ends can depend. */
  readonly begin: number;
  readonly end: number;
  readonly from: number;
  readonly to: number;
  /** The number of the line, from 1. A text field can have newlines, so a line can have several of them. */
  readonly line: number;
}

const SPACE = 0x20;
const COMMA = 0x2c;
const EQUALS = 0x3d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const NEWLINE = 0x0a;

const FLOAT = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const INTEGERS = [
  { name: 'integer', form: /^[+-]?\d{1,20}i$/, wrap: BigInt.asIntN },
  { name: 'unsigned', form: /^\+?\d{1,20}u$/, wrap: BigInt.asUintN },
];
const TIMESTAMP = /^-?\d{1,19}$/;
/** Bounds on what is read again for each field of a line. */
const MAX_TAGS = 256;
const MAX_MEASUREMENT = 1024;
/** The longest name of a tag or field, and value of a tag, as written: InfluxDB has the same limit. */
const MAX_NAME = 65_535;
/** No double needs more characters to be written exactly. */
const MAX_NUMBER_LENGTH = 1100;
const BOOLEANS = new Map<string, boolean>([
  ...['t', 'T', 'true', 'True', 'TRUE'].map((word) => [word, true] as const),
  ...['f', 'F', 'false', 'False', 'FALSE'].map((word) => [word, false] as const),
]);

/**
 * Finds the lines of a text, without empty lines and comments. A newline inside of a quoted field value, or after a
 * backslash, does not end its line.
 */
export function* findLines(text: string): Generator<Span> {
  let line = 1;
  for (let from = 0; from < text.length; ) {
    const { to, newlines } = endOfLine(text, from);
    const first = line;
    line += newlines + 1;
    const start = skipSpace(text, from);
    if (start < to && text[start] !== '#') {
      const last = text[to - 1] === '\r' ? to - 1 : to;
      yield { begin: from, end: to, from: start, to: last, line: first };
    }
    from = to + 1;
  }
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one state machine over all characters of a payload
function endOfLine(text: string, from: number): { to: number; newlines: number } {
  // Quotes are characters like others, except at the start of a field value.
  let inFields = false;
  let isQuoted = false;
  let equals = 0;
  let commas = 0;
  let newlines = 0;
  for (let at = from; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case BACKSLASH:
        at++;
        if (text.charCodeAt(at) === NEWLINE) newlines++;
        break;
      case SPACE:
        inFields = true;
        break;
      case EQUALS:
        if (inFields && !isQuoted) equals++;
        break;
      case COMMA:
        if (inFields && !isQuoted) commas++;
        break;
      case QUOTE:
        if (inFields && equals > commas) isQuoted = !isQuoted;
        break;
      case NEWLINE:
        if (!isQuoted) return { to: at, newlines };
        newlines++;
        break;
    }
  }
  return { to: text.length, newlines };
}

/** Spaces, tabs and carriage returns; the latter are there when lines end with CR LF. */
function skipSpace(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ' || text[at] === '\t' || text[at] === '\r') at++;
  return at;
}

/**
 * Parses one line without its newline. It stops at the first tag, field or name too many.
 *
 * @returns a text when the line is not valid: what is wrong, in the words of InfluxDB; an error when it has too much
 */
export function parsePoint(line: string): Point | string | DecodeError {
  const name = scan(line, 0, false);
  if (name === 0) return 'missing measurement';
  if (name > 2 * MAX_MEASUREMENT) return longMeasurement(name);
  const tags: [string, string][] = [];
  const afterTags = readTags(line, name, tags);
  if (typeof afterTags !== 'number') return afterTags;
  const fields: [string, FieldValue][] = [];
  const afterFields = readFields(line, skipSpace(line, afterTags), fields);
  if (typeof afterFields !== 'number') return afterFields;

  const rest = line.slice(afterFields);
  const timestamp = rest.trim();
  if (timestamp !== '' && (!TIMESTAMP.test(timestamp) || !/^[ \t]/.test(rest))) {
    return rest.startsWith(' ') ? 'bad timestamp' : 'invalid field format';
  }
  const measurement = line.slice(0, name).replaceAll(/\\([, ])/g, '$1');
  if (measurement.length > MAX_MEASUREMENT) return longMeasurement(measurement.length);
  return { measurement, tags, fields, timestamp: timestamp === '' ? null : timestamp };
}

/** Adds the tags that begin at an offset. Returns the offset after them, or why the line is refused. */
function readTags(line: string, from: number, tags: [string, string][]): number | string | DecodeError {
  let at = from;
  while (line.charCodeAt(at) === COMMA) {
    const key = scan(line, at + 1, true);
    if (key === at + 1) return 'missing tag key';
    if (line.charCodeAt(key) !== EQUALS) return 'missing tag value';
    const value = scan(line, key + 1, true);
    if (value === key + 1) return 'missing tag value';
    if (line.charCodeAt(value) === EQUALS) return 'invalid tag format';
    if (tags.length === MAX_TAGS)
      return new DecodeError('invalid_name', `the line has more than ${MAX_TAGS} tags`);
    const longest = Math.max(key - at, value - key);
    if (longest > MAX_NAME) return longName('tag', longest);
    tags.push([unescapeKey(line.slice(at + 1, key)), unescapeKey(line.slice(key + 1, value))]);
    at = value;
  }
  const areUnique = tags.length < 2 || new Set(tags.map(([key]) => key)).size === tags.length;
  return areUnique ? at : 'duplicate tags';
}

/** The end of the key of a field, or why the line is refused. @param before the number of fields before it */
function endOfKey(line: string, from: number, before: number): number | string | DecodeError {
  const key = scan(line, from, true);
  if (key === from) return 'missing field key';
  if (line.charCodeAt(key) !== EQUALS) return before === 0 ? 'missing fields' : 'missing field value';
  if (before === MAX_READINGS_PER_PAYLOAD) return tooManyReadings(before + 1);
  return key - from > MAX_NAME ? longName('field', key - from) : key;
}

/** Adds the fields that begin at an offset, at least one. Returns the offset after them, or why the line is refused. */
function readFields(
  line: string,
  from: number,
  fields: [string, FieldValue][],
): number | string | DecodeError {
  if (from >= line.length) return 'missing fields';
  for (let at = from; ; at++) {
    const key = endOfKey(line, at, fields.length);
    if (typeof key !== 'number') return key;
    const end = endOfValue(line, key + 1);
    if (end === -1) return 'unbalanced quotes';
    const value = readField(line.slice(key + 1, end));
    if (value instanceof Error) return value.message;
    fields.push([unescapeKey(line.slice(at, key)), value]);
    if (line.charCodeAt(end) !== COMMA) return end;
    at = end;
  }
}

function longMeasurement(length: number): DecodeError {
  const message = `the measurement has ${length} characters; at most ${MAX_MEASUREMENT} are accepted`;
  return new DecodeError('invalid_name', message);
}

function longName(what: 'tag' | 'field', length: number): DecodeError {
  const message = `a ${what} has a name or value of ${length} characters; at most ${MAX_NAME} are accepted`;
  return new DecodeError('invalid_name', message);
}

/** The end of a name or a tag value: the next comma, space or equals sign that is not escaped. */
function scan(line: string, from: number, untilEquals: boolean): number {
  for (let at = from; at < line.length; at++) {
    const code = line.charCodeAt(at);
    if (code === BACKSLASH) {
      // A backslash escapes the next character. Before any other character it is a backslash.
      const next = line.charCodeAt(at + 1);
      if (next === COMMA || next === SPACE || next === EQUALS) at++;
    } else if (code === COMMA || code === SPACE || (untilEquals && code === EQUALS)) return at;
  }
  return line.length;
}

function unescapeKey(text: string): string {
  return text.includes('\\') ? text.replaceAll(/\\([,= ])/g, '$1') : text;
}

/** The end of a field value; -1 when its quotes are not closed. */
function endOfValue(line: string, from: number): number {
  if (line.charCodeAt(from) === QUOTE) return endOfQuotes(line, from);
  let at = from;
  for (; at < line.length; at++) {
    const code = line.charCodeAt(at);
    if (code === COMMA || code === SPACE) break;
  }
  return at;
}

function endOfQuotes(line: string, from: number): number {
  for (let at = from + 1; at < line.length; at++) {
    const code = line.charCodeAt(at);
    if (code === BACKSLASH) {
      const next = line.charCodeAt(at + 1);
      if (next === QUOTE || next === BACKSLASH) at++;
    } else if (code === QUOTE) return at + 1;
  }
  return -1;
}

function readField(token: string): FieldValue | Error {
  if (token === '') return new Error('missing field value');
  if (token.charCodeAt(0) === QUOTE) {
    const text = token.slice(1, -1);
    // Each escape is two characters, so this one stays too long.
    if (text.length > 2 * MAX_TEXT_LENGTH) return text;
    return text.includes('\\') ? text.replaceAll(/\\(["\\])/g, '$1') : text;
  }
  const word = BOOLEANS.get(token);
  if (word !== undefined) return word;
  if (/^[tTfF]/.test(token)) return new Error('invalid boolean');
  if (token.length > MAX_NUMBER_LENGTH) return new Error('invalid number');
  if (FLOAT.test(token)) {
    const number = Number(token);
    return Number.isFinite(number) ? number : new Error('invalid number: value out of range');
  }
  const kind = INTEGERS.find(({ form }) => form.test(token));
  if (kind === undefined) return new Error('invalid number');
  const digits = token.slice(0, -1);
  if (kind.wrap(64, bigint(digits)) === bigint(digits)) return integer(digits);
  return new Error(`unable to parse ${kind.name}: value out of range`);
}

function integer(digits: string): number | bigint {
  const value = Number(digits);
  return Number.isSafeInteger(value) || BigInt(value) === bigint(digits) ? value : bigint(digits);
}

/** BigInt has no leading plus sign. */
function bigint(digits: string): bigint {
  return BigInt(digits.startsWith('+') ? digits.slice(1) : digits);
}

import { DecodeError } from '../codec.ts';
import { quote } from '../quote.ts';
import { findSyntaxProblem } from './json-syntax.ts';
import { byteOffset, decodeUtf8 } from './utf8.ts';

/** Largest number of values in a payload; 10,000 readings with all their fields have far fewer. */
export const MAX_VALUES = 250_000;
/** A payload of at most this many bytes has fewer values than that. */
const NEVER_TOO_MANY = MAX_VALUES;

/** Parses the JSON value of a payload. Returns a DecodeError when it is invalid; no JSON value is a DecodeError. */
export function parseJson(payload: Uint8Array): unknown {
  if (payload.length > NEVER_TOO_MANY && countValues(payload) > MAX_VALUES) {
    return new DecodeError(
      'too_many_readings',
      `more than ${MAX_VALUES} values in one payload; send them in several`,
    );
  }
  const text = decodeUtf8(payload);
  if (text instanceof DecodeError) return text;
  try {
    return JSON.parse(text);
  } catch {
    return syntaxError(payload, text);
  }
}

/**
 * Approximate number of values in a JSON text: the characters outside of strings that start or separate values. A
 * parsed value takes about 50 bytes of memory, however short it is in the payload.
 */
function countValues(payload: Uint8Array): number {
  let values = 0;
  let isText = false;
  for (let at = 0; at < payload.length; at++) {
    const byte = payload[at];
    if (byte === QUOTE) isText = !isText;
    else if (isText) at += byte === BACKSLASH ? 1 : 0;
    else if (byte === COMMA || byte === BRACKET || byte === BRACE) values++;
  }
  return values;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const BRACE = 0x7b;

function syntaxError(payload: Uint8Array, text: string): DecodeError {
  const problem = findSyntaxProblem(text);
  if (problem === null) return new DecodeError('malformed', 'the payload is more JSON than can be parsed');
  const { index, expected } = problem;
  if (text.trim() === '') return new DecodeError('empty_payload', 'the payload is white space only');
  const position = `byte ${byteOffset(payload, text, index)}`;
  // Python and C print these words, which JSON does not have.
  const word = /^(?:nan|inf(?:inity)?)\b/i.exec(text.slice(index, index + 9));
  if (word !== null) {
    return new DecodeError(
      'invalid_value',
      `${word[0]} is not a value; leave the field out instead`,
      position,
    );
  }
  const point = text.codePointAt(index);
  const found = point === undefined ? 'the payload ends' : `there is ${quote(String.fromCodePoint(point))}`;
  return new DecodeError('malformed', `not JSON: where ${expected} should be, ${found}`, position);
}

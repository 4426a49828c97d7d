import { DecodeError } from '../codec.ts';
import type { Notes } from '../notes.ts';
import { quote } from '../quote.ts';
import { jsonTooLarge } from './json-bounds.ts';
import { findSyntaxProblem } from './json-syntax.ts';
import { noteRepeatedNames } from './repeated-names.ts';
import { byteOffset, decodeUtf8 } from './utf8.ts';

/** Largest number of values in a payload: 10,000 readings with ten fields each, and their objects, have fewer. */
export const MAX_VALUES = 120_000;
/**
 * Largest number of fields of one object. An object with many different names takes more time than anything else of its
 * length, and at most 10,000 of its fields can be readings.
 */
const MAX_FIELDS = 20_000;
/** A payload of at most this many bytes has fewer values than that. */
const NEVER_TOO_MANY = MAX_VALUES;
const BOUNDS = { values: MAX_VALUES, fields: MAX_FIELDS };

/**
 * Parses the JSON value of a payload. Returns a DecodeError when it is invalid; no JSON value is a DecodeError. Of fields
 * with the same name in one object, the last one counts; the others are noted.
 */
export function parseJson(payload: Uint8Array, notes?: Notes): unknown {
  const tooMany = payload.length <= NEVER_TOO_MANY ? null : jsonTooLarge(payload, BOUNDS);
  if (tooMany !== null)
    return new DecodeError('too_many_readings', `${tooMany} in one payload; send them in several`);
  const text = decodeUtf8(payload);
  if (text instanceof DecodeError) return text;
  let root: unknown;
  try {
    root = JSON.parse(text);
  } catch {
    return syntaxError(payload, text);
  }
  if (notes !== undefined) noteRepeatedNames(payload, text, root, notes);
  return root;
}

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

import { DecodeError } from '../codec.ts';
import { quote } from '../quote.ts';
import { findSyntaxProblem } from './json-syntax.ts';
import { byteOffset, decodeUtf8 } from './utf8.ts';

/** The JSON value in a payload, or a DecodeError, which no JSON value can be mistaken for. */
export function parseJson(payload: Uint8Array): unknown {
  const text = decodeUtf8(payload);
  if (text instanceof DecodeError) return text;
  try {
    return JSON.parse(text);
  } catch {
    return syntaxError(payload, text);
  }
}

function syntaxError(payload: Uint8Array, text: string): DecodeError {
  const problem = findSyntaxProblem(text);
  if (problem === null) return new DecodeError('malformed', 'the payload is more JSON than can be parsed');
  const { index, expected } = problem;
  if (text.trim() === '') return new DecodeError('empty_payload', 'the payload is white space only');
  const position = `byte ${byteOffset(payload, text, index)}`;
  // Python and C print these, JSON has no word for them.
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

import { type Decode, type DecodeContext, DecodeError } from '../codec.ts';
import { quote } from '../quote.ts';
import type { Reading } from '../reading.ts';
import { readScalar } from './scalar.ts';
import { decodeUtf8 } from './utf8.ts';

// The pattern has no ambiguity, so a long payload takes linear time.
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
/** No double needs more digits to be written exactly. */
const MAX_LENGTH = 1100;
const SWITCHES = new Map([
  ['true', true],
  ['on', true],
  ['false', false],
  ['off', false],
]);
const NO_VALUES = new Set(['nan', 'inf', 'infinity', 'null', 'none']);

/** Decodes one decimal number, or true, false, on, off in any case. White space around it is ignored. */
export const decodePlain: Decode = (payload, context) => {
  const text = decodeUtf8(payload);
  if (text instanceof DecodeError) return text;
  const word = text.trim();
  if (word.length <= MAX_LENGTH && NUMBER.test(word)) return readScalar(Number(word), context);
  return readWord(word, context);
};

function readWord(word: string, context: DecodeContext): readonly Reading[] | DecodeError {
  if (word === '') return new DecodeError('empty_payload', 'the payload is white space only');
  const lower = word.slice(0, 16).toLowerCase();
  const on = word.length <= 16 ? SWITCHES.get(lower) : undefined;
  if (on !== undefined) return readScalar(on, context);
  if (word.length <= 16 && NO_VALUES.has(lower.replace(/^[+-]/, ''))) {
    return new DecodeError('invalid_value', `${word} is not a value a sensor measured; send nothing instead`);
  }
  return new DecodeError(
    'malformed',
    `${quote(word)} is not a number, true, false, on or off; texts need the format "text" or JSON quotes`,
  );
}

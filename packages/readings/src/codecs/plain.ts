import { type Decode, type DecodeContext, DecodeError } from '../codec.ts';
import { Doubt, numberOf, simpleNumber, TOO_LARGE } from '../mapping/numbers.ts';
import { isNoValue } from '../mapping/texts.ts';
import { quote } from '../quote.ts';
import type { Reading } from '../reading.ts';
import { readScalar } from './scalar.ts';
import { decodeUtf8 } from './utf8.ts';

const SWITCHES = new Map([
  ['true', true],
  ['on', true],
  ['false', false],
  ['off', false],
]);

/**
 * Decodes one decimal number, see `numberOf`, or true, false, on, off in any case. White space around it is ignored.
 */
export const decodePlain: Decode = (payload, context) => {
  const text = decodeUtf8(payload);
  if (text instanceof DecodeError) return text;
  const word = text.trim();
  const simple = simpleNumber(word);
  if (!Number.isNaN(simple)) return readScalar(simple, context);
  const number = numberOf(word, null);
  if (number === TOO_LARGE) return new DecodeError('invalid_value', `${quote(word)}: ${TOO_LARGE.why}`);
  if (number instanceof Doubt) return new DecodeError('malformed', `${quote(word)}: ${number.why}`);
  return number !== null && number.unit === null
    ? readScalar(number.value, context)
    : readWord(word, context);
};

function readWord(word: string, context: DecodeContext): readonly Reading[] | DecodeError {
  if (word === '') return new DecodeError('empty_payload', 'the payload is white space only');
  const lower = word.slice(0, 16).toLowerCase();
  const on = word.length <= 16 ? SWITCHES.get(lower) : undefined;
  if (on !== undefined) return readScalar(on, context);
  if (isNoValue(word)) {
    return new DecodeError(
      'invalid_value',
      `${quote(word)} is not a value a sensor measured; send nothing instead`,
    );
  }
  return new DecodeError(
    'malformed',
    `${quote(word)} is not a number, true, false, on or off; texts need the format "text" or JSON quotes`,
  );
}

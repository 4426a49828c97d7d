import { DecodeError } from '../codec.ts';
import { parseJson } from '../codecs/parse-json.ts';
import { decodeUtf8, withoutLast } from '../codecs/utf8.ts';
import { keepDigits } from '../codecs/whole-numbers.ts';
import { MAX_READINGS_PER_PAYLOAD } from '../make-reading.ts';
import type { Notes } from '../notes.ts';
import { mayBeTime } from './record-time.ts';

/** A payload that is not JSON: one word, or a text. */
export class BareText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

// A JSON text, or one of the words that Python, C and JavaScript print for numbers that JSON does not have.
const TEXT_OR_NON_NUMBER = /"(?:[^"\\]|\\.)*(?:"|$)|[+-]?\b(?:NaN|nan|Infinity|infinity|inf|Inf)\b/gs;

/** Parses a payload: the value of its JSON, or a `BareText`. Numbers that JSON does not have, such as NaN, are null. */
export function parsePayload(payload: Uint8Array, notes: Notes | undefined): unknown {
  if (!startsJson(payload)) {
    const text = decodeUtf8(payload);
    // A text of C ends in NULs.
    return text instanceof DecodeError ? text : new BareText(withoutLast(text, '\0').trim());
  }
  const root = parseJson(payload, notes);
  if (!(root instanceof DecodeError)) return keepDigits(payload, root, notes, mayBeTime);
  return root.reason === 'too_many_readings' ? root : (parseWithNonNumbers(payload, notes) ?? root);
}

/** Parses JSON in which numbers can be NaN or infinite, which become null; undefined when it is not JSON either. */
export function parseWithNonNumbers(payload: Uint8Array, notes: Notes | undefined): unknown {
  const text = decodeUtf8(payload);
  if (text instanceof DecodeError || !/nan|inf/i.test(text)) return undefined;
  const replaced = withoutNonNumbers(text);
  if (replaced === null) return undefined;
  const again = Buffer.from(replaced);
  const root = parseJson(again, notes);
  return root instanceof DecodeError ? undefined : keepDigits(again, root, notes, mayBeTime);
}

/** The text with null in place of its non-numbers; null when it has none, or more than readings. */
function withoutNonNumbers(text: string): string | null {
  const parts: string[] = [];
  let from = 0;
  for (const { 0: match, index } of text.matchAll(TEXT_OR_NON_NUMBER)) {
    if (match.startsWith('"')) continue;
    if (parts.push(text.slice(from, index)) > MAX_READINGS_PER_PAYLOAD) return null;
    from = index + match.length;
  }
  return from === 0 ? null : [...parts, text.slice(from)].join('null');
}

/** Whether the first byte that is not white space begins an object, an array or a text of JSON. */
function startsJson(payload: Uint8Array): boolean {
  let i = payload[0] === 0xef ? 3 : 0;
  while (payload[i] === 0x20 || payload[i] === 0x09 || payload[i] === 0x0a || payload[i] === 0x0d) i++;
  return payload[i] === 0x7b || payload[i] === 0x5b || payload[i] === 0x22;
}

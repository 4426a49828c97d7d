import { DecodeError } from '../codec.ts';
import { parseJson } from '../codecs/parse-json.ts';
import { decodeUtf8 } from '../codecs/utf8.ts';

/** A payload that is not JSON: one word, or a text. */
export class BareText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

// A JSON text, or one of the words that Python, C and JavaScript print for numbers that JSON does not have.
const TEXT_OR_NON_NUMBER = /"(?:[^"\\]|\\.)*"|[+-]?\b(?:NaN|nan|Infinity|infinity|inf|Inf)\b/gs;

/** Parses a payload: the value of its JSON, or a `BareText`. Numbers that JSON does not have, such as NaN, are null. */
export function parsePayload(payload: Uint8Array): unknown {
  if (!startsJson(payload)) {
    const text = decodeUtf8(payload);
    return text instanceof DecodeError ? text : new BareText(text.trim());
  }
  const root = parseJson(payload);
  return root instanceof DecodeError ? (parseWithNonNumbers(payload) ?? root) : root;
}

/** Parses JSON in which numbers can be NaN or infinite, which become null; undefined when it is not JSON either. */
export function parseWithNonNumbers(payload: Uint8Array): unknown {
  const text = decodeUtf8(payload);
  if (text instanceof DecodeError || !/nan|inf/i.test(text)) return undefined;
  const replaced = text.replace(TEXT_OR_NON_NUMBER, (match) => (match.startsWith('"') ? match : 'null'));
  if (replaced === text) return undefined;
  const root = parseJson(Buffer.from(replaced));
  return root instanceof DecodeError ? undefined : root;
}

/** Whether the first byte that is not white space begins an object, an array or a text of JSON. */
function startsJson(payload: Uint8Array): boolean {
  let i = payload[0] === 0xef ? 3 : 0;
  while (payload[i] === 0x20 || payload[i] === 0x09 || payload[i] === 0x0a || payload[i] === 0x0d) i++;
  return payload[i] === 0x7b || payload[i] === 0x5b || payload[i] === 0x22;
}

import { DecodeError } from '../codec.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Decodes the payload as UTF-8, without a byte order mark. */
export function decodeUtf8(payload: Uint8Array): string | DecodeError {
  if (payload.length === 0) return new DecodeError('empty_payload', 'the payload has no bytes');
  try {
    return utf8.decode(payload);
  } catch {
    return new DecodeError('malformed', 'the payload is not UTF-8 text', `byte ${firstInvalidByte(payload)}`);
  }
}

/** A text without certain characters at its end. A regular expression would try each of them with others after it. */
export function withoutLast(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text[end - 1]!)) end--;
  return text.slice(0, end);
}

/** The byte offset in `payload` of the character at `index` of its decoded `text`. */
export function byteOffset(payload: Uint8Array, text: string, index: number): number {
  return payload.length - Buffer.byteLength(text.slice(index));
}

/** Decodes with replacement characters, and finds the first one that is not in the payload itself. */
function firstInvalidByte(payload: Uint8Array): number {
  const text = Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString('utf8');
  let byte = 0;
  let index = 0;
  for (;;) {
    const next = text.indexOf('\ufffd', index);
    if (next === -1) return byte;
    byte += Buffer.byteLength(text.slice(index, next));
    if (payload[byte] !== 0xef || payload[byte + 1] !== 0xbf || payload[byte + 2] !== 0xbd) return byte;
    byte += 3;
    index = next + 1;
  }
}

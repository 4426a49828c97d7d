import { isUtf8 } from 'node:buffer';
import { DecodeError } from '../../codec.ts';
import type { Form } from './form.ts';

const strict = {
  'utf-16le': new TextDecoder('utf-16le', { fatal: true }),
  'utf-16be': new TextDecoder('utf-16be', { fatal: true }),
};

/** UTF-16 by its byte order mark, or as ASCII in which every other byte is 0. */
export const utf16: Form = {
  name: 'UTF-16',
  read(payload) {
    const encoding = encodingOf(payload);
    if (encoding === null) return null;
    try {
      return Buffer.from(strict[encoding].decode(payload));
    } catch {
      return new DecodeError('malformed', 'it is not valid');
    }
  },
};

function encodingOf(payload: Uint8Array): keyof typeof strict | null {
  const [first, second] = payload;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  if (payload.length < 4 || payload.length % 2 !== 0 || (first === 0) === (second === 0)) return null;
  const zero = first === 0 ? 0 : 1;
  for (let at = 0; at < payload.length; at += 2) {
    if (payload[at + zero] !== 0 || !isText(payload[at + 1 - zero]!)) return null;
  }
  return zero === 0 ? 'utf-16be' : 'utf-16le';
}

/** Characters that ISO 8859-15 has in place of those of ISO 8859-1. */
const DIFFERENT = new Set([0xa4, 0xa6, 0xa8, 0xb4, 0xb8, 0xbc, 0xbd, 0xbe]);

/** Latin-1 (ISO 8859-1): a text that is not UTF-8, without control characters and characters that Latin-9 reads otherwise. */
export const latin1: Form = {
  name: 'Latin-1',
  doubt: 'it is not UTF-8, and is read as Latin-1',
  isGuess: true,
  read(payload) {
    let isAscii = true;
    for (const byte of payload) {
      if (byte < 0x80 ? !isText(byte) : byte < 0xa0 || DIFFERENT.has(byte)) return null;
      if (byte >= 0x80) isAscii = false;
    }
    // Valid UTF-8 was read already, or is refused for another reason.
    if (isAscii || isUtf8(payload)) return null;
    return Buffer.from(Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString('latin1'));
  },
};

function isText(byte: number): boolean {
  return (byte >= 0x20 && byte < 0x7f) || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

/** A text of C: it ends at its first NUL, and a buffer of fixed size has more of them. */
export const endsInNul: Form = {
  name: 'text with a NUL at its end',
  read(payload) {
    if (payload.at(-1) !== 0) return null;
    const end = payload.indexOf(0);
    for (let at = 0; at < payload.length; at++) {
      const byte = payload[at]!;
      if (at < end ? byte < 0x80 && !isText(byte) : byte !== 0) return null;
    }
    return isUtf8(payload) ? payload.subarray(0, end) : null;
  },
};

import type { Random } from './random.ts';

// YCSB makes six printable characters of 32 random bits. Here three tables have two characters each, because an
// interpreter takes time for each character.
const FIRST = pairs(11, (bits) => [bits & 31, (bits >> 5) & 63]);
const SECOND = pairs(10, (bits) => [bits & 95, (bits >> 5) & 31]);
const THIRD = pairs(12, (bits) => [bits & 63, (bits >> 5) & 95]);
const GROUP = 6;

function pairs(width: number, offsets: (bits: number) => readonly [number, number]): readonly string[] {
  return Array.from({ length: 2 ** width }, (_, bits) => {
    const [left, right] = offsets(bits);
    return String.fromCharCode(32 + left, 32 + right);
  });
}

/** A text of `length` ASCII characters, as YCSB's RandomByteIterator draws it. */
export function randomValue(random: Random, length: number): string {
  let text = '';
  for (let at = 0; at < length; at += GROUP) {
    const bits = random.bits();
    text += FIRST[bits & 0x7ff]! + SECOND[(bits >>> 10) & 0x3ff]! + THIRD[bits >>> 20]!;
  }
  return text.length === length ? text : text.slice(0, length);
}

/**
 * The value of a field with data integrity: YCSB's buildDeterministicValue. It consists of key and field, then
 * repeatedly the hash (Java's String.hashCode) of the text so far, up to `length`.
 */
export function deterministicValue(key: string, field: string, length: number): string {
  let text = `${key}:${field}`;
  let hash = hashOn(0, text);
  while (text.length < length) {
    hash = hashOn(hash, ':');
    const part = String(hash);
    hash = hashOn(hash, part);
    text += `:${part}`;
  }
  return text.slice(0, length);
}

/** The hash of a text with `more` appended, from the hash of the text. */
function hashOn(hash: number, more: string): number {
  let result = hash;
  for (let index = 0; index < more.length; index += 1) {
    result = (Math.imul(result, 31) + more.charCodeAt(index)) | 0;
  }
  return result;
}

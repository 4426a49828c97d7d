import { cleanName } from '../mapping/clean-name.ts';

/** Length of the mark of shortened names: `~-` and 16 hexadecimal digits. */
export const DIGEST_LENGTH = 18;

/**
 * Cleans a part of a name (`cleanName`), and escapes `separator` in it too, so that the parts stay separate when they
 * are joined by it.
 */
export function escapeName(text: string, separator: '.' | ':' | '' = ''): string {
  const clean = cleanName(text);
  if (separator === '') return clean;
  return clean.replaceAll(separator, separator === '.' ? '~2E' : '~3A');
}

/** A name of at most `length` UTF-16 units. A longer one is cut, and ends with a hash of the whole. */
export function fitName(name: string, length: number): string {
  if (name.length <= length) return name;
  const start = name.slice(0, length - DIGEST_LENGTH);
  return (start.isWellFormed() ? start : start.slice(0, -1)) + digest(name);
}

/** A mark and the 64-bit FNV-1a hash of a text (draft-eastlake-fnv section 2). */
export function digest(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return `~-${hash.toString(16).padStart(16, '0')}`;
}

import { crc32 } from 'node:zlib';

const START = '{"crc":"';
const DIGITS = 8;
/** Where the rest of the object begins. */
const REST = START.length + DIGITS + '",'.length;
/** The bytes that a checksum adds to a line. */
export const CHECKSUM_BYTES = REST - '{'.length;

/**
 * A line with its CRC-32 as the first member of its object, in hexadecimal. It is the first, because the begin of one line and
 * the end of another one can be an object too, after pages were exchanged. Version 0.2.0 ignores the member, except in lines of
 * deletions, which it does not recognize.
 *
 * @param line an object as JSON, without its newline and not empty
 */
export function withChecksum(line: string): string {
  return `${START}${crc32(line).toString(16).padStart(DIGITS, '0')}",${line.slice(1)}`;
}

/**
 * The line as it was without its checksum. Null: it does not match. A line of an earlier version, or of another program, has
 * none, and is returned as it is.
 */
export function withoutChecksum(text: string): string | null {
  if (!text.startsWith(START)) return text;
  const line = `{${text.slice(REST)}`;
  return crc32(line) === Number.parseInt(text.slice(START.length, START.length + DIGITS), 16) ? line : null;
}

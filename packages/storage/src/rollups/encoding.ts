import { crc32 } from 'node:zlib';
import {
  ByteReader,
  ByteWriter,
  decodeIntegers,
  decodeNumbers,
  encodeIntegers,
  encodeNumbers,
} from '@tidegauge/columns';
import { DAMAGED, StoreError } from '../errors.ts';
import type { Figures } from './figures.ts';

// The figures of a row as bytes, for engines that keep a row as one value:
//
//   byte     version
//   4 bytes  CRC-32 of all that follows, little-endian
//   varint   number of periods
//   byte     flags: ALL_EQUAL, PLAIN_SUMS
//   columns  of whole numbers: number of the period in the row, count, first time - start of the period, last time - first
//            time, in microseconds
//   columns  of numbers: min, unless PLAIN_SUMS sum, unless ALL_EQUAL max, first and last

/** With a row of fields for each period, in place of columns. */
const ROWS = 1;
const VERSION = 2;
const HEADER_BYTES = 5;
/** In each period, min, max, first and last are one number. */
const ALL_EQUAL = 1;
/** Each sum is the least number times the count, as of one reading. */
const PLAIN_SUMS = 2;

/**
 * @param start of the row, microseconds
 * @param length of its periods, microseconds
 */
export function encodeFigures(periods: readonly Figures[], start: number, length: number): Buffer {
  const areEqual = periods.every(({ min, max, first, last }) =>
    [max, first, last].every((value) => Object.is(value, min)),
  );
  const arePlain = periods.every(({ min, count, sum }) => Object.is(sum, min * count));
  const out = new ByteWriter();
  out.bytes(Buffer.alloc(HEADER_BYTES));
  out.varint(periods.length);
  out.byte((areEqual ? ALL_EQUAL : 0) + (arePlain ? PLAIN_SUMS : 0));
  for (const wholeOf of [
    ({ time }: Figures) => (time - start) / length,
    ({ count }: Figures) => count,
    ({ firstTime, time }: Figures) => firstTime - time,
    ({ lastTime, firstTime }: Figures) => lastTime - firstTime,
  ])
    encodeIntegers(out, Float64Array.from(periods, wholeOf));
  encodeNumbers(out, valuesOf(periods, areEqual));
  if (!arePlain)
    encodeNumbers(
      out,
      Float64Array.from(periods, (each) => each.sum),
    );
  // A copy, so that a driver which keeps the bytes does not keep the larger buffer.
  const bytes = Buffer.from(out.written());
  bytes[0] = VERSION;
  bytes.writeUInt32LE(crc32(bytes.subarray(HEADER_BYTES)), 1);
  return bytes;
}

/** All min, and unless they are equal all max, all first and all last: in one column, because they are alike. */
function valuesOf(periods: readonly Figures[], areEqual: boolean): Float64Array {
  const { length } = periods;
  const values = new Float64Array(areEqual ? length : 4 * length);
  for (const [index, { min, max, first, last }] of periods.entries()) {
    values[index] = min;
    if (areEqual) continue;
    values[length + index] = max;
    values[2 * length + index] = first;
    values[3 * length + index] = last;
  }
  return values;
}

/**
 * @throws {StoreError} UNEXPECTED if a later version wrote the bytes
 * @throws {StoreError} MISCONFIGURED, `isDamaged`, if they are not those that were written
 */
export function decodeFigures(given: Uint8Array, start: number, length: number): Figures[] {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
  const version = bytes[0] ?? 0;
  if (version > VERSION)
    throw new StoreError('UNEXPECTED', `a rollup has version ${version}, and this program reads ${VERSION}`, {
      hint: 'run the version of Tidegauge that wrote it, or a later one',
    });
  try {
    return version === ROWS ? decodeRows(bytes, start, length) : decodeColumns(bytes, start, length);
  } catch (cause) {
    const time = new Date(start / 1000).toISOString();
    const message = `the rollups from ${time} on are damaged: ${(cause as Error).message}`;
    throw new StoreError('MISCONFIGURED', message, { cause, hint: DAMAGED });
  }
}

function decodeColumns(bytes: Buffer, start: number, length: number): Figures[] {
  if (crc32(bytes.subarray(HEADER_BYTES)) !== bytes.readUInt32LE(1))
    throw new RangeError('its checksum differs');
  const reader = new ByteReader(bytes.subarray(HEADER_BYTES));
  const count = reader.varint();
  const flags = reader.byte();
  const indexes = decodeIntegers(reader, count);
  const counts = decodeIntegers(reader, count);
  const delays = decodeIntegers(reader, count);
  const spans = decodeIntegers(reader, count);
  // Of equal values, all are the first column.
  const next = (flags & ALL_EQUAL) !== 0 ? 0 : count;
  const values = decodeNumbers(reader, count + 3 * next);
  const sums = (flags & PLAIN_SUMS) !== 0 ? null : decodeNumbers(reader, count);
  const periods: Figures[] = [];
  for (let index = 0; index < count; index += 1) {
    const time = start + indexes[index]! * length;
    const firstTime = time + delays[index]!;
    periods.push({
      time,
      count: counts[index]!,
      min: values[index]!,
      max: values[next + index]!,
      sum: sums?.[index] ?? values[index]! * counts[index]!,
      first: values[2 * next + index]!,
      firstTime,
      last: values[3 * next + index]!,
      lastTime: firstTime + spans[index]!,
    });
  }
  return periods;
}

/**
 * Version 1, which was written before there were columns: for each period the whole numbers of the columns as varints, a byte
 * that is 1 if min, max, first and last are equal, and then as doubles min, sum, and unless they are equal max, first, last.
 */
function decodeRows(bytes: Buffer, start: number, length: number): Figures[] {
  const reader = new ByteReader(bytes.subarray(1));
  const periods: Figures[] = [];
  while (reader.rest().length > 0) {
    const time = start + reader.varint() * length;
    const count = reader.varint();
    const firstTime = time + reader.varint();
    const lastTime = firstTime + reader.varint();
    const areEqual = reader.byte() === 1;
    const min = reader.double();
    const sum = reader.double();
    const other = () => (areEqual ? min : reader.double());
    periods.push({ time, count, min, max: other(), sum, first: other(), firstTime, last: other(), lastTime });
  }
  return periods;
}

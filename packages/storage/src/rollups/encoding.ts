import { StoreError } from '../errors.ts';
import type { Figures } from './figures.ts';

// The figures of a row as bytes, for engines that keep a row as one value:
//
//   byte      version
//   for each period:
//     varint  number of the period in the row
//     varint  count
//     varint  first time - start of the period, microseconds
//     varint  last time - first time
//     byte    1 if min, max, first and last are equal, otherwise 0
//     doubles min, sum, and unless they are equal: max, first, last (little-endian)
//
// A varint is LEB128. A period with one reading takes 24 bytes at most, any other at most 52.

const VERSION = 1;
/** The most bytes of one period: five doubles, a flag and four varints of up to eight bytes. */
const MOST_BYTES = 80;

/**
 * @param start of the row, microseconds
 * @param length of its periods, microseconds
 */
export function encodeFigures(periods: readonly Figures[], start: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(1 + MOST_BYTES * periods.length);
  let at = bytes.writeUInt8(VERSION, 0);
  const varint = (value: number) => {
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128)) at = bytes.writeUInt8(128 + (rest % 128), at);
    at = bytes.writeUInt8(rest, at);
  };
  const double = (value: number) => {
    at = bytes.writeDoubleLE(value, at);
  };
  for (const { time, count, min, max, sum, first, firstTime, last, lastTime } of periods) {
    varint((time - start) / length);
    varint(count);
    varint(firstTime - time);
    varint(lastTime - firstTime);
    const isOne = [max, first, last].every((value) => Object.is(value, min));
    at = bytes.writeUInt8(isOne ? 1 : 0, at);
    double(min);
    double(sum);
    if (!isOne) for (const value of [max, first, last]) double(value);
  }
  // A copy, so that a driver which keeps the bytes does not keep the larger buffer.
  return Buffer.from(bytes.subarray(0, at));
}

/** @throws {StoreError} UNEXPECTED if a later version wrote the bytes, or they are damaged. */
export function decodeFigures(given: Uint8Array, start: number, length: number): Figures[] {
  if (given[0] !== VERSION) throw damaged(`it has version ${given[0]}, this program reads ${VERSION}`);
  // A chart of weeks decodes 50,000 periods of a series. The methods of DataView take a fraction of the time of Buffer's.
  const view = new DataView(given.buffer, given.byteOffset, given.byteLength);
  const periods: Figures[] = [];
  let at = 1;
  const varint = () => {
    let byte = view.getUint8(at++);
    let value = byte & 127;
    for (let unit = 128; byte >= 128; unit *= 128) {
      byte = view.getUint8(at++);
      value += (byte & 127) * unit;
    }
    return value;
  };
  const double = () => {
    at += 8;
    return view.getFloat64(at - 8, true);
  };
  try {
    while (at < view.byteLength) {
      const time = start + varint() * length;
      const count = varint();
      const firstTime = time + varint();
      const lastTime = firstTime + varint();
      const isOne = view.getUint8(at++) === 1;
      const min = double();
      const sum = double();
      const max = isOne ? min : double();
      const first = isOne ? min : double();
      const last = isOne ? min : double();
      periods.push({ time, count, min, max, sum, first, firstTime, last, lastTime });
    }
  } catch (error) {
    throw damaged(String(error));
  }
  return periods;
}

function damaged(reason: string): StoreError {
  return new StoreError('UNEXPECTED', `a rollup cannot be read: ${reason}`, {
    hint: 'run the version of Tidegauge that wrote it, or a later one',
  });
}

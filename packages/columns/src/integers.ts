import { BitReader, BitWriter, ESCAPE, MOST_BITS } from './bits.ts';
import type { ByteReader, ByteWriter } from './bytes.ts';

// Whole numbers: their distances to the first one, divided by the greatest common divisor of all. Then these, their
// differences, or the differences of those, whichever are smallest. A base is subtracted, and the rest is written in Rice
// codes (R. F. Rice, JPL 79-22, 1979) with a parameter for each 128 numbers.
//
//   byte     flags: the order of the differences in 2 bits, ZIGZAG, CONSTANT; or RAW
//   signed   the first number
//   varint   the divisor
//   signed   base
//   signed   with order 2: the first difference
//   bits     unless CONSTANT, for each 128: 6 bits k, and unless k is EMPTY their codes

const GROUP = 128;
const MAX_ORDER = 2;
/** The rest can be negative: 0, -1, 1, -2 is written as 0, 1, 2, 3. Otherwise the base is the least number. */
const ZIGZAG = 4;
/** All numbers of that order are the base. */
const CONSTANT = 8;
/** The numbers are too far apart, so they are doubles. */
const RAW = 16;
const K_BITS = 6;
/** All numbers of a group are the base. */
const EMPTY = 63;
const SAMPLE = 15;

interface Scaled {
  readonly first: number;
  readonly divisor: number;
  /** From the first number on, which is 0 here. */
  readonly distances: Float64Array;
  readonly level: Level;
}

/** Differences of an order. */
interface Level {
  readonly order: number;
  readonly numbers: Float64Array;
  readonly least: number;
  readonly most: number;
  /** The median of a sample. */
  readonly middle: number;
  /** The bits of the distances to the middle. Infinite if they are too large. */
  readonly bits: number;
}

interface Codes {
  /** Numbers from 0 on. */
  readonly rest: Float64Array;
  /** The parameter of each group. */
  readonly ks: readonly number[];
  /** The size, estimated. */
  readonly bits: number;
}

/** Writes whole numbers from -(2^53 - 1) to 2^53 - 1. -0 is read as 0. The reader must have their number. */
export function encodeIntegers(out: ByteWriter, numbers: Float64Array): void {
  if (numbers.length === 0) return;
  const scaled = scale(numbers);
  if (scaled === null) {
    out.byte(RAW);
    for (const number of numbers) out.double(number);
    return;
  }
  const { first, divisor, distances, level } = scaled;
  const { order, numbers: chosen, least, most, middle } = level;
  const isConstant = least === most;
  const plain = codesOf(chosen.map((number) => number - least));
  // The distance to the middle is at most as large as that to the least number, and takes one bit more.
  const canZigzag = !isConstant && Number.isSafeInteger(2 * (most - least) + 1);
  const zigzag = canZigzag ? codesOf(chosen.map((number) => toZigzag(number - middle))) : plain;
  const isZigzag = zigzag.bits < plain.bits;
  out.byte(order + (isZigzag ? ZIGZAG : 0) + (isConstant ? CONSTANT : 0));
  out.signed(first);
  out.varint(divisor);
  out.signed(isZigzag ? middle : least);
  if (order === 2) out.signed(distances[1]!);
  if (!isConstant) writeCodes(out, isZigzag ? zigzag : plain);
}

/** @throws {RangeError} if the bytes are damaged */
export function decodeIntegers(bytes: ByteReader, count: number): Float64Array {
  const numbers = new Float64Array(count);
  if (count === 0) return numbers;
  const flags = bytes.byte();
  if (flags === RAW) {
    for (let index = 0; index < count; index += 1) numbers[index] = bytes.double();
    return numbers;
  }
  const order = flags & 3;
  const first = bytes.signed();
  const divisor = bytes.varint();
  const base = bytes.signed();
  if (order === 2 && count > 1) numbers[1] = bytes.signed();
  if ((flags & CONSTANT) !== 0) numbers.fill(base, order);
  else readCodes(bytes, numbers, order, base, (flags & ZIGZAG) !== 0);
  for (let level = order; level > 0; level -= 1) addUp(numbers, level);
  for (let index = 0; index < count; index += 1) numbers[index] = first + numbers[index]! * divisor;
  return numbers;
}

/** Differences from an index on to numbers. The sum is a variable, because loads of what was just stored are slow. */
function addUp(numbers: Float64Array, from: number): void {
  let sum = numbers[from - 1]!;
  for (let index = from; index < numbers.length; index += 1) {
    sum += numbers[index]!;
    numbers[index] = sum;
  }
}

/** The bits that whole numbers take, about. */
export function estimateBits(numbers: Float64Array): number {
  const scaled = scale(numbers);
  return scaled === null ? 64 * numbers.length : scaled.level.bits;
}

/** Null if the numbers are too far apart. */
function scale(numbers: Float64Array): Scaled | null {
  const first = numbers[0]!;
  const distances = numbers.map((number) => number - first);
  let divisor = 0;
  for (const distance of distances) {
    if (!Number.isSafeInteger(distance)) return null;
    if (divisor !== 1) divisor = commonDivisor(divisor, Math.abs(distance));
  }
  if (divisor > 1) for (let index = 0; index < distances.length; index += 1) distances[index]! /= divisor;
  const level = bestLevel(distances);
  return Number.isFinite(level.bits) ? { first, divisor, distances, level } : null;
}

function commonDivisor(a: number, b: number): number {
  let [larger, smaller] = [a, b];
  while (smaller !== 0) [larger, smaller] = [smaller, larger % smaller];
  return larger;
}

function bestLevel(distances: Float64Array): Level {
  let best = levelOf(0, distances);
  let numbers: Float64Array | null = distances;
  for (let order = 1; order <= MAX_ORDER && best.bits > 0; order += 1) {
    numbers = differences(numbers);
    if (numbers === null) break;
    const level = levelOf(order, numbers);
    if (level.bits < best.bits) best = level;
  }
  return best;
}

/** Null if there are none, or if they are too large. */
function differences(numbers: Float64Array): Float64Array | null {
  if (numbers.length < 2) return null;
  const found = new Float64Array(numbers.length - 1);
  for (let index = 0; index < found.length; index += 1) {
    const difference = numbers[index + 1]! - numbers[index]!;
    if (!Number.isSafeInteger(difference)) return null;
    found[index] = difference;
  }
  return found;
}

function levelOf(order: number, numbers: Float64Array): Level {
  const middle = middleOf(numbers);
  let [least, most, bits] = [middle, middle, 0];
  for (const number of numbers) {
    if (number < least) least = number;
    if (number > most) most = number;
    bits += bitLength(Math.abs(number - middle));
  }
  // Differences to the least number must be exact.
  if (!Number.isSafeInteger(most - least)) bits = Number.POSITIVE_INFINITY;
  return { order, numbers, least, most, middle, bits };
}

/** The median of a sample. */
function middleOf(numbers: Float64Array): number {
  const step = Math.max(1, Math.floor(numbers.length / SAMPLE));
  const sample = new Float64Array(Math.ceil(numbers.length / step));
  for (let index = 0; index < sample.length; index += 1) sample[index] = numbers[index * step]!;
  return sample.sort()[sample.length >> 1]!;
}

function toZigzag(number: number): number {
  return number >= 0 ? 2 * number : -2 * number - 1;
}

function fromZigzag(number: number): number {
  // The remainder of doubles is a call of a function, and takes several times as long.
  const half = Math.floor(number / 2);
  return 2 * half === number ? half : -half - 1;
}

/** The best parameter of each group. */
function codesOf(rest: Float64Array): Codes {
  const ks: number[] = [];
  let bits = 0;
  const lengths = new Uint16Array(MOST_BITS + 1);
  for (let start = 0; start < rest.length; start += GROUP) {
    const end = Math.min(start + GROUP, rest.length);
    lengths.fill(0);
    for (let index = start; index < end; index += 1) lengths[bitLength(rest[index]!)]! += 1;
    const best = bestParameter(lengths, end - start);
    ks.push(best.k);
    bits += K_BITS + best.bits;
  }
  return { rest, ks, bits };
}

/** @param lengths how many numbers have each number of bits */
function bestParameter(lengths: Uint16Array, count: number): { k: number; bits: number } {
  if (lengths[0] === count) return { k: EMPTY, bits: 0 };
  let most = MOST_BITS;
  while (lengths[most] === 0) most -= 1;
  let best = { k: most, bits: count * (most + 1) };
  // With a smaller parameter, the numbers with the most bits have longer quotients, and the others save a bit.
  for (let k = most - 1; k >= 0; k -= 1) {
    let bits = count * (k + 1);
    for (let length = k + 1; length <= most; length += 1) {
      // The mean of the numbers with this many bits.
      const quotient = 1.5 * 2 ** (length - 1 - k) - 0.5;
      bits += lengths[length]! * (quotient < ESCAPE ? quotient : ESCAPE + MOST_BITS - k);
    }
    if (bits < best.bits) best = { k, bits };
  }
  return best;
}

function writeCodes(out: ByteWriter, { rest, ks }: Codes): void {
  const bits = new BitWriter(out);
  for (const [group, k] of ks.entries()) {
    bits.bits(k, K_BITS);
    if (k === EMPTY) continue;
    const end = Math.min((group + 1) * GROUP, rest.length);
    for (let index = group * GROUP; index < end; index += 1) bits.rice(rest[index]!, k);
  }
  bits.flush();
}

function readCodes(
  bytes: ByteReader,
  numbers: Float64Array,
  order: number,
  base: number,
  isZigzag: boolean,
): void {
  const bits = new BitReader(bytes.rest());
  for (let start = order; start < numbers.length; start += GROUP) {
    const end = Math.min(start + GROUP, numbers.length);
    const k = bits.bits(K_BITS);
    if (k === EMPTY) {
      numbers.fill(base, start, end);
      continue;
    }
    if (k > MOST_BITS) throw new RangeError(`there is no code of ${k} bits`);
    bits.rices(k, numbers, start, end);
    if (isZigzag)
      for (let index = start; index < end; index += 1) numbers[index] = base + fromZigzag(numbers[index]!);
    else for (let index = start; index < end; index += 1) numbers[index]! += base;
  }
  bytes.bytes(bits.read);
}

function bitLength(value: number): number {
  return value < 0x1_0000_0000 ? 32 - Math.clz32(value) : 64 - Math.clz32(value / 0x1_0000_0000);
}

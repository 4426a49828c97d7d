import { BitReader, BitWriter, ESCAPE, MOST_BITS } from './bits.ts';
import type { ByteReader, ByteWriter } from './bytes.ts';

// Whole numbers: the numbers, their differences, or the differences of these, whichever take the fewest bits. A base is
// subtracted, and the rest is written in Rice codes (R. F. Rice, JPL 79-22, 1979) with a parameter for each 128 of them.
//
//   byte     flags: the order of the differences in 2 bits, ZIGZAG, CONSTANT; or RAW
//   signed   base
//   signed   for each order below: the first number of that order
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
/** For an estimate: the bits of a first number. */
const FIRST_BITS = 40;
const SAMPLE = 63;

interface Plan {
  readonly order: number;
  readonly isZigzag: boolean;
  readonly base: number;
  /** The first number of each lower order. */
  readonly firsts: readonly number[];
  /** What is left of the numbers of that order, from 0 on. */
  readonly rest: Float64Array;
  /** The parameter of each group. */
  readonly ks: readonly number[];
  /** The size, estimated. */
  readonly bits: number;
}

/** Writes whole numbers from -(2^53 - 1) to 2^53 - 1. -0 is read as 0. The reader must have their number. */
export function encodeIntegers(out: ByteWriter, numbers: Float64Array): void {
  if (numbers.length === 0) return;
  const best = bestPlan(numbers);
  if (best === null) {
    out.byte(RAW);
    for (const number of numbers) out.double(number);
    return;
  }
  const { order, isZigzag, base, firsts, rest, ks } = best;
  const isConstant = ks.every((k) => k === EMPTY);
  out.byte(order + (isZigzag ? ZIGZAG : 0) + (isConstant ? CONSTANT : 0));
  out.signed(base);
  for (const first of firsts) out.signed(first);
  if (isConstant) return;
  const bits = new BitWriter(out);
  for (const [group, k] of ks.entries()) {
    bits.bits(k, K_BITS);
    if (k === EMPTY) continue;
    const end = Math.min((group + 1) * GROUP, rest.length);
    for (let index = group * GROUP; index < end; index += 1) bits.rice(rest[index]!, k);
  }
  bits.flush();
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
  const base = bytes.signed();
  const firsts = Array.from({ length: order }, () => bytes.signed());
  if ((flags & CONSTANT) !== 0) numbers.fill(base, order);
  else readRest(bytes, numbers, order, base, (flags & ZIGZAG) !== 0);
  for (let level = order; level > 0; level -= 1) {
    let sum = firsts[level - 1]!;
    numbers[level - 1] = sum;
    for (let index = level; index < count; index += 1) {
      sum += numbers[index]!;
      numbers[index] = sum;
    }
  }
  return numbers;
}

function readRest(
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
    for (let index = start; index < end; index += 1) {
      const rest = bits.rice(k);
      if (!isZigzag) numbers[index] = base + rest;
      else numbers[index] = base + (rest % 2 === 0 ? rest / 2 : -(rest + 1) / 2);
    }
  }
  bytes.bytes(bits.read);
}

/** Null if the numbers are too far apart. */
function bestPlan(numbers: Float64Array): Plan | null {
  let best: Plan | null = null;
  const firsts: number[] = [];
  let level: Float64Array | null = numbers;
  for (let order = 0; level !== null; order += 1) {
    for (const plan of plansOf(level, order, [...firsts])) {
      if (best === null || plan.bits < best.bits) best = plan;
    }
    firsts.push(level[0]!);
    level = order === MAX_ORDER ? null : differences(level);
  }
  return best;
}

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

function* plansOf(numbers: Float64Array, order: number, firsts: readonly number[]): Generator<Plan> {
  let [least, most] = [numbers[0]!, numbers[0]!];
  for (const number of numbers) {
    if (number < least) least = number;
    if (number > most) most = number;
  }
  const plan = (isZigzag: boolean, base: number, rest: Float64Array): Plan => {
    const { ks, bits } = fit(rest);
    return { order, isZigzag, base, firsts, rest, ks, bits: bits + order * FIRST_BITS };
  };
  if (!Number.isSafeInteger(most - least)) return;
  yield plan(
    false,
    least,
    numbers.map((number) => number - least),
  );
  // Also if a number is twice as far from the middle, it has at most 53 bits.
  if (least === most || !Number.isSafeInteger(2 * (most - least) + 1)) return;
  const middle = middleOf(numbers);
  yield plan(
    true,
    middle,
    numbers.map((number) => (number >= middle ? 2 * (number - middle) : 2 * (middle - number) - 1)),
  );
}

/** The median of a sample. */
function middleOf(numbers: Float64Array): number {
  const step = Math.max(1, Math.floor(numbers.length / SAMPLE));
  const sample = numbers.filter((_, index) => index % step === 0).sort();
  return sample[sample.length >> 1]!;
}

/** The best parameter of each group, and the bits of all. */
function fit(rest: Float64Array): { ks: number[]; bits: number } {
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
  return { ks, bits };
}

/** @param lengths how many numbers have each number of bits */
function bestParameter(lengths: Uint16Array, count: number): { k: number; bits: number } {
  if (lengths[0] === count) return { k: EMPTY, bits: 0 };
  const least = lengths.findIndex((numbers) => numbers > 0);
  const most = lengths.findLastIndex((numbers) => numbers > 0);
  let best = { k: most, bits: Number.POSITIVE_INFINITY };
  for (let k = Math.max(0, least - 1); k <= most; k += 1) {
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

function bitLength(value: number): number {
  return value < 0x1_0000_0000 ? 32 - Math.clz32(value) : 64 - Math.clz32(value / 0x1_0000_0000);
}

import type { ByteReader, ByteWriter } from './bytes.ts';
import { decodeIntegers, encodeIntegers, estimateBits } from './integers.ts';

// Doubles, in one of four forms:
//
// - decimals: whole numbers divided by a power of ten, as sensors send them. The quotient of two exact doubles is the
//   double that is nearest to the decimal number, so it is exactly what a parser returned (as ALP, SIGMOD 2024). Numbers
//   that are computed are often some units in the last place beside one: 17 * 0.1 is 1.7000000000000002. These errors are a
//   column if there are any. The few numbers that are farther away are kept beside.
// - printed: decimals that were singles of 32 bits and were written with eight digits, such as 7.1199999 for 7.12, also with
//   errors;
// - singles: numbers of 32 bits, as whole numbers in their order.
// - words: the upper 32 bits as whole numbers in their order, and the lower 32 bits.

const DECIMALS = 0;
const SINGLES = 1;
const WORDS = 2;
const PRINTED = 3;
/** Is added to the form of decimals with errors. */
const WITH_ERRORS = 4;
/** The largest error, in units in the last place. */
const MOST_ERROR = 7;
/** The most digits after the point. */
const MOST_DIGITS = 15;
const FEW_DIGITS = 4;
/** Decimals with more digits can take more than words. */
const MANY_DIGITS = 9;
/** The largest whole number of a decimal. Differences of these are exact. */
const MOST_WHOLE = 2 ** 51;
const SAMPLE = 63;
/** A quantile of the digits of a sample, so that a few long numbers do not make all others long. */
const USUAL = 0.9;
/** At most one in this many numbers is kept beside. */
const EXCEPTIONS = 8;

/** Powers of ten by exponent. All are exact. */
const POWERS = Array.from({ length: MOST_DIGITS + 1 }, (_, digits) => Number(`1e${digits}`));

/** The double of a whole number and a power of ten. */
type Quotient = (whole: number, power: number) => number;

const exact: Quotient = (whole, power) => whole / power;
const printed: Quotient = (whole, power) => Number(Math.fround(whole / power).toPrecision(8));
const QUOTIENTS: Readonly<Record<number, Quotient>> = { [DECIMALS]: exact, [PRINTED]: printed };

interface Decimals {
  readonly form: number;
  readonly digits: number;
  readonly wholes: Float64Array;
  /** In units in the last place of the quotients. Null if all are exact. */
  readonly errors: Float64Array | null;
  /** The positions of numbers that are kept beside. */
  readonly others: readonly number[];
}

/** Writes doubles with all their bits, except that any NaN is read as the usual one. The reader must have their number. */
export function encodeNumbers(out: ByteWriter, numbers: Float64Array): void {
  const decimals = decimalsOf(numbers, DECIMALS);
  const isExact = decimals !== null && decimals.errors === null && decimals.others.length === 0;
  if (!isExact && numbers.every((number) => Object.is(Math.fround(number), number))) {
    out.byte(SINGLES);
    encodeIntegers(out, numbers.map(fromSingle));
    return;
  }
  const chosen = shorterOf(numbers, decimals);
  const words = chosen === null || chosen.digits > MANY_DIGITS ? wordsOf(numbers) : null;
  if (words !== null && (chosen === null || bitsOfWords(words) < bitsOf(chosen))) {
    out.byte(WORDS);
    encodeIntegers(out, words.upper);
    encodeIntegers(out, words.lower);
    return;
  }
  const { form, digits, wholes, errors, others } = chosen!;
  out.byte(errors === null ? form : form + WITH_ERRORS);
  out.byte(digits);
  out.varint(others.length);
  encodeIntegers(out, Float64Array.from(others));
  for (const index of others) out.double(numbers[index]!);
  encodeIntegers(out, wholes);
  if (errors !== null) encodeIntegers(out, errors);
}

/** Decimals, or printed ones if these have fewer digits. */
function shorterOf(numbers: Float64Array, decimals: Decimals | null): Decimals | null {
  // Those with few digits are as short as they can be.
  if (decimals !== null && decimals.digits <= FEW_DIGITS) return decimals;
  const found = decimalsOf(numbers, PRINTED);
  return found !== null && (decimals === null || found.digits < decimals.digits) ? found : decimals;
}

/** The bits that decimals take, about. */
function bitsOf({ wholes, errors, others }: Decimals): number {
  return estimateBits(wholes) + (errors === null ? 0 : estimateBits(errors)) + 64 * others.length;
}

function bitsOfWords({ upper, lower }: Words): number {
  return estimateBits(upper) + estimateBits(lower);
}

interface Words {
  readonly upper: Float64Array;
  readonly lower: Float64Array;
}

function wordsOf(numbers: Float64Array): Words {
  const view = new DataView(new ArrayBuffer(8));
  const upper = new Float64Array(numbers.length);
  const lower = new Float64Array(numbers.length);
  for (const [index, number] of numbers.entries()) {
    view.setFloat64(0, number);
    upper[index] = ordered(view.getInt32(0));
    lower[index] = view.getUint32(4);
  }
  return { upper, lower };
}

/** @throws {RangeError} if the bytes are damaged */
export function decodeNumbers(bytes: ByteReader, count: number): Float64Array {
  const form = bytes.byte();
  if (form === SINGLES) return decodeIntegers(bytes, count).map(toSingle);
  const hasErrors = form >= WITH_ERRORS;
  const quotient = QUOTIENTS[hasErrors ? form - WITH_ERRORS : form];
  if (quotient !== undefined) {
    const power = POWERS[bytes.byte()];
    const length = bytes.varint();
    if (power === undefined || length > count) throw new RangeError('numbers are damaged');
    const others = decodeIntegers(bytes, length);
    const kept = Array.from({ length }, () => bytes.double());
    const numbers = decodeIntegers(bytes, count);
    for (let index = 0; index < count; index += 1) numbers[index] = quotient(numbers[index]!, power);
    if (hasErrors) addErrors(numbers, decodeIntegers(bytes, count));
    for (const [index, number] of kept.entries()) numbers[others[index]!] = number;
    return numbers;
  }
  if (form !== WORDS) throw new RangeError(`numbers have an unknown form ${form}`);
  const upper = decodeIntegers(bytes, count);
  const lower = decodeIntegers(bytes, count);
  const view = new DataView(new ArrayBuffer(8));
  return upper.map((word, index) => {
    view.setInt32(0, ordered(word));
    view.setUint32(4, lower[index]!);
    return view.getFloat64(0);
  });
}

function addErrors(numbers: Float64Array, errors: Float64Array): void {
  for (const [index, error] of errors.entries())
    if (error !== 0) numbers[index] = withError(numbers[index]!, error);
}

/** Null if the numbers are not decimals. */
function decimalsOf(numbers: Float64Array, form: typeof DECIMALS | typeof PRINTED): Decimals | null {
  const quotient = QUOTIENTS[form]!;
  const digits = usualDigits(numbers, quotient);
  if (digits === null) return null;
  const power = POWERS[digits]!;
  const wholes = new Float64Array(numbers.length);
  const errors = new Float64Array(numbers.length);
  const others: number[] = [];
  let last = 0;
  let hasErrors = false;
  for (const [index, number] of numbers.entries()) {
    const whole = Math.round(number * power);
    const error = errorOf(number, whole, power, quotient);
    if (error === null) others.push(index);
    else {
      last = whole;
      errors[index] = error;
      hasErrors ||= error !== 0;
    }
    // A number that is kept beside takes the place of the number before it, which costs the least.
    wholes[index] = last;
  }
  if (others.length * EXCEPTIONS > numbers.length) return null;
  return { form, digits, wholes, errors: hasErrors ? errors : null, others };
}

/** How far a number is from a quotient, in units in its last place. Null if it is too far. */
function errorOf(number: number, whole: number, power: number, quotient: Quotient): number | null {
  if (!(Math.abs(whole) <= MOST_WHOLE)) return null;
  // Not -0, which is no quotient of whole numbers here.
  const found = quotient(whole + 0, power);
  if (Object.is(found, number)) return 0;
  const error = (number - found) / unitOf(found);
  const isNear = Math.abs(error) <= MOST_ERROR && Number.isInteger(error);
  return isNear && Object.is(withError(found, error), number) ? error : null;
}

function withError(number: number, error: number): number {
  return number + error * unitOf(number);
}

const double = new DataView(new ArrayBuffer(8));

/** The unit in the last place of a double. */
function unitOf(number: number): number {
  double.setFloat64(0, number);
  const exponent = (double.getUint16(0) >> 4) & 0x7ff;
  return 2 ** (Math.max(exponent, 1) - 1075);
}

/** The digits after the point that most numbers of a sample have. Null if they have too many. */
function usualDigits(numbers: Float64Array, quotient: Quotient): number | null {
  let step = Math.max(1, Math.floor(numbers.length / SAMPLE));
  // Numbers that grow by 0.025 each need fewer digits at every second, fifth or tenth place.
  while (step % 2 === 0 || step % 5 === 0) step += 1;
  const sampled = Math.ceil(numbers.length / step);
  const found: number[] = [];
  for (let index = 0, missing = 0; index < numbers.length; index += step) {
    const number = numbers[index]!;
    const digits = POWERS.findIndex(
      (power) => errorOf(number, Math.round(number * power), power, quotient) !== null,
    );
    if (digits >= 0) found.push(digits);
    else if (++missing * EXCEPTIONS > sampled) return null;
  }
  if (found.length === 0) return null;
  found.sort((a, b) => a - b);
  return found[Math.floor(USUAL * (found.length - 1))]!;
}

const single = new DataView(new ArrayBuffer(4));

function fromSingle(number: number): number {
  single.setFloat32(0, number);
  return ordered(single.getInt32(0));
}

function toSingle(word: number): number {
  single.setInt32(0, ordered(word));
  return single.getFloat32(0);
}

/**
 * Bits of a number, as a word with a sign, to a whole number in the order of numbers, and back: the words of negative
 * numbers are in the reverse order.
 */
function ordered(word: number): number {
  return word < 0 ? ~(word & 0x7fffffff) : word;
}

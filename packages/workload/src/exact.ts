// Math.pow and Math.log differ between engines (and processors) in their last bits, and a zipfian draw is rounded
// down to a whole number: about once in ten thousand draws the streams of Node and k6 would differ. A result that
// depends on these last bits is computed here with whole numbers, which are equal on all engines.

const BITS = 100n;
const ONE = 1n << BITS;
const LN_2 = logOf(2n, 1n);
const MANTISSA = 0x20_0000_0000_0000;
/** Far more than the error of any engine's Math.pow (Go's, in k6, is 1e-14). */
const DOUBT = 1e-12;

/**
 * The whole part of a positive number that an engine computed as `approximate`. `exact` is called when that is too
 * close to a whole number.
 */
export function wholePart(approximate: number, exact: () => number): number {
  const whole = Math.floor(approximate);
  const margin = approximate * DOUBT;
  const part = approximate - whole;
  return part > margin && part < 1 - margin ? whole : Math.floor(exact());
}

/** x to the power of y, correctly rounded but for one case in 2^40; x positive. */
export function power(x: number, y: number): number {
  if (x === 1) return 1;
  const [mantissa, scale] = asInteger(y);
  const product = logarithm(x) * mantissa;
  return exponential(scale >= 0 ? product << BigInt(scale) : product >> BigInt(-scale));
}

/** The natural logarithm of a positive number. */
export function log(x: number): number {
  return toNumber(logarithm(x), -100);
}

/** A finite number as mantissa times two to the power of scale, both whole. */
function asInteger(x: number): [bigint, number] {
  let scale = 0;
  let mantissa = x;
  while (mantissa !== 0 && Math.abs(mantissa) < MANTISSA / 2) {
    mantissa *= 2;
    scale -= 1;
  }
  return [BigInt(mantissa), scale];
}

/** In units of 2^-BITS. */
function logarithm(x: number): bigint {
  const [mantissa, scale] = asInteger(x);
  const unit = BigInt(MANTISSA / 2);
  // x = mantissa / unit * 2^(scale + 52), with mantissa / unit in [1, 2).
  return logOf(mantissa, unit) + BigInt(scale + 52) * LN_2;
}

/** ln(p / q) = 2 artanh((p - q) / (p + q)), for p / q from 1 to 2. */
function logOf(p: bigint, q: bigint): bigint {
  const t = ((p - q) << BITS) / (p + q);
  const square = (t * t) >> BITS;
  let sum = 0n;
  let term = t;
  for (let n = 1n; term !== 0n; n += 2n) {
    sum += term / n;
    term = (term * square) >> BITS;
  }
  return 2n * sum;
}

function exponential(x: bigint): number {
  let halvings = x / LN_2;
  if (x < 0n) halvings -= 1n;
  const rest = x - halvings * LN_2;
  let sum = 0n;
  let term = ONE;
  for (let n = 1n; term !== 0n; n += 1n) {
    sum += term;
    term = ((term * rest) >> BITS) / n;
  }
  return toNumber(sum, Number(halvings) - 100);
}

/** value * 2^scale, rounded here because k6's Number() uses only the lowest 64 bits of a BigInt. */
function toNumber(value: bigint, scale: number): number {
  const negative = value < 0n;
  let magnitude = negative ? -value : value;
  let places = scale;
  for (const limit = BigInt(MANTISSA) * 2n; magnitude >= limit; places += 1) magnitude >>= 1n;
  while (magnitude >= BigInt(MANTISSA)) {
    magnitude = (magnitude + 1n) >> 1n;
    places += 1;
  }
  const result = Number(magnitude) * 2 ** places;
  return negative ? -result : result;
}

// FNV of 64 bits in 32-bit halves: the engine of k6 has no 64-bit integers but BigInt, which is slow.

const BASIS_HIGH = 0xcbf29ce4;
const BASIS_LOW = 0x84222325;
/** The prime is 2^40 + 0x1b3: a product of halves that stays below 2^53. */
const PRIME_LOW = 0x1b3;
const TWO_32 = 0x1_0000_0000;
const BILLION = 1_000_000_000;

/** The prime to the power of 4: what four octets of zero come to, and most numbers have them. */
const PRIME_4_HIGH = 0x9ffaac08;
const PRIME_4_LOW = 0x5635bc91;

/**
 * YCSB's `Utils.fnvhash64` of a whole number below 2^53, passed to `use` as two unsigned halves. YCSB uses the
 * absolute value, so the upper half is below 2^31.
 */
function fnv<T>(value: number, use: (high: number, low: number) => T): T {
  let high = BASIS_HIGH;
  let low = BASIS_LOW;
  let octets = value;
  const count = value < TWO_32 ? 4 : 8;
  for (let index = 0; index < count; index += 1) {
    if (index === 4) octets = value / TWO_32;
    low = (low ^ (octets & 0xff)) >>> 0;
    octets >>>= 8;
    const product = low * PRIME_LOW;
    high = (Math.imul(high, PRIME_LOW) + Math.floor(product / TWO_32) + (low << 8)) >>> 0;
    low = product >>> 0;
  }
  if (count === 4) {
    const carried = (low >>> 16) * PRIME_4_LOW + Math.floor(((low & 0xffff) * PRIME_4_LOW) / 0x1_0000);
    high = Math.imul(high, PRIME_4_LOW) + Math.imul(low, PRIME_4_HIGH) + Math.floor(carried / 0x1_0000);
    high >>>= 0;
    low = Math.imul(low, PRIME_4_LOW) >>> 0;
  }
  if (high < 0x8000_0000) return use(high, low);
  // Two's complement: the absolute value of a negative number.
  return low === 0 ? use(-high >>> 0, 0) : use(~high >>> 0, -low >>> 0);
}

/** `fnvhash64(value)` in decimal, as in a key. */
export function hashText(value: number): string {
  return fnv(value, decimal);
}

/** `fnvhash64(value) % modulus`, for a modulus of at most 2^37. */
export function hashModulo(value: number, modulus: number): number {
  return fnv(value, (high, low) => {
    let rest = high % modulus;
    rest = (rest * 0x1_0000 + (low >>> 16)) % modulus;
    return (rest * 0x1_0000 + (low & 0xffff)) % modulus;
  });
}

function decimal(high: number, low: number): string {
  let quotient = Math.floor(high / BILLION);
  let rest = high % BILLION;
  for (const limb of [low >>> 16, low & 0xffff]) {
    const part = rest * 0x1_0000 + limb;
    quotient = quotient * 0x1_0000 + Math.floor(part / BILLION);
    rest = part % BILLION;
  }
  return quotient === 0 ? String(rest) : quotient + String(rest).padStart(9, '0');
}

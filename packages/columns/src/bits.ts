import type { ByteWriter } from './bytes.ts';

/** The most bits of a number. */
export const MOST_BITS = 53;
/** A Rice code has fewer zeros than this. Numbers that need more have this many, and then all their bits. */
export const ESCAPE = 20;

/** Powers of two by exponent. */
const POWERS = Float64Array.from({ length: MOST_BITS + 1 }, (_, exponent) => 2 ** exponent);

/** Writes bits, the least significant first. */
export class BitWriter {
  readonly #out: ByteWriter;
  #pending = 0;
  #filled = 0;

  constructor(out: ByteWriter) {
    this.#out = out;
  }

  /** @param width at most `MOST_BITS` */
  bits(value: number, width: number): void {
    if (width <= 24) this.#put(value, width);
    else {
      this.#put(value % 0x1000000, 24);
      this.bits(Math.floor(value / 0x1000000), width - 24);
    }
  }

  /** A Rice code: the quotient of `value` by 2^k in zeros, a one, and the remainder in k bits. */
  rice(value: number, k: number): void {
    const quotient = Math.floor(value / POWERS[k]!);
    if (quotient >= ESCAPE) {
      this.#put(1 << ESCAPE, ESCAPE + 1);
      this.bits(value, MOST_BITS);
      return;
    }
    this.#put(1 << quotient, quotient + 1);
    if (k > 0) this.bits(value - quotient * POWERS[k]!, k);
  }

  /** Fills the last byte. Call it at the end. */
  flush(): void {
    if (this.#filled > 0) this.#out.byte(this.#pending);
  }

  #put(value: number, width: number): void {
    this.#pending |= value << this.#filled;
    this.#filled += width;
    while (this.#filled >= 8) {
      this.#out.byte(this.#pending & 255);
      this.#pending >>>= 8;
      this.#filled -= 8;
    }
  }
}

/** Reads what `BitWriter` wrote. Beyond the end there are zeros. */
export class BitReader {
  readonly #bytes: Uint8Array;
  #at = 0;
  #pending = 0;
  #filled = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  bits(width: number): number {
    if (width > 24) {
      const low = this.bits(24);
      return low + 0x1000000 * this.bits(width - 24);
    }
    while (this.#filled < width) this.#fill();
    const value = this.#pending & ((1 << width) - 1);
    this.#pending >>>= width;
    this.#filled -= width;
    return value;
  }

  /**
   * Rice codes, into `numbers` from `start` to `end`. Short codes, nearly all, are decoded in local variables, in half the
   * time of methods.
   */
  rices(k: number, numbers: Float64Array, start: number, end: number): void {
    const bytes = this.#bytes;
    const [power, mask] = [POWERS[k]!, (1 << k) - 1];
    let [at, pending, filled] = [this.#at, this.#pending, this.#filled];
    for (let index = start; index < end; index += 1) {
      for (; filled <= 23; filled += 8) pending |= (bytes[at++] ?? 0) << filled;
      const quotient = 31 - Math.clz32(pending & -pending);
      const width = quotient + 1 + k;
      if (quotient >= 0 && quotient < ESCAPE && width <= filled) {
        numbers[index] = quotient * power + ((pending >>> (quotient + 1)) & mask);
        pending >>>= width;
        filled -= width;
        continue;
      }
      [this.#at, this.#pending, this.#filled] = [at, pending, filled];
      numbers[index] = this.#rice(k);
      [at, pending, filled] = [this.#at, this.#pending, this.#filled];
    }
    [this.#at, this.#pending, this.#filled] = [at, pending, filled];
  }

  #rice(k: number): number {
    while (this.#filled <= 23) this.#fill();
    const quotient = 31 - Math.clz32(this.#pending & -this.#pending);
    if (quotient < 0 || quotient > ESCAPE) throw new RangeError('a code is too long');
    this.#pending >>>= quotient + 1;
    this.#filled -= quotient + 1;
    if (quotient === ESCAPE) return this.bits(MOST_BITS);
    return k === 0 ? quotient : quotient * POWERS[k]! + this.bits(k);
  }

  /** The bytes that were read, the last one perhaps in part. */
  get read(): number {
    return this.#at - (this.#filled >> 3);
  }

  #fill(): void {
    this.#pending |= (this.#bytes[this.#at++] ?? 0) << this.#filled;
    this.#filled += 8;
  }
}

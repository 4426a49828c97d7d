/** A random source. What a workload draws from it, and in which order, is the same as in YCSB. */
export interface Random {
  /** Uniform in [0, 1), 53 bits. */
  double(): number;
  /** A whole number, uniform from 0 to `bound` - 1; `bound` up to 2^53. */
  below(bound: number): number;
  /** 32 random bits, as a signed integer. */
  bits(): number;
}

/** A random source that can be reset. */
export interface SeededRandom extends Random {
  /** Resets to the state of the seed and these streams. */
  restart(...streams: readonly number[]): void;
}

const WARM_UP = 15;

/**
 * A repeatable random source: the same seed and streams (a thread, the number of a record) give the same draws in
 * every JavaScript engine. Not for secrets. (Chris Doty-Humphrey's sfc32: 32-bit additions, shifts and exclusive-ors
 * only. It uses variables of a closure, which an interpreter accesses faster than fields.)
 */
export function seeded(seed: number, ...streams: readonly number[]): SeededRandom {
  let a = 0;
  let b = 0;
  let c = 0;
  let counter = 0;

  const bits = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum;
  };
  const stir = (number: number): void => {
    if (!Number.isSafeInteger(number)) throw new TypeError(`a seed is a whole number, not ${number}`);
    a ^= number | 0;
    b ^= Math.floor(number / 0x1_0000_0000) | 0;
    for (let round = 0; round < WARM_UP; round += 1) bits();
  };
  const double = (): number => ((bits() >>> 5) * 0x400_0000 + (bits() >>> 6)) / 0x20_0000_0000_0000;
  const random: SeededRandom = {
    bits,
    double,
    below: (bound) => Math.floor(double() * bound),
    restart(...again) {
      a = 0x9e3779b9;
      b = 0x243f6a88;
      c = 0xb7e15162;
      counter = 1;
      for (const number of [seed, ...again]) stir(number);
    },
  };
  random.restart(...streams);
  return random;
}

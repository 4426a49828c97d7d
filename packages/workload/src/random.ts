/** Where all chance comes from. What a workload draws from it, and in which order, is as in YCSB. */
export interface Random {
  /** Uniform in [0, 1), 53 bits. */
  double(): number;
  /** A whole number, uniform from 0 to `bound` - 1; `bound` up to 2^53. */
  below(bound: number): number;
  /** 32 random bits, as a signed integer. */
  bits(): number;
}

/** Chance that can go back to a beginning. */
export interface SeededRandom extends Random {
  /** Goes to the beginning that the seed and these streams have. */
  restart(...streams: readonly number[]): void;
}

const WARM_UP = 15;

/**
 * Chance that repeats: the same seed and streams (a thread, the number of a record) give the same draws in
 * every JavaScript engine. Not for secrets. (Chris Doty-Humphrey's sfc32: 32-bit additions, shifts and
 * exclusive-ors only, for an interpreter pays for every operation.)
 */
export function seeded(seed: number, ...streams: readonly number[]): SeededRandom {
  return new Sfc32(seed, streams);
}

class Sfc32 implements SeededRandom {
  readonly #seed: number;
  #a = 0;
  #b = 0;
  #c = 0;
  #counter = 0;

  constructor(seed: number, streams: readonly number[]) {
    this.#seed = seed;
    this.restart(...streams);
  }

  restart(...streams: readonly number[]): void {
    this.#a = 0x9e3779b9;
    this.#b = 0x243f6a88;
    this.#c = 0xb7e15162;
    this.#counter = 1;
    this.#stir(this.#seed);
    for (const stream of streams) this.#stir(stream);
  }

  #stir(seed: number): void {
    if (!Number.isSafeInteger(seed)) throw new TypeError(`a seed is a whole number, not ${seed}`);
    this.#a ^= seed | 0;
    this.#b ^= Math.floor(seed / 0x1_0000_0000) | 0;
    for (let round = 0; round < WARM_UP; round += 1) this.bits();
  }

  bits(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum;
  }

  double(): number {
    return ((this.bits() >>> 5) * 0x400_0000 + (this.bits() >>> 6)) / 0x20_0000_0000_0000;
  }

  below(bound: number): number {
    return Math.floor(this.double() * bound);
  }
}

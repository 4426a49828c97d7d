import type { Random } from '../src/index.ts';

const MASK = (1n << 64n) - 1n;
/** Java's golden gamma, and twice the number of the main thread. */
const STEP = 0x9e3779b97f4a7c15n + 2n;

/** The numbers of java.util.concurrent.ThreadLocalRandom (Java 17 and later, main thread) from a seed, as in YCSB. */
export class ThreadLocalRandom implements Random {
  #state = 0n;

  seed(seed: number): void {
    this.#state = BigInt(seed);
  }

  bits(): number {
    return Number(BigInt.asIntN(32, mix(this.#next()) >> 32n));
  }

  double(): number {
    return ((this.bits() >>> 6) * 2 ** 27 + (this.bits() >>> 5)) / 2 ** 53;
  }

  below(bound: number): number {
    const long = BigInt.asIntN(64, finish(mix(this.#next())));
    return Number((long < 0n ? -long : long) % BigInt(bound));
  }

  #next(): bigint {
    this.#state = (this.#state + STEP) & MASK;
    return this.#state;
  }
}

/** As `ThreadLocalRandom`, for the one generator that calls nextInt(bound). */
export class ThreadLocalInts extends ThreadLocalRandom {
  override below(bound: number): number {
    for (;;) {
      const draw = this.bits() >>> 1;
      if ((bound & (bound - 1)) === 0) return Number((BigInt(bound) * BigInt(draw)) >> 31n);
      const value = draw % bound;
      if (draw - value + (bound - 1) < 2 ** 31) return value;
    }
  }
}

function mix(state: bigint): bigint {
  const once = ((state ^ (state >> 33n)) * 0xff51afd7ed558ccdn) & MASK;
  return ((once ^ (once >> 33n)) * 0xc4ceb9fe1a85ec53n) & MASK;
}

function finish(mixed: bigint): bigint {
  return mixed ^ (mixed >> 33n);
}

/** Pseudo-random numbers from a seed: xorshift32 (Marsaglia, "Xorshift RNGs", 2003). Equal seeds give equal numbers. */
export class Random {
  #state: number;

  /** @param seed a whole number */
  constructor(seed: number) {
    this.#state = Math.imul(seed | 0, 0x9e3779b1) ^ 0x5bd1e995 || 1;
  }

  /** A whole number from 0 to `below` - 1; 0 when `below` is 0. */
  below(below: number): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x;
    return below === 0 ? 0 : (x >>> 0) % below;
  }

  /** One of the items, of which there must be at least one. */
  of<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }
}

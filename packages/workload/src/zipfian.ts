import { power, wholePart } from './exact.ts';
import type { Random } from './random.ts';

/** YCSB's only zipfian constant. */
export const THETA = 0.99;
const ALPHA = 1 / (1 - THETA);
/** The second item's bound: 1 + 0.5^theta. */
const SECOND = 1 + power(0.5, THETA);
/** Riemann's zeta function of theta as a double has it (0.98999999999999999112). */
const RIEMANN = -99.4235129777281;
const SUMMED = 100;

/**
 * The sum of 1 / i^theta for i from 1 to `items`. YCSB adds all terms, which differs in the thirteenth digit. Above
 * 100 items this uses the Euler-Maclaurin formula, because every virtual user of k6 computes it again.
 */
export function zeta(items: number): number {
  if (items <= SUMMED) {
    let sum = 0;
    for (let item = 1; item <= items; item += 1) sum += 1 / power(item, THETA);
    return sum;
  }
  const tail = power(items, 1 - THETA);
  const last = tail / items;
  const first = (THETA * last) / items;
  const third = (first * (THETA + 1) * (THETA + 2)) / (items * items);
  return RIEMANN + tail / (1 - THETA) + last / 2 - first / 12 + third / 720;
}

/**
 * YCSB's ZipfianGenerator (Gray et al., "Quickly generating billion-record synthetic databases", SIGMOD 1994):
 * 0 is the most popular of `items`. As there, the number of items may grow, and `eta` keeps the first one.
 */
export class Zipfian {
  readonly #random: Random;
  readonly #items: number;
  #counted: number;
  #zeta: number;
  #eta: number;

  constructor(random: Random, items: number, zetaOfItems: number = zeta(items)) {
    this.#random = random;
    this.#items = items;
    this.#counted = items;
    this.#zeta = zetaOfItems;
    this.#eta = this.#etaNow();
  }

  next(items: number = this.#items): number {
    if (items > this.#counted) {
      this.#counted = items;
      this.#zeta = zeta(items);
      this.#eta = this.#etaNow();
    }
    const draw = this.#random.double();
    const scaled = draw * this.#zeta;
    if (scaled < 1) return 0;
    if (scaled < SECOND) return 1;
    const base = this.#eta * draw - this.#eta + 1;
    return wholePart(items * base ** ALPHA, () => items * power(base, ALPHA));
  }

  /** Of up to two items none is drawn by it. */
  #etaNow(): number {
    if (this.#items <= 2) return 0;
    return (1 - power(2 / this.#items, 1 - THETA)) / (1 - zeta(2) / this.#zeta);
  }
}

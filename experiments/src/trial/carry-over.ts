import { meanWithVariance } from '@tidegauge/loadtests/results/student';

/** Fewest turns after one partner, and after the others, that are compared. */
const FEWEST = 10;
/** A difference counts when it is so many of its standard errors. */
const CLEAR = 4;

export interface CarryOverFound {
  /** How much longer operations take after one partner than after the others, relative: 0.5 is half as long again. */
  readonly share: number;
  /** The partner, by its index. */
  readonly after: number;
}

/**
 * What the turn of one partner costs the next one: what it leaves behind, such as garbage that is still collected, is not its own
 * time. Turns are in random order, so without such an effect operations take the same time after each partner.
 */
export class CarryOver {
  /** Logarithms of times of operations, by the partner that had the turn before. */
  readonly #logs = new Map<number, number[]>();

  /** @param ms the mean time of an operation in a turn */
  add(before: number, ms: number): void {
    if (!(ms > 0)) return;
    const known = this.#logs.get(before) ?? [];
    known.push(Math.log(ms));
    this.#logs.set(before, known);
  }

  /** The partner with the largest clear effect; null when there are too few turns to know. */
  largest(): CarryOverFound | null {
    let found: CarryOverFound | null = null;
    for (const [after, logs] of this.#logs) {
      const others = [...this.#logs].flatMap(([other, list]) => (other === after ? [] : list));
      if (logs.length < FEWEST || others.length < FEWEST) continue;
      const [own, rest] = [meanWithVariance(logs), meanWithVariance(others)];
      const difference = own.mean - rest.mean;
      const isClear = difference > CLEAR * Math.sqrt(own.variance + rest.variance);
      const share = isClear ? Math.exp(difference) - 1 : 0;
      if (found === null || share > found.share) found = { share, after };
    }
    return found;
  }
}

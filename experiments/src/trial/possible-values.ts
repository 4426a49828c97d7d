import type { Outcome } from '@tidegauge/loadtests/operations/outcome';

/** Values that are possible at once. More are only possible while more writes than this are unanswered. */
const MAX_POSSIBLE = 100_000;

const ANY = Symbol('any value');

interface Write<T> {
  readonly value: T | typeof ANY;
  readonly begun: number;
  /** Infinity: the outcome is unknown, so the write may take effect later. */
  ended: number;
}

/**
 * The values that a field can have: those of writes after which no other write began and was acknowledged. When writes
 * overlap, each of them is possible.
 */
export class PossibleValues<T> {
  #writes: Write<T>[];

  /** The value before all writes is not known. */
  static unknown<T>(): PossibleValues<T> {
    return new PossibleValues<T>(ANY);
  }

  /** @param value the value before all writes */
  constructor(value: T | typeof ANY) {
    this.#writes = [{ value, begun: Number.NEGATIVE_INFINITY, ended: Number.NEGATIVE_INFINITY }];
  }

  /** Call it before a write. The returned function receives the outcome. */
  writing(value: T): (outcome: Outcome) => void {
    const write: Write<T> = { value, begun: performance.now(), ended: Number.POSITIVE_INFINITY };
    if (this.#writes.length >= MAX_POSSIBLE) this.#writes.shift();
    this.#writes.push(write);
    return (outcome) => {
      if (outcome !== 'OK') return;
      write.ended = performance.now();
      // Writes that were acknowledged before this one began have been replaced.
      this.#writes = this.#writes.filter(({ ended }) => ended >= write.begun);
    };
  }

  has(value: T): boolean {
    return this.#writes.some((write) => write.value === ANY || write.value === value);
  }
}

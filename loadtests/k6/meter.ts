import { Counter, Trend } from 'k6/metrics';
import { OUTCOMES, type Outcome } from '../src/operations/outcome.ts';
import { DONE } from '../src/results/summary.ts';

/** Of operations that are no part of another. */
export const done = new Counter(DONE);

/**
 * What k6 measures of one type of operation (`read`): `op_read` and `op_read_intended`, milliseconds from the actual
 * and from the intended start, of those that succeeded; `op_read_failed` of the others; `op_read_return_OK` and so
 * on count how they ended. To be made in the init context.
 */
export class Meter {
  readonly #ok: Trend;
  readonly #intended: Trend;
  readonly #failed: Trend;
  readonly #returns: Readonly<Record<Outcome, Counter>>;

  constructor(operation: string) {
    this.#ok = new Trend(`op_${operation}`, true);
    this.#intended = new Trend(`op_${operation}_intended`, true);
    this.#failed = new Trend(`op_${operation}_failed`, true);
    const counters = OUTCOMES.map((outcome) => [outcome, new Counter(`op_${operation}_return_${outcome}`)]);
    this.#returns = Object.fromEntries(counters) as Record<Outcome, Counter>;
  }

  /** All in milliseconds of one clock. */
  ended(outcome: Outcome, intended: number, begun: number, end: number): void {
    this.#returns[outcome].add(1);
    if (outcome === 'OK') {
      this.#ok.add(end - begun);
      this.#intended.add(end - intended);
    } else {
      this.#failed.add(end - begun);
    }
  }

  /** Counts an outcome without a separate time. */
  count(outcome: Outcome): void {
    this.#returns[outcome].add(1);
  }
}

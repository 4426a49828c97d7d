import { Counter, Trend } from 'k6/metrics';
import { OUTCOMES, type Outcome } from '../src/operations/outcome.ts';
import { DONE } from '../src/results/summary.ts';

/** Counts operations that succeeded, without those that are part of another operation. */
export const done = new Counter(DONE);

/**
 * The metrics of one type of operation, such as `read`. `op_read` and `op_read_intended` are the milliseconds from the
 * actual and from the scheduled start of operations that succeeded. `op_read_failed` are those of operations that
 * failed. `op_read_return_OK` and others count the outcomes. A meter must be made in k6's init context.
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

  /** Records an operation that has ended. The times are milliseconds of the same clock. */
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

import type { ObservedRun } from '../../drivers/closed-model.ts';
import type { Outcome } from '../../operations/outcome.ts';
import type { OperationType } from '../operation-names.ts';
import type { Verification } from './sampled-writes.ts';

/** Receives each operation that has ended. Times are milliseconds of `performance.now()`. */
export interface TrialObserver {
  /**
   * @param begun the start, or the intended start when the trial has a rate
   * @param isPart true for a part of an operation that also ends as a whole, such as the read of a read-modify-write
   */
  ended(
    type: OperationType,
    outcome: Outcome,
    begun: number,
    end: number,
    thread: number,
    isPart: boolean,
  ): void;
  /** Called for each read whose values were checked, after `ended`. */
  verified(intact: boolean): void;
}

/** The operations of one trial. */
export interface TrialRun {
  readonly seed: number;
  /** No operation starts later, a time of `performance.now()`. */
  readonly deadline: number;
}

/**
 * A set of operations on the data of one driver, such as those of YCSB on a table of records. It is used inside of the
 * driver program, one call at a time. All writes to the data pass through it from `load` or `checkRestored` on, so that
 * it can verify them.
 */
export interface OperationSet {
  /**
   * Replaces the data by those of the load. Resolves to the time that the inserts took, in seconds, or to null if the
   * data are there already and no run changes them.
   */
  load(): Promise<number | null>;
  /** @throws {Error} when a sample of the data, which come from a copy, is not as loaded */
  checkRestored(): Promise<void>;
  /** Does the operations of a trial, always the same ones for a seed. */
  run(trial: TrialRun, observer: TrialObserver): Promise<ObservedRun>;
  /** Another program has done the operations of this seed: makes all their writes possible, in any order. */
  replay(seed: number): void;
  /** Reads a sample of the data and compares it with the writes. */
  verify(): Promise<Verification>;
  drop(): Promise<void>;
}

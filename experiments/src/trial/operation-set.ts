import type { ObservedRun } from '@tidegauge/loadtests/drivers/closed-model';
import type { Outcome } from '@tidegauge/loadtests/operations/outcome';
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
  /** All operations of the turn have ended: what follows takes no time of the run. */
  endTurn(): void;
}

/** The end of a turn: after so many operations, or at a time. */
export interface TurnLimits {
  /** Operations of all threads together. */
  readonly count: number;
  /** No operation starts later, a time of `performance.now()`. */
  readonly deadline: number;
}

/** The operations of one trial, always the same ones for a seed. A turn continues where the one before it stopped. */
export interface TrialOperations {
  turn(limits: TurnLimits, observer: TrialObserver): Promise<ObservedRun>;
  /** Frees what the operations have used. */
  end(): Promise<void>;
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
  /** Opens connections. No operation is done. */
  begin(seed: number): Promise<TrialOperations>;
  /** Another program has done the operations of this seed: makes all their writes possible, in any order. */
  replay(seed: number): void;
  /** Reads a sample of the data and compares it with the writes. */
  verify(): Promise<Verification>;
  drop(): Promise<void>;
}

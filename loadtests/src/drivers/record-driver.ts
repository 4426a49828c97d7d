import {
  isIntact,
  operations,
  type RecordOperation,
  type RecordWorkload,
  type Values,
} from '@tidegauge/workload';
import type { Outcome } from '../operations/outcome.ts';
import { type ClosedModelOptions, type ObservedRun, runClosedModel } from './closed-model.ts';
import type { RecordTarget } from './record-target.ts';

/** Types as k6's meters and YCSB's measurements use them: a read-modify-write also counts as a read and an update. */
export type MeasuredOperation = RecordOperation['type'];

/** The results of one block of operations. */
export interface RecordBlock {
  readonly seconds: number;
  /** Operations that succeeded; a read-modify-write counts once. */
  readonly done: number;
  /** Latencies of the operations that succeeded, in milliseconds, in the order in which they ended. */
  readonly latencies: ReadonlyMap<MeasuredOperation, readonly number[]>;
  readonly outcomes: ReadonlyMap<MeasuredOperation, ReadonlyMap<Outcome, number>>;
  /** Reads whose values were checked. */
  readonly verified: number;
  /** Checked reads whose values were wrong. */
  readonly damaged: number;
}

export interface RecordDriverOptions {
  readonly seed: number;
  readonly threads: number;
  /**
   * Operations per second over all threads, as YCSB's `-target`. null: a thread starts an operation when its previous
   * one has ended.
   */
  readonly rate?: number | null;
}

/** Receives each operation that has ended. Times are milliseconds of `performance.now()`. */
export interface OperationObserver {
  /**
   * @param begun the start, or the intended start when the driver has a rate
   * @param isPart true for the read and the update of a read-modify-write, which also ends as a whole
   */
  ended(
    type: MeasuredOperation,
    outcome: Outcome,
    begun: number,
    end: number,
    thread: number,
    isPart: boolean,
  ): void;
  /** Called for each read whose values were checked, after `ended`. */
  verified?(intact: boolean): void;
  /** Called before a write is sent. The returned function receives its outcome. null: the write is not watched. */
  writing?(type: 'insert' | 'update', key: string, values: Values): ((outcome: Outcome) => void) | null;
}

/**
 * Runs a workload's operations against a target in YCSB's closed model. There are `threads` streams, the same that k6
 * makes from the seed. A stream starts an operation when its previous one has ended. Each block continues where the
 * previous one stopped, so two drivers with the same seed do the same operations in each block.
 */
export class RecordDriver {
  readonly #target: RecordTarget;
  readonly #workload: RecordWorkload;
  readonly #rate: number | null;
  readonly #streams: readonly { next(): RecordOperation }[];

  constructor(
    target: RecordTarget,
    workload: RecordWorkload,
    { seed, threads, rate = null }: RecordDriverOptions,
  ) {
    this.#target = target;
    this.#workload = workload;
    this.#rate = rate;
    this.#streams = Array.from({ length: threads }, (_, thread) =>
      operations(workload, { seed, thread, threads }),
    );
  }

  /**
   * Runs the next `count` operations, divided over all threads. The first threads also run the remainder. No operation
   * starts after an abort.
   */
  async run(count: number, signal?: AbortSignal): Promise<RecordBlock> {
    const meter = new Meter();
    const { seconds, done } = await this.observe(count, meter, signal === undefined ? {} : { signal });
    return meter.block(seconds, done);
  }

  /**
   * Like `run`, but passes each operation to an observer. No operation starts after `deadline`, a time of
   * `performance.now()`, or after an abort.
   */
  async observe(
    count: number,
    observer: OperationObserver,
    limits: Pick<ClosedModelOptions, 'deadline' | 'signal'> = {},
  ): Promise<ObservedRun> {
    const streams = this.#streams;
    return runClosedModel((thread, due) => this.#perform(streams[thread]!.next(), observer, thread, due), {
      count,
      threads: streams.length,
      rate: this.#rate,
      ...limits,
    });
  }

  /** Resolves to true if the operation succeeded. `due`: the intended start, if it is in the past. */
  async #perform(
    operation: RecordOperation,
    observer: OperationObserver,
    thread: number,
    due: number | null,
  ): Promise<boolean> {
    const { type, key } = operation;
    const begun = due ?? performance.now();
    if (type === 'read') {
      return (await this.#read(key, operation.fields, observer, begun, thread, false)) === 'OK';
    }
    if (type === 'readModifyWrite') {
      const found = await this.#read(key, operation.fields, observer, begun, thread, true);
      const between = performance.now();
      const watched = observer.writing?.('update', key, operation.values);
      const updated = await this.#target.update(key, operation.values);
      const end = performance.now();
      watched?.(updated);
      observer.ended('update', updated, between, end, thread, true);
      const whole = found === 'OK' && updated === 'OK';
      observer.ended(type, whole ? 'OK' : 'ERROR', begun, end, thread, false);
      return whole;
    }
    let outcome: Outcome;
    if (type === 'scan') {
      outcome = await this.#target.scan(key, operation.count, operation.fields);
      observer.ended(type, outcome, begun, performance.now(), thread, false);
    } else {
      const watched = observer.writing?.(type, key, operation.values);
      outcome = await this.#target[type](key, operation.values);
      observer.ended(type, outcome, begun, performance.now(), thread, false);
      watched?.(outcome);
    }
    return outcome === 'OK';
  }

  async #read(
    key: string,
    fields: readonly string[] | null,
    observer: OperationObserver,
    begun: number,
    thread: number,
    isPart: boolean,
  ): Promise<Outcome> {
    const { outcome, values } = await this.#target.read(key, fields);
    const end = performance.now();
    const isChecked = outcome === 'OK' && this.#workload.dataIntegrity;
    const intact = !isChecked || isIntact(this.#workload, key, fields, values());
    const judged = intact ? outcome : 'UNEXPECTED_STATE';
    observer.ended('read', judged, begun, end, thread, isPart);
    if (isChecked) observer.verified?.(intact);
    return judged;
  }
}

class Meter implements OperationObserver {
  readonly #latencies = new Map<MeasuredOperation, number[]>();
  readonly #outcomes = new Map<MeasuredOperation, Map<Outcome, number>>();
  #verified = 0;
  #damaged = 0;

  ended(type: MeasuredOperation, judged: Outcome, begun: number, end: number): void {
    // As in YCSB, a read with wrong values is counted by its verification, and is timed like the others.
    const outcome = judged === 'UNEXPECTED_STATE' ? 'OK' : judged;
    if (!this.#outcomes.has(type)) this.#outcomes.set(type, new Map());
    const counts = this.#outcomes.get(type)!;
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    if (outcome !== 'OK') return;
    if (!this.#latencies.has(type)) this.#latencies.set(type, []);
    this.#latencies.get(type)!.push(end - begun);
  }

  verified(intact: boolean): void {
    this.#verified += 1;
    if (!intact) this.#damaged += 1;
  }

  block(seconds: number, done: number): RecordBlock {
    return {
      seconds,
      done,
      latencies: this.#latencies,
      outcomes: this.#outcomes,
      verified: this.#verified,
      damaged: this.#damaged,
    };
  }
}

/** The failures in a block, one line each. */
export function problemsOf({ outcomes, damaged }: RecordBlock): string[] {
  const problems: string[] = [];
  for (const [type, counts] of outcomes) {
    for (const [outcome, count] of counts)
      if (outcome !== 'OK') problems.push(`${type} ended in ${outcome} ${count} times`);
  }
  if (damaged > 0) problems.push(`${damaged} reads gave other values than were written`);
  return problems;
}

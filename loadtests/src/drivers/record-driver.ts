import { setTimeout as sleep } from 'node:timers/promises';
import {
  isIntact,
  operations,
  type RecordOperation,
  type RecordWorkload,
  type Values,
} from '@tidegauge/workload';
import type { Outcome } from '../operations/outcome.ts';
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

export interface ObservedRun {
  readonly seconds: number;
  /** Operations that succeeded; a read-modify-write counts once. */
  readonly done: number;
  /** Operations that were started. */
  readonly started: number;
}

/**
 * A timer of Node can fire this much late. When a thread was idle at the intended start and begins at most this much
 * later, the delay is that of the timer, and the operation is measured from its actual start. Milliseconds.
 */
const TIMER_MS = 2;

/**
 * Runs a workload's operations against a target in YCSB's closed model. There are `threads` streams, the same that k6
 * makes from the seed. A stream starts an operation when its previous one has ended. Each block continues where the
 * previous one stopped, so two drivers with the same seed do the same operations in each block.
 *
 * With a rate, each operation has an intended start. An operation that starts late because the previous one of its
 * thread took long is measured from the intended start, so a stall of the store counts for all operations that it
 * delays (no coordinated omission).
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

  /** Runs the next `count` operations, divided over all threads. The first threads also run the remainder. */
  async run(count: number): Promise<RecordBlock> {
    const meter = new Meter();
    const { seconds, done } = await this.observe(count, meter);
    return meter.block(seconds, done);
  }

  /**
   * Like `run`, but passes each operation to an observer. No operation starts after `deadline`, a time of
   * `performance.now()`, or after an abort.
   */
  async observe(
    count: number,
    observer: OperationObserver,
    { deadline = Number.POSITIVE_INFINITY, signal }: { deadline?: number; signal?: AbortSignal } = {},
  ): Promise<ObservedRun> {
    const threads = this.#streams.length;
    const interval = this.#rate === null ? 0 : (threads * 1000) / this.#rate;
    let done = 0;
    let started = 0;
    const begun = performance.now();
    await Promise.all(
      this.#streams.map(async (stream, thread) => {
        const share = Math.floor(count / threads) + (thread < count % threads ? 1 : 0);
        // As in YCSB, the first operations of the threads are spread over one interval.
        const first = begun + (thread / threads) * interval;
        for (let number = 0; number < share; number += 1) {
          let due: number | null = null;
          if (this.#rate !== null) due = await dueAt(first + number * interval);
          if (signal?.aborted || performance.now() > deadline) return;
          started += 1;
          if (await this.#perform(stream.next(), observer, thread, due)) done += 1;
        }
      }),
    );
    return { seconds: (performance.now() - begun) / 1000, done, started };
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

/** Waits for the intended start. Resolves to it if it is in the past, and to null if the operation is on time. */
async function dueAt(due: number): Promise<number | null> {
  const wait = due - performance.now();
  if (wait <= 0) return due;
  await sleep(Math.ceil(wait));
  return performance.now() - due > TIMER_MS ? due : null;
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

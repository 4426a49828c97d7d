import { isIntact, operations, type RecordOperation, type RecordWorkload } from '@tidegauge/workload';
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
}

/**
 * Runs a workload's operations against a target in YCSB's closed model. There are `threads` streams, the same that k6
 * makes from the seed. A stream starts an operation when its previous one has ended. Each block continues where the
 * previous one stopped, so two drivers with the same seed do the same operations in each block.
 */
export class RecordDriver {
  readonly #target: RecordTarget;
  readonly #workload: RecordWorkload;
  readonly #streams: readonly { next(): RecordOperation }[];

  constructor(target: RecordTarget, workload: RecordWorkload, { seed, threads }: RecordDriverOptions) {
    this.#target = target;
    this.#workload = workload;
    this.#streams = Array.from({ length: threads }, (_, thread) =>
      operations(workload, { seed, thread, threads }),
    );
  }

  /** Runs the next `count` operations, divided over all threads. The first threads also run the remainder. */
  async run(count: number): Promise<RecordBlock> {
    const meter = new Meter();
    const threads = this.#streams.length;
    let done = 0;
    const begun = performance.now();
    await Promise.all(
      this.#streams.map(async (stream, thread) => {
        const share = Math.floor(count / threads) + (thread < count % threads ? 1 : 0);
        for (let number = 0; number < share; number += 1) {
          const fine = await this.#perform(stream.next(), meter);
          if (fine) done += 1;
        }
      }),
    );
    return meter.block((performance.now() - begun) / 1000, done);
  }

  /** Resolves to true if the operation succeeded. */
  async #perform(operation: RecordOperation, meter: Meter): Promise<boolean> {
    const { type, key } = operation;
    const begun = performance.now();
    if (type === 'read') return this.#read(key, operation.fields, meter);
    if (type === 'readModifyWrite') {
      const found = await this.#read(key, operation.fields, meter);
      const between = performance.now();
      const updated = await this.#target.update(key, operation.values);
      meter.ended('update', updated, between);
      const whole = found && updated === 'OK';
      meter.ended(type, whole ? 'OK' : 'ERROR', begun);
      return whole;
    }
    const outcome =
      type === 'scan'
        ? await this.#target.scan(key, operation.count, operation.fields)
        : await this.#target[type](key, operation.values);
    meter.ended(type, outcome, begun);
    return outcome === 'OK';
  }

  async #read(key: string, fields: readonly string[] | null, meter: Meter): Promise<boolean> {
    const begun = performance.now();
    const { outcome, values } = await this.#target.read(key, fields);
    meter.ended('read', outcome, begun);
    if (outcome !== 'OK' || !this.#workload.dataIntegrity) return outcome === 'OK';
    const intact = isIntact(this.#workload, key, fields, values());
    meter.verified(intact);
    return intact;
  }
}

class Meter {
  readonly #latencies = new Map<MeasuredOperation, number[]>();
  readonly #outcomes = new Map<MeasuredOperation, Map<Outcome, number>>();
  #verified = 0;
  #damaged = 0;

  ended(type: MeasuredOperation, outcome: Outcome, begun: number): void {
    const took = performance.now() - begun;
    if (!this.#outcomes.has(type)) this.#outcomes.set(type, new Map());
    const counts = this.#outcomes.get(type)!;
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    if (outcome !== 'OK') return;
    if (!this.#latencies.has(type)) this.#latencies.set(type, []);
    this.#latencies.get(type)!.push(took);
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

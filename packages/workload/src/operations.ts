import { FieldValues, type Values } from './field-values.ts';
import * as generators from './generators.ts';
import { Inserts } from './inserts.ts';
import { keyName } from './keys.ts';
import { type Random, seeded } from './random.ts';
import type { RecordOperationType, RecordWorkload } from './records.ts';

/** One operation on a table. `fields` null: all of them. */
export type RecordOperation =
  | { readonly type: 'read'; readonly key: string; readonly fields: readonly string[] | null }
  | { readonly type: 'update'; readonly key: string; readonly values: Values }
  | { readonly type: 'insert'; readonly key: string; readonly values: Values }
  | {
      readonly type: 'scan';
      readonly key: string;
      readonly count: number;
      readonly fields: readonly string[] | null;
    }
  | {
      readonly type: 'readModifyWrite';
      readonly key: string;
      readonly fields: readonly string[] | null;
      readonly values: Values;
    };

export interface StreamOptions {
  /** A whole number; the same seed gives the same stream, here and in k6. */
  readonly seed: number;
  /** The number of this stream among `threads`, from 0. Default 0 of 1. */
  readonly thread?: number;
  readonly threads?: number;
}

/** An endless stream of operations. A call of `next` means that the previous operation has ended. */
export interface Operations<T> {
  next(): T;
}

const LOAD_STREAM = -1;

/**
 * The operations of one thread. Threads insert different records and do not affect each other.
 *
 * @example
 * const workload = parseWorkload(text, { file: 'workloada' });
 * const stream = operations(workload, { seed: 1 });
 * const operation = stream.next(); // { type: 'read', key: 'user…', fields: null }
 */
export function operations(workload: RecordWorkload, options: StreamOptions): Operations<RecordOperation> {
  const { seed, thread = 0, threads = 1 } = options;
  return recordOperations(workload, seeded(seed, thread, threads), thread, threads);
}

/** Like `operations`, with a given random source. */
export function recordOperations(
  workload: RecordWorkload,
  random: Random,
  thread = 0,
  threads = 1,
): Operations<RecordOperation> {
  return new RecordOperations(workload, random, thread, threads);
}

/** The records of the load phase, by number. They do not depend on the client or the order. */
export function initialRecords(
  workload: RecordWorkload,
  seed: number,
): (number: number) => { readonly key: string; readonly values: Values } {
  const random = seeded(seed);
  const fields = new FieldValues(workload, random);
  return (number) => {
    random.restart(LOAD_STREAM, number);
    const key = keyName(number, workload.insertOrder, workload.zeroPadding);
    return { key, values: fields.all(key) };
  };
}

/** CoreWorkload's doTransaction, which draws in this order. */
class RecordOperations implements Operations<RecordOperation> {
  readonly #workload: RecordWorkload;
  readonly #values: FieldValues;
  readonly #inserts: Inserts;
  readonly #chooseType: () => RecordOperationType;
  readonly #chooseNumber: generators.Generator;
  readonly #chooseLength: generators.Generator;

  constructor(workload: RecordWorkload, random: Random, thread: number, threads: number) {
    this.#workload = workload;
    this.#values = new FieldValues(workload, random);
    this.#inserts = new Inserts(workload.recordCount, thread, threads);
    const mix = Object.entries(workload.mix) as [RecordOperationType, number][];
    const weighted = mix.filter(([, share]) => share > 0).map(([type, share]) => [share, type] as const);
    this.#chooseType = generators.discrete(random, weighted);
    this.#chooseNumber = this.#numbers(random, thread, threads);
    const { distribution, minimum, maximum } = workload.scanLength;
    const lengths = distribution === 'uniform' ? generators.uniform : generators.zipfian;
    this.#chooseLength = lengths(random, minimum, maximum);
  }

  next(): RecordOperation {
    this.#inserts.acknowledge();
    const type = this.#chooseType();
    if (type === 'insert') {
      const key = this.#key(this.#inserts.next());
      return { type, key, values: this.#values.all(key) };
    }
    const key = this.#key(this.#inserts.present(this.#chooseNumber()));
    if (type === 'read') return { type, key, fields: this.#fields() };
    if (type === 'update') return { type, key, values: this.#written(key) };
    if (type === 'scan') return { type, key, count: this.#chooseLength(), fields: this.#fields() };
    return { type, key, fields: this.#fields(), values: this.#written(key) };
  }

  #key(number: number): string {
    return keyName(number, this.#workload.insertOrder, this.#workload.zeroPadding);
  }

  #fields(): readonly string[] | null {
    return this.#workload.readAllFields ? null : [this.#values.name()];
  }

  #written(key: string): Values {
    return this.#workload.writeAllFields ? this.#values.all(key) : this.#values.one(key);
  }

  /** CoreWorkload's keychooser and nextKeynum: numbers of existing records. */
  #numbers(random: Random, thread: number, threads: number): generators.Generator {
    const { requestDistribution, insertStart, insertCount, recordCount, operationCount, mix } =
      this.#workload;
    const last = () => this.#inserts.last();
    const end = insertStart + insertCount - 1;
    if (requestDistribution === 'exponential') {
      const { percentile, fraction } = this.#workload.exponential;
      const back = generators.exponential(random, percentile, recordCount * fraction);
      return until(
        (number) => number >= 0,
        () => last() - back(),
      );
    }
    const there = (number: number): boolean => number <= last();
    switch (requestDistribution) {
      case 'uniform':
        return until(there, generators.uniform(random, insertStart, end));
      case 'sequential':
        return until(there, generators.sequential(insertStart, end, thread, threads));
      case 'zipfian': {
        // Space for twice the expected inserts, so that the popular keys stay the same.
        const expected = Math.trunc(operationCount * mix.insert * 2);
        return until(there, generators.scrambledZipfian(random, insertStart, end + 1 + expected));
      }
      case 'latest':
        return until(there, generators.skewedLatest(random, last));
      case 'hotspot': {
        const { dataFraction, operationFraction } = this.#workload.hotspot;
        return until(there, generators.hotspot(random, insertStart, end, dataFraction, operationFraction));
      }
    }
  }
}

function until(right: (number: number) => boolean, draw: generators.Generator): generators.Generator {
  return () => {
    for (;;) {
      const number = draw();
      if (right(number)) return number;
    }
  };
}

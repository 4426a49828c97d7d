import { constant, type Generator, histogram, uniform, zipfian } from './generators.ts';
import type { Random } from './random.ts';
import type { RecordWorkload } from './records.ts';
import { deterministicValue, randomValue } from './values.ts';

/** Text fields by name, `field0` .. */
export type Values = Readonly<Record<string, string>>;

/** The field values that a workload writes. */
export class FieldValues {
  readonly #names: readonly string[];
  readonly #random: Random;
  readonly #length: Generator;
  readonly #integrity: boolean;

  constructor(workload: RecordWorkload, random: Random) {
    this.#names = fieldNames(workload);
    this.#random = random;
    this.#length = fieldLengths(workload, random);
    this.#integrity = workload.dataIntegrity;
  }

  all(key: string): Values {
    const values: Record<string, string> = {};
    for (const name of this.#names) values[name] = this.#value(key, name);
    return values;
  }

  one(key: string): Values {
    const name = this.name();
    return { [name]: this.#value(key, name) };
  }

  /** One of the fields, uniformly. */
  name(): string {
    return this.#names[this.#random.below(this.#names.length)]!;
  }

  #value(key: string, name: string): string {
    const length = this.#length();
    return this.#integrity ? deterministicValue(key, name, length) : randomValue(this.#random, length);
  }
}

/**
 * Whether the fields that were read are correct: all requested fields are present, each with the value that follows
 * from its key and name.
 */
export function isIntact(
  workload: RecordWorkload,
  key: string,
  requested: readonly string[] | null,
  found: Values,
): boolean {
  const names = requested ?? fieldNames(workload);
  const { maximum } = workload.fieldLength;
  return names.every((name) => found[name] === deterministicValue(key, name, maximum));
}

/** `field0` to the last one. */
export function fieldNames(workload: RecordWorkload): readonly string[] {
  return Array.from({ length: workload.fieldCount }, (_, index) => `field${index}`);
}

function fieldLengths(workload: RecordWorkload, random: Random): Generator {
  const { distribution, minimum, maximum, histogram: counts } = workload.fieldLength;
  if (distribution === 'constant') return constant(maximum);
  if (distribution === 'histogram') return histogram(random, counts!);
  return (distribution === 'uniform' ? uniform : zipfian)(random, minimum, maximum);
}

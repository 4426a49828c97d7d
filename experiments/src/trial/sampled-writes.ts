import type { RecordRead } from '@tidegauge/loadtests/drivers/record-target';
import type { Outcome } from '@tidegauge/loadtests/operations/outcome';
import { forEach } from '@tidegauge/parallel';
import { initialRecords, type RecordWorkload, type Values } from '@tidegauge/workload';
import { PossibleValues } from './possible-values.ts';

/** Loaded records that are watched, and as many inserted ones. */
const SAMPLE = 256;
/** Records that are read at the same time after a run, so that the next run starts soon. */
export const CHECKS_AT_ONCE = 8;

type ReadRecord = (key: string) => Promise<RecordRead>;

export interface Verification {
  /** Records that were read. */
  readonly checked: number;
  /** Records that are missing, or have a value that no write could have left. */
  readonly damaged: number;
  /** Other records, for which this is so at the level of the run, and not when all copies are read. */
  readonly stale: number;
  /** The first damaged or stale record. null: none. */
  readonly example: string | null;
}

/**
 * Remembers what a run writes to a sample of the records, so that the records can be checked after it: each field must
 * have a value that is possible. YCSB's `dataintegrity` instead writes the same value again, which some stores detect and skip.
 *
 * All writes to the table have to pass through one object of this class from its load on.
 */
export class SampledWrites {
  readonly #workload: RecordWorkload;
  readonly #seed: number;
  /** Numbers of the watched records of the load, by key. */
  readonly #loaded = new Map<string, number>();
  readonly #inserted = new Set<string>();
  readonly #fields = new Map<string, Map<string, PossibleValues<string>>>();

  readonly #mostTouched: number;
  #touched = 0;

  /**
   * @param seed of the load
   * @param mostTouched records outside the sample that are watched too, from their first write on
   */
  constructor(workload: RecordWorkload, seed: number, mostTouched = 0) {
    this.#workload = workload;
    this.#seed = seed;
    this.#mostTouched = mostTouched;
    this.restart();
  }

  /** The table has been loaded again. */
  restart(): void {
    this.#loaded.clear();
    this.#inserted.clear();
    this.#fields.clear();
    this.#touched = 0;
    const { insertStart, insertCount } = this.#workload;
    const recordOf = initialRecords(this.#workload, this.#seed);
    const count = Math.min(SAMPLE, insertCount);
    for (let index = 0; index < count; index += 1) {
      const number = insertStart + Math.floor((index * insertCount) / count);
      const { key, values } = recordOf(number);
      this.#loaded.set(key, number);
      this.#fields.set(key, possibleOf(values));
    }
  }

  /** Call it before a write. The returned function receives the outcome. null: the record is not in the sample. */
  writing(type: 'insert' | 'update', key: string, values: Values): ((outcome: Outcome) => void) | null {
    if (type === 'insert') return this.#inserting(key, values);
    const fields = this.#fields.get(key) ?? this.#touch(key);
    if (fields === null) return null;
    const writes = Object.entries(values).map(([field, value]) => {
      const possible = fields.get(field) ?? PossibleValues.unknown<string>();
      fields.set(field, possible);
      return possible.writing(value);
    });
    return (outcome) => {
      for (const ended of writes) ended(outcome);
    };
  }

  /**
   * Reads the watched records, a few at the same time, and compares their values. No write may be running.
   * @param read reads all fields of a record
   * @param readAll the same from all copies, for records that `read` finds damaged. null: `read` has every acknowledged
   *   write
   */
  async verify(read: ReadRecord, readAll: ReadRecord | null): Promise<Verification> {
    const found = { checked: 0, damaged: 0, stale: 0, example: null as string | null };
    await forEach(this.#fields, CHECKS_AT_ONCE, async ([key, fields]) => {
      const problemOf = async (each: ReadRecord): Promise<string | null> => {
        const { outcome, values } = await each(key);
        return outcome === 'OK' ? this.#problemOf(values(), fields) : `the read ended in ${outcome}`;
      };
      found.checked += 1;
      const problem = await problemOf(read);
      if (problem === null) return;
      const isStale = readAll !== null && (await problemOf(readAll)) === null;
      found[isStale ? 'stale' : 'damaged'] += 1;
      found.example ??= `${key}: ${problem}${isStale ? ', and is right when all copies are read' : ''}`;
    });
    return found;
  }

  /** Starts to watch a record. null: enough records are watched. */
  #touch(key: string): Map<string, PossibleValues<string>> | null {
    if (this.#touched >= this.#mostTouched) return null;
    this.#touched += 1;
    const fields = new Map<string, PossibleValues<string>>();
    this.#fields.set(key, fields);
    return fields;
  }

  #inserting(key: string, values: Values): ((outcome: Outcome) => void) | null {
    const most = Math.max(SAMPLE, this.#mostTouched);
    if (this.#inserted.size >= most) return null;
    return (outcome) => {
      if (outcome !== 'OK' || this.#inserted.size >= most) return;
      this.#inserted.add(key);
      this.#fields.set(key, possibleOf(values));
    };
  }

  #problemOf(found: Values, fields: ReadonlyMap<string, PossibleValues<string>>): string | null {
    for (const [field, possible] of fields) {
      if (possible.has(found[field]!)) continue;
      return `${field} has a value that no write could have left`;
    }
    return null;
  }
}

function possibleOf(values: Values): Map<string, PossibleValues<string>> {
  return new Map(Object.entries(values).map(([field, value]) => [field, new PossibleValues(value)]));
}

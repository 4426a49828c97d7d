import type { Reading } from '@tidegauge/readings';
import { type RangeQuery, type Store, StoreError, type WriteResult } from '@tidegauge/storage';
import type { Random } from '@tidegauge/workload';
import type { VirtualTime } from './virtual-time.ts';

/** Values of readings that the store never accepts. */
export const REJECTED = -1;
/** Values of readings on which the store fails, without naming them. */
export const BROKEN = -2;

export interface StoreOptions {
  readonly writers: number;
  readonly maxBatch: number;
  /** A batch is stored whole or not at all. */
  readonly isAtomic: boolean;
  /** Whether it names the rows that it rejects. */
  readonly namesRows: boolean;
}

/** A call that the store has received and not answered. */
interface Call {
  readonly apply: () => unknown;
}

/** The usual longest time of a call, milliseconds. */
const CALL_MS = 15;
/** A slow call takes up to this factor of it. */
const SLOW = 200;

/**
 * A store that follows the contract. It has no defects and loses nothing; it can be unavailable or slow, and give no answer for a
 * call, whether it applied it or not. A batch that it rejects can be stored in part.
 */
export class ModelStore {
  /** By identity: device, metric and time. */
  readonly rows = new Map<string, Reading>();
  /** All numbers that it ever stored, by device and boot. A correction replaces a row, and not its number here. */
  readonly accepted = new Map<string, Set<number>>();
  isUnavailable = false;
  isSlow = false;
  /** The share of calls without an answer. */
  unknown = 0;
  /** The process has been killed: its further calls do not arrive. */
  isFrozen = false;
  readonly #options: StoreOptions;
  readonly #time: VirtualTime;
  readonly #random: Random;
  readonly #calls = new Set<Call>();

  constructor(options: StoreOptions, time: VirtualTime, random: Random) {
    this.#options = options;
    this.#time = time;
    this.#random = random;
  }

  /** What ingest uses of a store. */
  get store(): Store {
    const { writers, maxBatch, isAtomic } = this.#options;
    const readings = {
      write: (batch: readonly Reading[]) => this.#call(`write ${batch.length}`, () => this.#write(batch)),
      range: (query: RangeQuery) => this.#range(query),
      pages: (query: RangeQuery) => this.#pages(query),
      metrics: (device: string) => this.#call('metrics', () => this.#namesOf('metric', device)),
      devices: (after = '') => this.#devices(after),
    };
    const nothing = () => this.#call('other', () => undefined);
    const capabilities = { writers, maxBatch, atomicBatches: isAtomic, countsDuplicates: true };
    return {
      name: 'model',
      capabilities,
      readings,
      devices: { register: nothing, list: () => this.#call('list', () => []) },
      health: nothing,
    } as unknown as Store;
  }

  /** The process has ended: the store finishes some of the calls that it received. */
  endProcess(): void {
    for (const { apply } of this.#calls) if (this.#random.below(2) === 0) attempt(apply);
    this.#calls.clear();
    this.isFrozen = false;
  }

  #call<T>(what: string, apply: () => T): Promise<T> {
    if (this.isFrozen) return new Promise(() => {});
    const call = { apply };
    this.#calls.add(call);
    const ms = this.#random.double() * CALL_MS * (this.isSlow ? 1 + this.#random.below(SLOW) : 1);
    return new Promise((resolve, reject) => {
      this.#time.after(ms, 'process', `store ${what}`, () => {
        this.#calls.delete(call);
        try {
          resolve(this.#answer(apply));
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  #answer<T>(apply: () => T): T {
    if (this.isUnavailable) throw new StoreError('UNAVAILABLE', 'the model is unavailable');
    if (this.#random.double() >= this.unknown) return apply();
    if (this.#random.below(2) === 0) attempt(apply);
    throw new StoreError('TIMEOUT', 'the model gives no answer');
  }

  #write(batch: readonly Reading[]): WriteResult {
    const refused = [...batch.keys()].filter((index) => batch[index]!.value === REJECTED);
    const isBroken = batch.some(({ value }) => value === BROKEN);
    if (refused.length === 0 && !isBroken) return this.#store(batch);
    if (!this.#options.isAtomic) this.#storePart(batch);
    if (isBroken) throw new StoreError('UNEXPECTED', 'the model fails');
    const named = this.#options.namesRows ? { rows: refused } : {};
    throw new StoreError('REJECTED', 'the model rejects rows', named);
  }

  #storePart(batch: readonly Reading[]): void {
    const valid = batch.filter(({ value }) => value !== REJECTED && value !== BROKEN);
    this.#store(valid.slice(0, this.#random.below(valid.length + 1)));
  }

  #store(batch: readonly Reading[]): WriteResult {
    let duplicate = 0;
    for (const reading of batch) {
      const identity = identityOf(reading);
      if (this.rows.get(identity)?.value === reading.value) duplicate++;
      this.rows.set(identity, reading);
      const { device, boot, seq } = reading;
      if (boot !== null && seq !== null) numbersIn(this.accepted, device, boot).add(seq);
    }
    return { stored: batch.length - duplicate, duplicate };
  }

  async *#range(query: RangeQuery): AsyncGenerator<Reading> {
    for await (const page of this.#pages(query)) yield* page;
  }

  async *#pages(query: RangeQuery): AsyncGenerator<readonly Reading[]> {
    const { device, metric, from = 0, to, order, limit, after } = query;
    const end = to ?? Number.POSITIVE_INFINITY;
    const sign = order === 'asc' ? 1 : -1;
    const find = () =>
      [...this.rows.values()]
        .filter((row) => row.device === device && (metric === undefined || row.metric === metric))
        .filter(({ time }) => time >= from && time < end && (after === undefined || time > after.time))
        .toSorted((a, b) => sign * (a.time - b.time))
        .slice(0, limit);
    yield await this.#call('range', find);
  }

  async *#devices(after: string): AsyncGenerator<string> {
    const all = await this.#call('devices', () => this.#namesOf('device'));
    yield* all.filter((name) => name > after);
  }

  /** The names of one kind in all rows, or in those of a device. */
  #namesOf(kind: 'device' | 'metric', device?: string): string[] {
    const rows = [...this.rows.values()].filter((row) => device === undefined || row.device === device);
    return [...new Set(rows.map((row) => row[kind]))].toSorted();
  }
}

export function identityOf({ device, metric, time }: Pick<Reading, 'device' | 'metric' | 'time'>): string {
  return `${device} ${metric} ${time}`;
}

/** The set of a device and boot, which is created if it does not exist. */
export function numbersIn(sets: Map<string, Set<number>>, device: string, boot: string): Set<number> {
  const key = `${device} ${boot}`;
  const known = sets.get(key) ?? new Set();
  sets.set(key, known);
  return known;
}

/** Applies a call whose outcome nobody receives. */
function attempt(apply: () => unknown): void {
  try {
    apply();
  } catch {
    // The caller would have received the error.
  }
}

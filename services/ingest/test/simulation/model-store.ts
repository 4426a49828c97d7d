import type { Reading } from '@tidegauge/readings';
import {
  type Backend,
  type BackendRecords,
  capabilities,
  compareText,
  type DeleteQuery,
  type OpenOptions,
  PERIOD_US,
  type RangeQuery,
  type RecordFields,
  type Store,
  StoreError,
  storeOf,
  type WriteEffort,
  type WriteResult,
} from '@tidegauge/storage';
import type { Random } from '@tidegauge/workload';
import { changedStore } from './changed-store.ts';
import type { Owner, VirtualTime } from './virtual-time.ts';

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
  readonly hasRollups: boolean;
}

/** A call that the store has received and not answered. */
interface Call {
  readonly apply: () => unknown;
  readonly owner: Owner;
}

/** The usual longest time until a call has its effect, and then until its answer, milliseconds. */
const CALL_MS = 8;
/** A slow call takes up to this factor of it. */
const SLOW = 200;

/**
 * An engine with the core of the contract. All else is derived from it, as for an engine without native versions. It has no
 * defects and loses nothing; it can be unavailable or slow, and give no answer for a call, whether it applied it or not. A batch
 * that it rejects can be stored in part.
 */
export class ModelStore {
  /** For people. */
  readonly name: string;
  /** The readings of sensors by identity: device, metric and time. */
  readonly rows = new Map<string, Reading>();
  /** All numbers that it ever stored, by device and boot. A correction replaces a row, and not its number here. */
  readonly accepted = new Map<string, Set<number>>();
  /** Readings that were deleted, by identity. */
  readonly deleted = new Map<string, Reading>();
  /** When a reading of an hour was written last, microseconds since the epoch, by device and begin of the hour. */
  readonly written = new Map<string, number>();
  /** Deletions for the limit: of all that is older than a time, and when they began, microseconds since the epoch. */
  readonly expiries: { readonly before: number; readonly at: number }[] = [];
  /** A deletion for the limit of its size that was not needed. */
  mistake: string | null = null;
  isUnavailable = false;
  isSlow = false;
  /** The share of calls without an answer. */
  unknown = 0;
  /** Processes that have been killed: their further calls do not arrive. */
  readonly frozen = new Set<Owner>();
  readonly #options: StoreOptions;
  readonly #time: VirtualTime;
  readonly #random: Random;
  readonly #mostRows: number | null;
  readonly #calls = new Set<Call>();
  /** The readings in which derived parts keep their data. */
  readonly #derived = new Map<string, Reading>();
  /** By table and key. */
  readonly #records = new Map<string, RecordFields>();
  /** The end of the last deletion. */
  #deletedTo: number | undefined;
  /** Calls have their effect and their answer at once. */
  #isInstant = false;

  /** @param mostRows the limit of its size, in readings, for which readings are deleted; null: there is none */
  constructor(
    name: string,
    options: StoreOptions,
    time: VirtualTime,
    random: Random,
    mostRows: number | null = null,
  ) {
    this.name = name;
    this.#options = options;
    this.#time = time;
    this.#random = random;
    this.#mostRows = mostRows;
  }

  /** A store for one process. It is not open yet. */
  create(options?: OpenOptions, change = (engine: Backend): Backend => engine): Store {
    const store = storeOf(change(this.#engine()), options);
    // Without a limit nobody needs them, and each access to a changed store takes time.
    if (this.#mostRows === null) return store;
    const expire: Store['readings']['expire'] = (before, pace) => {
      this.expiries.push({ before, at: this.#time.wall * 1000 });
      return store.readings.expire(before, pace);
    };
    return changedStore(store, { readings: { ...store.readings, expire } });
  }

  /** Does work with a store that always answers, while no time passes. */
  async atOnce<T>(work: (store: Store) => Promise<T>): Promise<T> {
    this.#isInstant = true;
    try {
      const store = this.create();
      await store.open();
      return await work(store);
    } finally {
      this.#isInstant = false;
    }
  }

  #engine(): Backend {
    const { writers, maxBatch, isAtomic, hasRollups } = this.#options;
    const nothing = () => this.#call('other', () => undefined);
    const put = (isThere: boolean) => (table: string, key: string, fields: RecordFields) =>
      this.#call('record', () => this.#put(`${table} ${key}`, fields, isThere));
    return {
      name: 'model',
      capabilities: capabilities({
        ...{
          writers,
          maxBatch,
          atomicBatches: isAtomic,
          countsDuplicates: true,
          namesDuplicates: isAtomic,
          rollups: hasRollups,
        },
      }),
      readings: {
        write: (batch, effort) => this.#call(`write ${batch.length}`, () => this.#write(batch, effort)),
        range: (query) => this.#range(query),
        metrics: (device, limit) =>
          this.#call('metrics', () => this.#namesOf('metric', device).slice(0, limit)),
        devices: (after) => this.#devices(after),
        delete: (query) => this.#call('delete', () => this.#delete(query)),
      },
      // What ingest uses of records.
      records: {
        inspect: () => this.#call('inspect', () => 'own'),
        read: (table: string, key: string) =>
          this.#call('read', () => this.#records.get(`${table} ${key}`) ?? null),
        insert: put(false),
        update: put(true),
      } as unknown as BackendRecords,
      ...{ open: nothing, migrate: nothing, health: nothing },
      space: () => this.#call('space', () => ({ used: this.rows.size, spare: 0, shrinks: true, path: '/' })),
    };
  }

  /** A process has ended: the store finishes some of the calls that it received. */
  endProcess(ended: Owner): void {
    for (const call of this.#calls) {
      if (call.owner !== ended) continue;
      if (this.#random.below(2) === 0) attempt(call.apply);
      this.#calls.delete(call);
    }
    this.frozen.delete(ended);
  }

  #call<T>(what: string, apply: () => T): Promise<T> {
    if (this.#isInstant) return Promise.resolve(apply());
    const { owner } = this.#time;
    if (this.frozen.has(owner)) return new Promise(() => {});
    const call = { apply, owner };
    this.#calls.add(call);
    return new Promise((resolve, reject) => {
      // Between its effect and its answer, other calls can have theirs.
      const answer = (run: () => void) => this.#later(owner, 'answer', run);
      this.#later(owner, `store ${what}`, () => {
        this.#calls.delete(call);
        try {
          const result = this.#answer(apply);
          answer(() => resolve(result));
        } catch (error) {
          answer(() => reject(error));
        }
      });
    });
  }

  /** The readings of a device, and of those like it. */
  #rowsLike(device: string): Map<string, Reading> {
    // The names of sensors have no space.
    return device.includes(' ') ? this.#derived : this.rows;
  }

  #later(owner: Owner, what: string, run: () => void): void {
    const ms = this.#random.double() * CALL_MS * (this.isSlow ? 1 + this.#random.below(SLOW) : 1);
    this.#time.after(ms, owner, what, run);
  }

  #answer<T>(apply: () => T): T {
    if (this.isUnavailable) throw new StoreError('UNAVAILABLE', 'the model is unavailable');
    if (this.#random.double() >= this.unknown) return apply();
    if (this.#random.below(2) === 0) attempt(apply);
    throw new StoreError('TIMEOUT', 'the model gives no answer');
  }

  #write(batch: readonly Reading[], effort?: WriteEffort): WriteResult {
    const refused = [...batch.keys()].filter((index) => batch[index]!.value === REJECTED);
    const isBroken = batch.some(({ value }) => value === BROKEN);
    if (refused.length === 0 && !isBroken) return this.#store(batch, effort);
    if (!this.#options.isAtomic) this.#storePart(batch);
    if (isBroken) throw new StoreError('UNEXPECTED', 'the model fails');
    const named = this.#options.namesRows ? { rows: refused } : {};
    throw new StoreError('REJECTED', 'the model rejects rows', named);
  }

  #storePart(batch: readonly Reading[]): void {
    const valid = batch.filter(({ value }) => value !== REJECTED && value !== BROKEN);
    this.#store(valid.slice(0, this.#random.below(valid.length + 1)));
  }

  #store(batch: readonly Reading[], effort?: WriteEffort): WriteResult {
    let duplicate = 0;
    for (const [place, reading] of batch.entries()) {
      const rows = this.#rowsLike(reading.device);
      const identity = identityOf(reading);
      if (rows.get(identity)?.value === reading.value) {
        duplicate++;
        effort?.duplicates?.push(place);
      }
      rows.set(identity, reading);
      this.written.set(`${reading.device} ${hourOf(reading)}`, this.#time.wall * 1000);
      const { device, boot, seq } = reading;
      if (boot !== null && seq !== null) numbersIn(this.accepted, device, boot).add(seq);
    }
    return { stored: batch.length - duplicate, duplicate };
  }

  async *#range(query: RangeQuery): AsyncGenerator<Reading> {
    yield* await this.#call('range', () => this.#find(query));
  }

  #find({ device, metric, from = 0, to, order, limit, after }: RangeQuery): Reading[] {
    const end = to ?? Number.POSITIVE_INFINITY;
    const sign = order === 'asc' ? 1 : -1;
    type Place = Pick<Reading, 'time' | 'metric'>;
    const compare = (a: Place, b: Place) => sign * (a.time - b.time || compareText(a.metric, b.metric));
    return [...this.#rowsLike(device).values()]
      .filter((row) => row.device === device && (metric === undefined || row.metric === metric))
      .filter((row) => row.time >= from && row.time < end && (after === undefined || compare(row, after) > 0))
      .toSorted(compare)
      .slice(0, limit);
  }

  #delete({ device, ...query }: DeleteQuery): number {
    const found = this.#find({ device, ...query, limit: Number.MAX_SAFE_INTEGER });
    const rows = this.#rowsLike(device);
    if (rows === this.rows) this.#judgeDeletion(query.to);
    for (const row of found) {
      rows.delete(identityOf(row));
      if (rows === this.rows) this.deleted.set(identityOf(row), row);
    }
    return found.length;
  }

  /** What is deleted up to one time is deleted in several calls. Before the first one, the store must have been too large. */
  #judgeDeletion(to: number | undefined): void {
    if (this.#mostRows === null || to === this.#deletedTo) return;
    this.#deletedTo = to;
    if (this.rows.size <= this.#mostRows) this.mistake ??= `of ${this.rows.size} readings, some are deleted`;
  }

  async *#devices(after = ''): AsyncGenerator<string> {
    const all = await this.#call('devices', () => this.#namesOf('device'));
    yield* all.filter((name) => name > after);
  }

  /** Changes a record that exists, or adds one that does not. Returns false otherwise. */
  #put(key: string, fields: RecordFields, isThere: boolean): boolean {
    const known = this.#records.get(key);
    if ((known !== undefined) !== isThere) return false;
    this.#records.set(key, { ...known, ...fields });
    return true;
  }

  /** The names of one kind in all rows, or in those of a device. */
  #namesOf(kind: 'device' | 'metric', device?: string): string[] {
    const all = [...this.rows.values(), ...this.#derived.values()];
    const rows = all.filter((row) => device === undefined || row.device === device);
    return [...new Set(rows.map((row) => row[kind]))].toSorted(compareText);
  }
}

export function identityOf({ device, metric, time }: Pick<Reading, 'device' | 'metric' | 'time'>): string {
  return `${device} ${metric} ${time}`;
}

/** The begin of the hour of a reading, microseconds since the epoch. */
export function hourOf({ time }: Pick<Reading, 'time'>): number {
  return time - (time % PERIOD_US.hour);
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

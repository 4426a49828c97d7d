import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Reading } from '@tidegauge/readings';
import * as check from './arguments.ts';
import type { BackendLogger } from './context.ts';
import type {
  Capabilities,
  DeviceStore,
  RangeQuery,
  ReadingStore,
  RecordStore,
  Store,
  WriteResult,
} from './contract.ts';
import { StoreError, type StoreErrorCode } from './errors.ts';
import { compareText } from './merge.ts';

/** Every call a store reports, for metrics that want their labels from the start. */
export const STORE_OPERATIONS = [
  'open',
  'migrate',
  'health',
  'readings.write',
  'readings.range',
  'readings.latest',
  'readings.aggregate',
  'readings.expire',
  'devices.get',
  'devices.put',
  'devices.register',
  'devices.patch',
  'devices.patchWhere',
  'devices.delete',
  'devices.list',
  'records.createTable',
  'records.dropTable',
  'records.read',
  'records.insert',
  'records.update',
  'records.delete',
  'records.scan',
] as const;

export type StoreOperation = (typeof STORE_OPERATIONS)[number];

/**
 * Told about every call that reached the backend, when it ended; a range ends with its iteration and counts
 * only the time the backend took.
 */
export type Observe = (operation: StoreOperation, seconds: number, error: StoreErrorCode | null) => void;

export interface WrapOptions {
  readonly logger: BackendLogger;
  readonly observe: Observe;
}

/**
 * What all backends share: arguments checked once, CLOSED outside of open and close, batches split at
 * `maxBatch`, close that waits for calls under way, every call observed, nothing thrown but StoreErrors
 * (and TypeErrors for the caller's mistakes).
 */
export function wrapStore(inner: Store, options: WrapOptions): Store {
  return new WrappedStore(inner, options);
}

class WrappedStore implements Store {
  readonly name: string;
  readonly capabilities: Capabilities;
  readonly readings: ReadingStore;
  readonly devices: DeviceStore;
  readonly records: RecordStore;
  readonly #inner: Store;
  readonly #gate: Gate;
  #opened = false;
  #closing: Promise<void> | null = null;

  constructor(inner: Store, options: WrapOptions) {
    this.#inner = inner;
    this.#gate = new Gate(inner.name, options);
    this.name = inner.name;
    this.capabilities = inner.capabilities;
    this.readings = wrapReadings(inner.readings, inner.capabilities.maxBatch, this.#gate);
    this.devices = wrapDevices(inner.devices, this.#gate);
    this.records = wrapRecords(inner.records, this.#gate);
  }

  async open(): Promise<void> {
    if (this.#opened || this.#closing !== null) throw new StoreError('CLOSED', 'a store is opened once');
    this.#opened = true;
    await this.#gate.observed('open', () => this.#gate.counted(() => this.#inner.open()));
    this.#gate.isOpen = this.#closing === null;
  }

  migrate(): Promise<void> {
    return this.#gate.pass('migrate', () => this.#inner.migrate());
  }

  health(): Promise<void> {
    return this.#gate.pass('health', () => this.#inner.health());
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#gate.isOpen = false;
    await this.#gate.idle();
    if (this.#opened) await this.#inner.close();
  }
}

/** Lets calls through while the store is open, counts and times them. */
class Gate {
  isOpen = false;
  readonly #name: string;
  readonly #options: WrapOptions;
  #underWay = 0;
  #wake: (() => void) | null = null;

  constructor(name: string, options: WrapOptions) {
    this.#name = name;
    this.#options = options;
  }

  pass<T>(operation: StoreOperation, call: () => Promise<T>): Promise<T> {
    return this.observed(operation, () => this.#enter(call));
  }

  async observed<T>(operation: StoreOperation, call: () => Promise<T>): Promise<T> {
    const started = performance.now();
    let code: StoreErrorCode | null = null;
    try {
      return await call();
    } catch (error) {
      const known = this.#known(operation, error);
      code = known.code;
      throw known;
    } finally {
      this.#options.observe(operation, (performance.now() - started) / 1000, code);
    }
  }

  /** An iteration as one observed operation of many calls: between them nothing is under way. */
  async *stream<T>(operation: StoreOperation, items: () => AsyncIterable<T>): AsyncGenerator<T> {
    let seconds = 0;
    let code: StoreErrorCode | null = null;
    let iterator: AsyncIterator<T> | null = null;
    let done = false;
    const step = async () => {
      const started = performance.now();
      try {
        iterator ??= items()[Symbol.asyncIterator]();
        return await iterator.next();
      } finally {
        seconds += (performance.now() - started) / 1000;
      }
    };
    try {
      for (;;) {
        const result = await this.#enter(step);
        done = result.done === true;
        if (result.done) return;
        yield result.value;
      }
    } catch (error) {
      done = true;
      const known = this.#known(operation, error);
      code = known.code;
      throw known;
    } finally {
      if (!done) await (iterator as AsyncIterator<T> | null)?.return?.();
      this.#options.observe(operation, seconds, code);
    }
  }

  async #enter<T>(call: () => Promise<T>): Promise<T> {
    if (!this.isOpen) throw new StoreError('CLOSED', `the ${this.#name} store is not open`);
    return this.counted(call);
  }

  async counted<T>(call: () => Promise<T>): Promise<T> {
    this.#underWay += 1;
    try {
      return await call();
    } finally {
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#wake?.();
    }
  }

  idle(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** A backend's own mistake must not lose data: callers retry what is UNAVAILABLE. */
  #known(operation: StoreOperation, error: unknown): StoreError {
    if (error instanceof StoreError) return error;
    this.#options.logger.error(
      { err: error, backend: this.#name, operation },
      'unexpected error in a store backend',
    );
    return new StoreError('UNAVAILABLE', `${this.#name} ${operation}: unexpected: ${error}`, {
      cause: error,
    });
  }
}

function wrapReadings(inner: ReadingStore, maxBatch: number, gate: Gate): ReadingStore {
  return {
    async write(batch) {
      check.checkBatch(batch);
      if (batch.length === 0) return { stored: 0, duplicate: 0 };
      return gate.pass('readings.write', () =>
        batch.length <= maxBatch ? inner.write(batch) : writeInPieces(inner, batch, maxBatch),
      );
    },
    async *range(query: RangeQuery) {
      check.checkRange(query);
      yield* gate.stream('readings.range', () => inner.range(query));
    },
    async latest(devices) {
      check.checkDevices(devices);
      if (devices.length === 0) return [];
      return gate.pass('readings.latest', () => inner.latest([...new Set(devices)].sort(compareText)));
    },
    async aggregate(query) {
      check.checkAggregate(query);
      return gate.pass('readings.aggregate', () => inner.aggregate(query));
    },
    async expire(before) {
      check.checkTime(before);
      return gate.pass('readings.expire', () => inner.expire(before));
    },
  };
}

/**
 * In order, one after the other, so that the last of equal identities still wins; with turns of the event loop
 * in between, for an embedded engine works in this thread.
 */
async function writeInPieces(
  inner: ReadingStore,
  batch: readonly Reading[],
  size: number,
): Promise<WriteResult> {
  let stored = 0;
  let duplicate = 0;
  for (let start = 0; start < batch.length; start += size) {
    if (start > 0) await nextTurn();
    try {
      const result = await inner.write(batch.slice(start, start + size));
      stored += result.stored;
      duplicate += result.duplicate;
    } catch (error) {
      if (!(error instanceof StoreError) || error.rows === null) throw error;
      const rows = error.rows.map((row) => row + start);
      throw new StoreError(error.code, error.message, { cause: error, rows });
    }
  }
  return { stored, duplicate };
}

function wrapDevices(inner: DeviceStore, gate: Gate): DeviceStore {
  return {
    async get(name) {
      check.checkDevices([name]);
      return gate.pass('devices.get', () => inner.get(name));
    },
    async put(device) {
      check.checkDevice(device);
      return gate.pass('devices.put', () => inner.put(device));
    },
    async register(names) {
      check.checkRegistration(names);
      if (names.length === 0) return;
      await gate.pass('devices.register', () => inner.register(names));
    },
    async patch(name, patch) {
      check.checkDevices([name]);
      check.checkPatch(patch);
      return gate.pass('devices.patch', () => inner.patch(name, patch));
    },
    async patchWhere(filter, patch) {
      check.checkFilter(filter);
      check.checkPatch(patch);
      return gate.pass('devices.patchWhere', () => inner.patchWhere(filter, patch));
    },
    async delete(name) {
      check.checkDevices([name]);
      return gate.pass('devices.delete', () => inner.delete(name));
    },
    async list(query) {
      check.checkDeviceQuery(query);
      return gate.pass('devices.list', () => inner.list(query));
    },
  };
}

function wrapRecords(inner: RecordStore, gate: Gate): RecordStore {
  return {
    async createTable(table, fieldCount) {
      check.checkTable(table);
      check.checkFieldCount(fieldCount);
      await gate.pass('records.createTable', () => inner.createTable(table, fieldCount));
    },
    async dropTable(table) {
      check.checkTable(table);
      await gate.pass('records.dropTable', () => inner.dropTable(table));
    },
    async read(table, key, fields) {
      check.checkTable(table);
      check.checkKey(key);
      if (fields !== null) check.checkFieldNames(fields);
      return gate.pass('records.read', () => inner.read(table, key, fields));
    },
    async insert(table, key, fields) {
      check.checkTable(table);
      check.checkKey(key);
      check.checkFields(fields);
      return gate.pass('records.insert', () => inner.insert(table, key, fields));
    },
    async update(table, key, fields) {
      check.checkTable(table);
      check.checkKey(key);
      check.checkFields(fields);
      return gate.pass('records.update', () => inner.update(table, key, fields));
    },
    async delete(table, key) {
      check.checkTable(table);
      check.checkKey(key);
      return gate.pass('records.delete', () => inner.delete(table, key));
    },
    async scan(table, start, count, fields) {
      check.checkTable(table);
      check.checkScan(start, count, fields);
      return gate.pass('records.scan', () => inner.scan(table, start, count, fields));
    },
  };
}

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Reading } from '@tidegauge/readings';
import * as check from './arguments.ts';
import type { CompleteBackend, CompleteReadings } from './backend.ts';
import type { BackendLogger } from './context.ts';
import type {
  Capabilities,
  DeviceStore,
  RangeQuery,
  ReadingStore,
  RecordStore,
  RollupStore,
  Store,
  StoreSpace,
  WriteResult,
} from './contract.ts';
import { StoreError, type StoreErrorCode } from './errors.ts';
import { toRowQuery } from './groups.ts';
import { compareText } from './merge.ts';
import { sortRecords } from './record-batch.ts';
import { Rollups } from './rollups/rollups.ts';
import { SeriesBound } from './series-bound.ts';
import { type CompleteRecords, demandRecords, TableGuard } from './tables.ts';

/** All operations that a store reports. Metrics create their labels from this list at the start. */
export const STORE_OPERATIONS = [
  'open',
  'migrate',
  'health',
  'lease',
  'identity',
  'identify',
  'compact',
  'space',
  'readings.write',
  'readings.range',
  'readings.latest',
  'readings.metrics',
  'readings.devices',
  'readings.setUnits',
  'readings.units',
  'readings.aggregate',
  'readings.groups',
  'readings.rangeOfDevices',
  'readings.rollUp',
  'readings.expire',
  'readings.delete',
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
  'records.insertMany',
  'records.update',
  'records.delete',
  'records.scan',
  'rollups.work',
  'rollups.read',
  'rollups.status',
  'rollups.limitRaw',
  'rollups.expire',
] as const;

export type StoreOperation = (typeof STORE_OPERATIONS)[number];

/**
 * Called at the end of every call that reached the backend. A range ends with its iteration, and its time excludes
 * the time of the consumer.
 */
export type Observe = (operation: StoreOperation, seconds: number, error: StoreErrorCode | null) => void;

/** Decides for a process which calls its store receives, except those that open, migrate and identify it. */
export interface StoreGuard {
  /** Null: the call begins. Otherwise the call begins when the promise resolves, and fails when it rejects. */
  admit(): Promise<void> | null;
  /** Called for each call that failed. Returns the error that the caller receives. */
  failed(error: StoreError): StoreError;
}

export interface WrapOptions {
  readonly logger: BackendLogger;
  readonly observe: Observe;
  readonly guard?: StoreGuard;
  /** Removes the secrets of the URL from a message of a driver. Default: the message stays as it is. */
  readonly redact?: (text: string) => string;
  /** The time in microseconds. Default: the clock of the computer. */
  readonly clock?: () => number;
}

/** Codes of errors whose text comes from the driver or the network, not from the caller's data. */
const FROM_THE_DRIVER: ReadonlySet<StoreErrorCode> = new Set([
  'UNAVAILABLE',
  'UNEXPECTED',
  'MISCONFIGURED',
  'TIMEOUT',
]);

/**
 * The common part of all backends. It checks arguments once, rejects calls with CLOSED before open and after
 * close, splits batches at `maxBatch`, lets close wait for running calls, observes every call, and throws only
 * StoreErrors (and TypeErrors for wrong arguments).
 */
export function wrapStore(inner: CompleteBackend, options: WrapOptions): Store {
  return new WrappedStore(inner, options);
}

class WrappedStore implements Store {
  readonly name: string;
  readonly capabilities: Capabilities;
  readonly readings: ReadingStore;
  readonly devices: DeviceStore;
  readonly records: RecordStore;
  readonly rollups: RollupStore;
  readonly #inner: CompleteBackend;
  readonly #gate: Gate;
  #opened = false;
  #closing: Promise<void> | null = null;

  constructor(inner: CompleteBackend, options: WrapOptions) {
    this.#inner = inner;
    this.#gate = new Gate(inner.name, options);
    this.name = inner.name;
    this.capabilities = inner.capabilities;
    const rollups =
      inner.rollups === undefined
        ? null
        : new Rollups(inner.rollups, inner, options.clock ?? (() => Date.now() * 1000));
    this.readings = wrapReadings(inner.readings, rollups, inner.capabilities.maxBatch, this.#gate);
    this.rollups = wrapRollups(rollups, this.#gate);
    this.devices = wrapDevices(inner.devices, this.#gate);
    this.records = wrapRecords(inner.records, inner.capabilities.insertIsUpsert, this.#gate);
  }

  async open(): Promise<void> {
    if (this.#opened || this.#closing !== null)
      throw new StoreError('CLOSED', 'a store can be opened only once');
    this.#opened = true;
    await this.#gate.observed('open', () => this.#gate.counted(() => this.#inner.open()));
    this.#gate.isOpen = this.#closing === null;
  }

  migrate(): Promise<void> {
    return this.#gate.unguarded('migrate', () => this.#inner.migrate());
  }

  identity(): Promise<string | null> {
    return this.#gate.unguarded('identity', () => this.#readIdentity());
  }

  async identify(identity: string): Promise<string | null> {
    check.checkIdentity(identity);
    return this.#gate.unguarded('identify', async () => {
      await this.#inner.rollups?.ensureState(IDENTITY_STATE, identity);
      return this.#readIdentity();
    });
  }

  async #readIdentity(): Promise<string | null> {
    return (await this.#inner.rollups?.getState(IDENTITY_STATE)) ?? null;
  }

  health(): Promise<void> {
    return this.#gate.pass('health', () => this.#inner.health());
  }

  async lease(name: string, holder: string, ms: number): Promise<boolean> {
    check.checkLease(name, holder, ms);
    return this.#gate.pass('lease', () => this.#inner.lease(name, holder, ms));
  }

  compact(): Promise<boolean> {
    return this.#gate.pass('compact', () => this.#inner.compact());
  }

  space(): Promise<StoreSpace | null> {
    return this.#gate.pass('space', () => this.#inner.space());
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

/** The name of the state with the identity of the data. */
const IDENTITY_STATE = 'identity';
const LOG_EVERY_MS = 5000;

/** Counts and times calls. Rejects them with CLOSED unless the store is open. */
class Gate {
  isOpen = false;
  readonly #name: string;
  readonly #options: WrapOptions;
  #underWay = 0;
  /** When an UNEXPECTED error was last logged. */
  #logged = Number.NEGATIVE_INFINITY;
  #wake: (() => void) | null = null;

  constructor(name: string, options: WrapOptions) {
    this.#name = name;
    this.#options = options;
  }

  /** One function for the whole way of a call, because each further one costs a promise. */
  async pass<T>(operation: StoreOperation, call: () => Promise<T>): Promise<T> {
    const started = performance.now();
    let code: StoreErrorCode | null = null;
    try {
      const waits = this.#options.guard?.admit() ?? null;
      if (waits !== null) await waits;
      this.demandOpen();
      this.#underWay += 1;
      try {
        return await call();
      } finally {
        this.#leave();
      }
    } catch (error) {
      const known = this.#guarded(this.#known(operation, error));
      code = known.code;
      throw known;
    } finally {
      this.#options.observe(operation, (performance.now() - started) / 1000, code);
    }
  }

  /** A call that the guard makes itself. */
  unguarded<T>(operation: StoreOperation, call: () => Promise<T>): Promise<T> {
    return this.observed(operation, async () => {
      this.demandOpen();
      return await this.counted(call);
    });
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

  /** Observes an iteration as one operation of many calls. Between these calls, nothing is running. */
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
      const waits = this.#options.guard?.admit() ?? null;
      if (waits !== null) await waits;
      for (;;) {
        this.demandOpen();
        const result = await this.counted(step);
        done = result.done === true;
        if (result.done) return;
        yield result.value;
      }
    } catch (error) {
      done = true;
      const known = this.#guarded(this.#known(operation, error));
      code = known.code;
      throw known;
    } finally {
      if (!done) await (iterator as AsyncIterator<T> | null)?.return?.();
      this.#options.observe(operation, seconds, code);
    }
  }

  async counted<T>(call: () => Promise<T>): Promise<T> {
    this.#underWay += 1;
    try {
      return await call();
    } finally {
      this.#leave();
    }
  }

  /** @throws {StoreError} CLOSED */
  demandOpen(): void {
    if (!this.isOpen) throw new StoreError('CLOSED', `the ${this.#name} store is not open`);
  }

  #leave(): void {
    this.#underWay -= 1;
    if (this.#underWay === 0) this.#wake?.();
  }

  idle(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #masked(error: StoreError): StoreError {
    if (FROM_THE_DRIVER.has(error.code))
      error.message = this.#options.redact?.(error.message) ?? error.message;
    return error;
  }

  #guarded(error: StoreError): StoreError {
    return this.#options.guard?.failed(error) ?? error;
  }

  /** Callers retry after an UNEXPECTED error, so only some of these errors are logged. */
  #known(operation: StoreOperation, error: unknown): StoreError {
    const known = error instanceof StoreError ? this.#masked(error) : this.#unforeseen(operation, error);
    if (known.code === 'UNEXPECTED' && performance.now() - this.#logged >= LOG_EVERY_MS) {
      this.#logged = performance.now();
      this.#options.logger.error(
        { err: known, backend: this.#name, operation },
        'unexpected error of the store',
      );
    }
    return known;
  }

  /** An error that the backend did not map: a bug in Tidegauge or in a driver. */
  #unforeseen(operation: StoreOperation, error: unknown): StoreError {
    const text = this.#options.redact?.(String(error)) ?? String(error);
    return new StoreError('UNEXPECTED', `${this.#name} ${operation}: ${text}`, {
      cause: error,
      hint: 'report it to the authors of Tidegauge, with the log',
    });
  }
}

function wrapReadings(
  inner: CompleteReadings,
  rollups: Rollups | null,
  maxBatch: number,
  gate: Gate,
): ReadingStore {
  const series = new SeriesBound((device, limit) =>
    gate.observed('readings.metrics', () => inner.metrics(device, limit)),
  );
  async function* pages(query: RangeQuery): AsyncGenerator<readonly Reading[]> {
    check.checkRange(query);
    yield* gate.stream('readings.range', () => inner.pages?.(query) ?? singly(inner.range(query)));
  }
  return {
    async write(batch) {
      const known = check.checkBatch(batch, series.has);
      if (batch.length === 0) return { stored: 0, duplicate: 0 };
      const store = () =>
        batch.length <= maxBatch ? inner.write(batch) : writeInPieces(inner, batch, maxBatch);
      const write = () => (rollups === null ? store() : rollups.write(batch, store));
      return gate.pass('readings.write', known ? write : () => series.admit(batch).then(write));
    },
    async *range(query) {
      for await (const page of pages(query)) {
        for (const each of page) {
          gate.demandOpen();
          yield each;
        }
      }
    },
    pages,
    async latest(devices, limit = Number.MAX_SAFE_INTEGER) {
      check.checkDevices(devices);
      check.checkLimit(limit);
      if (devices.length === 0) return [];
      return await gate.pass('readings.latest', () =>
        inner.latest([...new Set(devices)].sort(compareText), limit),
      );
    },
    async metrics(device, limit) {
      check.checkDevices([device]);
      check.checkLimit(limit);
      return gate.pass('readings.metrics', () => inner.metrics(device, limit));
    },
    async *devices(after) {
      if (after !== undefined) check.checkDevices([after]);
      yield* gate.stream('readings.devices', () => inner.devices(after));
    },
    async setUnits(units) {
      check.checkUnits(units);
      if (units.length > 0) await gate.pass('readings.setUnits', () => inner.setUnits(units));
    },
    async units(series) {
      check.checkSeriesNames(series);
      if (series.length === 0) return [];
      return await gate.pass('readings.units', () => inner.units(series));
    },
    async aggregate(query) {
      check.checkAggregate(query);
      return gate.pass('readings.aggregate', async () => {
        if (rollups !== null) return rollups.aggregate(query);
        const buckets = await inner.aggregate(query);
        return { buckets, sources: ['raw'], incompleteBefore: null };
      });
    },
    async groups(query) {
      check.checkGroups(query);
      const { devices, ...all } = query;
      // A filter without fields matches every device, so it is no filter.
      const selection = devices === undefined || !check.isFilter(devices) ? all : query;
      return gate.pass('readings.groups', async () => {
        if (rollups !== null) return rollups.groups(selection);
        const rowQuery = toRowQuery(selection);
        if (rowQuery === null)
          throw new StoreError('NOT_SUPPORTED', 'the store has no rollups for such groups');
        return { ...(await inner.groups(rowQuery)), sources: ['raw'], incompleteBefore: null };
      });
    },
    async *rangeOfDevices(filter, query) {
      check.checkDevicesRange(filter, query);
      yield* gate.stream('readings.rangeOfDevices', () => inner.rangeOfDevices(filter, query));
    },
    async rollUp(from, to) {
      check.checkTime(from);
      check.checkTime(to);
      return gate.pass('readings.rollUp', () => inner.rollUp(from, to));
    },
    async expire(before, pace) {
      check.checkTime(before);
      return gate.pass('readings.expire', async () => {
        await rollups?.limitRaw(before, {});
        return inner.expire(before, pace);
      });
    },
    async delete(query, pace) {
      check.checkDelete(query);
      const remove = () => inner.delete(query, pace);
      return gate.pass('readings.delete', () =>
        rollups === null || query.keepRollups === true ? remove() : rollups.delete(query, remove),
      );
    },
  };
}

/** Pages of one reading, so that each is delivered as soon as the engine has read it. */
async function* singly(readings: AsyncIterable<Reading>): AsyncGenerator<readonly Reading[]> {
  for await (const reading of readings) yield [reading];
}

/**
 * Writes the parts one after the other, so that the last of equal identities wins. The event loop runs between the
 * parts, because an embedded engine works in this thread.
 */
async function writeInPieces(
  inner: CompleteReadings,
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

function wrapRollups(rollups: Rollups | null, gate: Gate): RollupStore {
  const demand = () => {
    if (rollups !== null) return rollups;
    throw new StoreError('NOT_SUPPORTED', 'the store keeps no rollups', {
      hint: 'check capabilities.rollups',
    });
  };
  return {
    work: () => gate.pass('rollups.work', async () => demand().work()),
    async read(query) {
      check.checkRollups(query);
      return gate.pass('rollups.read', async () => demand().read(query));
    },
    status: () => gate.pass('rollups.status', async () => demand().status()),
    async limitRaw(before, scope = {}) {
      check.checkTime(before);
      check.checkScope(scope);
      await gate.pass('rollups.limitRaw', async () => demand().limitRaw(before, scope));
    },
    async expire(period, before, scope = {}) {
      check.checkPeriod(period);
      check.checkTime(before);
      check.checkScope(scope);
      return gate.pass('rollups.expire', async () => demand().expire(period, before, scope));
    },
  };
}

function wrapRecords(inner: CompleteRecords, lastWins: boolean, gate: Gate): RecordStore {
  const tables = new TableGuard((table) => inner.inspect(table));
  return {
    async createTable(table, fieldCount) {
      check.checkTable(table);
      check.checkFieldCount(fieldCount);
      await gate.pass('records.createTable', async () => {
        const kind = await inner.inspect(table);
        if (kind === 'absent') await inner.createTable(table, fieldCount);
        else demandRecords(table, kind);
      });
    },
    async dropTable(table) {
      check.checkTable(table);
      await gate.pass('records.dropTable', async () => {
        tables.forget(table);
        await inner.dropTable(table);
      });
    },
    async read(table, key, fields) {
      check.checkTable(table);
      check.checkKey(key);
      if (fields !== null) check.checkFieldNames(fields);
      return await gate.pass('records.read', () => tables.on(table, () => inner.read(table, key, fields)));
    },
    async insert(table, key, fields) {
      check.checkTable(table);
      check.checkKey(key);
      check.checkFields(fields);
      return await gate.pass('records.insert', () =>
        tables.on(table, () => inner.insert(table, key, fields)),
      );
    },
    async insertMany(table, records) {
      check.checkTable(table);
      check.checkRecords(records);
      await gate.pass('records.insertMany', () =>
        tables.on(table, async () => {
          if (records.length > 0) await inner.insertMany(table, sortRecords(records, lastWins));
        }),
      );
    },
    async update(table, key, fields) {
      check.checkTable(table);
      check.checkKey(key);
      check.checkFields(fields);
      return await gate.pass('records.update', () =>
        tables.on(table, () => inner.update(table, key, fields)),
      );
    },
    async delete(table, key) {
      check.checkTable(table);
      check.checkKey(key);
      return gate.pass('records.delete', () => tables.on(table, () => inner.delete(table, key)));
    },
    async scan(table, start, count, fields) {
      check.checkTable(table);
      check.checkScan(start, count, fields);
      return gate.pass('records.scan', () => tables.on(table, () => inner.scan(table, start, count, fields)));
    },
  };
}

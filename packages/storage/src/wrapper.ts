import * as check from './arguments.ts';
import type { CompleteBackend } from './backend.ts';
import type {
  Capabilities,
  DeviceStore,
  ReadingStore,
  RecordStore,
  RollupStore,
  Store,
  StoreSpace,
} from './contract.ts';
import { StoreError } from './errors.ts';
import { Gate, type WrapOptions } from './gate.ts';
import { sortRecords } from './record-batch.ts';
import { Rollups } from './rollups/rollups.ts';
import { type CompleteRecords, demandRecords, TableGuard } from './tables.ts';
import { wrapReadings } from './wrapped-readings.ts';

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

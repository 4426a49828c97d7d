import { type Backend, type BackendReadings, capabilities } from '../backend.ts';
import type { BackendContext } from '../context.ts';
import type { DeviceStore } from '../contract.ts';
import { StoreError } from '../errors.ts';
import { readOptions } from '../options.ts';
import type { BackendRecords } from '../tables.ts';
import type { StoreUrl } from '../url.ts';

export const options = { null: {} };

const CAPABILITIES = capabilities({
  atomicBatches: true,
  maxBatch: 100_000,
  writers: 1,
  orderedScan: true,
  updateIsUpsert: true,
  insertIsUpsert: true,
  rollups: false,
});

function refuse(): never {
  throw new StoreError('NOT_SUPPORTED', 'the null store keeps no data to read', {
    hint: 'it exists for benchmarks: use another store to read data',
  });
}

const refuseAsync = async (): Promise<never> => refuse();

const readings: BackendReadings = {
  write: async (batch) => ({ stored: batch.length, duplicate: 0 }),
  // biome-ignore lint/correctness/useYield: it throws before the first reading.
  async *range() {
    refuse();
  },
  latest: refuseAsync,
  metrics: async () => [],
  // biome-ignore lint/correctness/useYield: it throws before the first device.
  async *devices() {
    refuse();
  },
  setUnits: async () => {},
  units: async (series) => series.map(() => null),
  aggregate: refuseAsync,
  groups: refuseAsync,
  // biome-ignore lint/correctness/useYield: it throws before the first reading.
  async *rangeOfDevices() {
    refuse();
  },
  expire: refuseAsync,
  delete: refuseAsync,
};

const devices: DeviceStore = {
  get: refuseAsync,
  put: refuseAsync,
  register: async () => {},
  patch: refuseAsync,
  patchWhere: refuseAsync,
  delete: refuseAsync,
  list: refuseAsync,
};

const records: BackendRecords = {
  inspect: async () => 'own',
  createTable: async () => {},
  dropTable: async () => {},
  read: refuseAsync,
  insert: async () => true,
  insertMany: async () => {},
  update: async () => true,
  delete: refuseAsync,
  scan: refuseAsync,
};

/**
 * `null:` discards every write and logs a warning at the start. Benchmarks use it to measure the cost of everything
 * except a store. Do not deploy it.
 */
export function create(url: StoreUrl, { logger }: BackendContext): Backend {
  readOptions(url, {});
  return {
    name: 'null',
    capabilities: CAPABILITIES,
    readings,
    devices,
    records,
    async open() {
      logger.warn({ store: 'null' }, 'the null store discards every reading: for benchmarks only');
    },
    async migrate() {},
    async health() {},
    lease: async () => true,
    space: async () => null,
    async close() {},
  };
}

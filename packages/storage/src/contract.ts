import type { Device, Reading } from '@tidegauge/readings';

/**
 * The Store contract: what ingest, the API and the benchmarks need of a database, and no more.
 *
 * Every call was fixed only after writing down how each of the seven engines answers it
 * (docs/adr/0002-store-contract.md). The rules that follow from it:
 * - A reading's series is (device, metric); its identity adds time. Nothing asks for a range over all devices.
 * - Writes are idempotent, so a caller whose outcome is unknown writes again.
 * - Nothing needs a transaction over two calls.
 * - A call that cannot be answered now rejects with a StoreError; it never drops, truncates or hangs.
 * Arguments are validated once, in `openStore`'s wrapper; a backend trusts its input.
 */
export interface Store {
  /** The engine's word, one everywhere: URL scheme, metric label, test target. */
  readonly name: string;
  /** The same frozen object before and after `open`. */
  readonly capabilities: Capabilities;
  readonly readings: ReadingStore;
  readonly devices: DeviceStore;
  readonly records: RecordStore;
  /** First I/O: connects, and rejects within the connect timeout, naming the host. Called once. */
  open(): Promise<void>;
  /** Creates or upgrades the schema; safe when several processes do it at the same moment. */
  migrate(): Promise<void>;
  /** Resolves when a write would be accepted now; called every few seconds by readiness probes. */
  health(): Promise<void>;
  /** Waits for calls under way, then lets go of everything. Twice is fine. */
  close(): Promise<void>;
}

/** What differs between engines, as data: callers ask this, never the engine's name. */
export interface Capabilities {
  /** `write` tells duplicates from new readings; where false, all count as stored. */
  readonly countsDuplicates: boolean;
  /** A batch is stored whole or not at all. */
  readonly atomicBatches: boolean;
  /** Rows beyond which `write` splits a batch by itself; the caller's best batch is at or below it. */
  readonly maxBatch: number;
  /** How many `write` calls at once still gain throughput; ingest starts that many writers. */
  readonly writers: number;
  /** `aggregate` is computed by the database; where false, in this process from a range. */
  readonly serverAggregates: boolean;
  /** `records.scan` returns keys in order; where false, in the engine's own (token) order. */
  readonly orderedScan: boolean;
  /** `records.update` of a missing key creates it, as the engine's blind write does. */
  readonly updateIsUpsert: boolean;
  /** `records.insert` of an existing key replaces it, as the engine's blind write does. */
  readonly insertIsUpsert: boolean;
  /** The engine expires readings by itself when the URL sets a ttl. */
  readonly ttl: boolean;
  /** Consistency levels its URL accepts; empty where there is nothing to choose. */
  readonly consistencyLevels: readonly string[];
  /** Copies its URL can ask for: 1 where the engine does not replicate. */
  readonly maxReplicationFactor: number;
}

/** How a batch ended. `stored` counts new readings and corrections; stored + duplicate = batch length. */
export interface WriteResult {
  readonly stored: number;
  readonly duplicate: number;
}

export type Order = 'asc' | 'desc';

/** A place in a range: the reading at it is excluded, the range goes on behind it. */
export interface RangeCursor {
  readonly time: number;
  readonly metric: string;
}

/** Readings of one device in [from, to), by (time, metric) in `order`; all metrics when none is named. */
export interface RangeQuery {
  readonly device: string;
  readonly metric?: string;
  /** Microseconds, inclusive. */
  readonly from?: number;
  /** Microseconds, exclusive. */
  readonly to?: number;
  /** Default `desc`: newest first. */
  readonly order?: Order;
  readonly limit: number;
  readonly after?: RangeCursor;
}

/** Numeric readings of one series in [from, to), per bucket of `bucket` microseconds aligned to the epoch. */
export interface AggregateQuery {
  readonly device: string;
  readonly metric: string;
  readonly from: number;
  readonly to: number;
  readonly bucket: number;
}

/** One non-empty bucket; text values do not count. */
export interface Bucket {
  /** Start of the bucket, microseconds since the epoch. */
  readonly time: number;
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly sum: number;
}

export interface ReadingStore {
  /**
   * Stores a batch; resolves when it is durable as the engine declares. Within the batch the last of equal
   * identities wins. Called by ingest's writers, `capabilities.writers` at once, 1 to `maxBatch` rows mostly
   * and 100,000 at worst. REJECTED means that at least one row is refused for good: nothing or part of the
   * rest may be stored, and the caller writes the rest again in smaller batches. UNEXPECTED can be due to some of
   * the rows as well: the caller finds out by smaller batches.
   */
  write(batch: readonly Reading[]): Promise<WriteResult>;
  /**
   * Streams; memory grows neither with `limit` nor with the size of texts. Called by the API per page and by
   * aggregates. Without a metric, REJECTED for a device with more than `MAX_METRICS_READ` metrics.
   */
  range(query: RangeQuery): AsyncIterable<Reading>;
  /**
   * The newest reading (by its time) of each metric of each device, ordered by device, then metric; at most `limit`
   * of them, from the first on.
   */
  latest(devices: readonly string[], limit?: number): Promise<Reading[]>;
  /** Names of the metrics that a device has or had, at most `limit` of them, in any order. */
  metrics(device: string, limit: number): Promise<string[]>;
  /** Ordered by time. */
  aggregate(query: AggregateQuery): Promise<Bucket[]>;
  /** Drops readings older than `before` (microseconds); resolves to how many, or null if not countable. */
  expire(before: number): Promise<number | null>;
}

/** Which devices; fields given are all to match. */
export interface DeviceFilter {
  readonly year?: number;
  readonly city?: string;
  readonly site?: string;
  readonly kind?: string;
}

export interface DeviceQuery extends DeviceFilter {
  readonly limit: number;
  /** Only names behind this one. */
  readonly after?: string;
}

/** Fields to change; those left out stay. */
export type DevicePatch = Partial<Omit<Device, 'name'>>;

export interface DeviceStore {
  get(name: string): Promise<Device | null>;
  /** Creates or replaces. Resolves to true when it was created. */
  put(device: Device): Promise<boolean>;
  /** Registers names that are not known yet and leaves known devices as they are. Called on first readings. */
  register(names: readonly string[]): Promise<void>;
  /** Resolves to the device as it is after, or null when there is none of that name. */
  patch(name: string, patch: DevicePatch): Promise<Device | null>;
  /** Changes every device that matches ("update some"); resolves to how many matched. */
  patchWhere(filter: DeviceFilter, patch: DevicePatch): Promise<number>;
  /** Resolves to true when there was one. Its readings stay. */
  delete(name: string): Promise<boolean>;
  /** By name, ascending ("select some"). */
  list(query: DeviceQuery): Promise<Device[]>;
}

/** A YCSB record: text fields by name, `field0` .. `fieldN`. */
export type RecordFields = Readonly<Record<string, string>>;

export interface YcsbRecord {
  readonly key: string;
  readonly fields: RecordFields;
}

/** YCSB's operations over tables in the layout of YCSB's own binding for the engine. */
export interface RecordStore {
  /** Creates the table for `fieldCount` fields (`field0`..) if it is not there. */
  createTable(table: string, fieldCount: number): Promise<void>;
  dropTable(table: string): Promise<void>;
  /** `fields` null: all of them. Null when the key is not there. */
  read(table: string, key: string, fields: readonly string[] | null): Promise<RecordFields | null>;
  /** Resolves to false when the key was there already (never where `insertIsUpsert`). */
  insert(table: string, key: string, fields: RecordFields): Promise<boolean>;
  /** Changes the named fields. Resolves to false when the key is not there (never where `updateIsUpsert`). */
  update(table: string, key: string, fields: RecordFields): Promise<boolean>;
  delete(table: string, key: string): Promise<boolean>;
  /** `count` records from `start` on, inclusive, in the engine's scan order. */
  scan(table: string, start: string, count: number, fields: readonly string[] | null): Promise<YcsbRecord[]>;
}

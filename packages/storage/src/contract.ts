import type { Device, Reading } from '@tidegauge/readings';
import type { StoreError } from './errors.ts';

/**
 * The contract of a store: what ingest, the API and the benchmarks need from a database.
 *
 * docs/adr/0002-store-contract.md describes how each engine answers each call. Rules:
 * - The series of a reading is (device, metric). Its identity is (device, metric, time). There is no range over
 *   all devices by time.
 * - Writes are idempotent: if the outcome is unknown, the caller writes again.
 * - No transaction spans two calls.
 * - A call that fails rejects with a StoreError in bounded time. It never drops or truncates data. The wrapper of
 *   `openStore` checks arguments, so a backend does not check them again.
 */
export interface Store {
  /** The name of the engine: its URL scheme, metric label and test target. */
  readonly name: string;
  /** A frozen object, the same before and after `open`. */
  readonly capabilities: Capabilities;
  readonly readings: ReadingStore;
  readonly devices: DeviceStore;
  readonly records: RecordStore;
  readonly rollups: RollupStore;
  /**
   * Connects. Rejects within the connect timeout, with the host in the message. Called once, before any other I/O.
   */
  open(): Promise<void>;
  /** Creates or upgrades the schema. Several processes can do this at the same time. */
  migrate(): Promise<void>;
  /** Resolves if the store accepts writes now. Readiness probes call it every few seconds. */
  health(): Promise<void>;
  /**
   * Takes or renews a lease for `ms` milliseconds, so that one process at a time does work that all processes on this
   * database could do. Resolves to whether `holder` has it. It ends by itself. It is no lock: a process that is slower
   * than its lease can meet the next holder, and some engines compare the clocks of processes. So the work must be safe
   * to repeat. Called before the work and about every minute of it.
   */
  lease(name: string, holder: string, ms: number): Promise<boolean>;
  /**
   * The identity of the data, a short text that its backups and copies have too. Null: it has none yet, or the engine keeps
   * none. Ingest compares it to find out that a server was replaced: before it writes, and after a failure.
   */
  identity(): Promise<string | null>;
  /**
   * Gives the data an identity, unless it has one. Of several processes that do it at the same time, one succeeds. Resolves
   * to the identity that the data has.
   */
  identify(identity: string): Promise<string | null>;
  /**
   * Rewrites some old readings in less space, if the engine does that: one step of about 10 ms, which several processes can
   * do. Resolves to whether it has more to do now. Ingest calls it beside live traffic.
   */
  compact(): Promise<boolean>;
  /** The space that the store takes on a disk of this machine. Null for a database server, which can be elsewhere. */
  space(): Promise<StoreSpace | null>;
  /** Waits for running calls, then closes all connections and files. It can be called twice. */
  close(): Promise<void>;
}

/** Bytes on a disk of this machine. */
export interface StoreSpace {
  /** What the data takes. Deletions make it smaller, for JSON files in steps. */
  readonly used: number;
  /** The part of the files that new data uses before they grow. */
  readonly spare: number;
  /** Whether the files become smaller after deletions. */
  readonly shrinks: boolean;
  /** A path on the disk. */
  readonly path: string;
}

/** The differences between engines. Callers check these, never the name of an engine. */
export interface Capabilities {
  /** `write` distinguishes duplicates from new readings. If false, all readings count as stored. */
  readonly countsDuplicates: boolean;
  /** `write` names its duplicates (`WriteEffort.duplicates`). */
  readonly namesDuplicates: boolean;
  /** A batch is stored whole or not at all. */
  readonly atomicBatches: boolean;
  /**
   * `write` splits a batch that has more rows. Callers send at most this many rows for the best throughput.
   */
  readonly maxBatch: number;
  /** The number of concurrent `write` calls that increases throughput. Ingest starts this many writers. */
  readonly writers: number;
  /** The database computes `aggregate`. If false, this process computes it from a range. */
  readonly serverAggregates: boolean;
  /** `records.scan` returns records in the order of keys. If false, in the order of tokens. */
  readonly orderedScan: boolean;
  /** `records.update` of a missing key creates the record. */
  readonly updateIsUpsert: boolean;
  /** `records.insert` of an existing key replaces the record. */
  readonly insertIsUpsert: boolean;
  /** The URL can set a ttl, and the engine then expires readings. */
  readonly ttl: boolean;
  /** Consistency levels that the URL accepts. Empty if there is no choice. */
  readonly consistencyLevels: readonly string[];
  /** The largest number of copies that the URL can set. 1 if the engine does not replicate. */
  readonly maxReplicationFactor: number;
  /** `groups` by day and by metric over all devices are read from tables, which `rollUp` fills. */
  readonly groupTables: boolean;
  /** The store keeps rollups. If false, `aggregate` reads readings only. */
  readonly rollups: boolean;
}

/**
 * The result of a write. `stored` counts new readings and corrections. stored + duplicate = length of the batch.
 */
export interface WriteResult {
  readonly stored: number;
  readonly duplicate: number;
}

/** What a write finds out about its batch. */
export interface WriteEffort {
  /**
   * Hours of series that were not expected: the first one of a series, and those of the past. Their readings take some ten
   * times as long as others. 0 in a store without rollups.
   */
  newHours: number;
  /** With `namesDuplicates`: receives the places of the duplicates in the batch, ascending. The caller gives an empty list. */
  duplicates?: number[];
}

export type Order = 'asc' | 'desc';

/** A position in a range. The range continues after it. The reading at the position is excluded. */
export interface RangeCursor {
  readonly time: number;
  readonly metric: string;
}

/** Readings of one device in [from, to), by (time, metric) in `order`. Without `metric`: all metrics. */
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

/**
 * Numeric readings of one series in [from, to), in buckets of `bucket` microseconds. Buckets are aligned to the
 * epoch.
 */
export interface AggregateQuery {
  readonly device: string;
  readonly metric: string;
  readonly from: number;
  readonly to: number;
  readonly bucket: number;
  /** Buckets have the first and the last value too. Readings that are not in rollups are then read one by one. */
  readonly ends?: boolean;
}

/** One non-empty bucket. Text values do not count. A bound of zero is 0 or -0, as the engine has it. */
export interface Bucket extends Partial<Ends> {
  /** Start of the bucket, microseconds since the epoch. */
  readonly time: number;
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly sum: number;
}

/** The first and the last of some readings. */
export interface Ends {
  /** The value of the earliest numeric reading, and its time in microseconds. */
  readonly first: number;
  readonly firstTime: number;
  /** The value of the latest numeric reading, and its time in microseconds. */
  readonly last: number;
  readonly lastTime: number;
}

/** The periods of rollups. Days are UTC. */
export type RollupPeriod = 'minute' | 'hour' | 'day';

/** Where figures come from: the readings, or the rollups of a period. */
export type AggregateSource = 'raw' | RollupPeriod;

/** Where the figures of an answer come from. */
export interface AggregateOrigin {
  /** The finest first. Empty if the query is empty. */
  readonly sources: readonly AggregateSource[];
  /**
   * Readings before this time (microseconds) were needed and can be deleted, so figures can be missing. Null: the answer
   * is complete. Rollups answer whole minutes, hours or days.
   */
  readonly incompleteBefore: number | null;
}

export interface Aggregate extends AggregateOrigin {
  /** Ordered by time. */
  readonly buckets: readonly Bucket[];
}

/**
 * What readings are grouped by. Days are UTC. `site`, `city` and `kind` are fields of the registered devices; the key of
 * devices without the field is an empty text. `all`: one group.
 */
export type GroupKey = 'device' | 'day' | 'metric' | 'site' | 'city' | 'kind' | 'all';
export type GroupOrder = 'key' | 'sum' | 'mean' | 'count';

/** Numeric readings of many devices in [from, to), grouped. Text values do not count. */
export interface GroupQuery {
  readonly by: GroupKey;
  /** Only this metric. Default: all metrics. */
  readonly metric?: string;
  /**
   * Only registered devices that match. Default, and with a filter without fields: all devices that have readings,
   * registered or not.
   */
  readonly devices?: DeviceFilter;
  /** Only this device and the devices below it: `site-3` selects `site-3` and `site-3/boiler`. */
  readonly prefix?: string;
  /** Each group has its figures in buckets of this length too, microseconds. Buckets are aligned to the epoch. */
  readonly bucket?: number;
  /** Microseconds, inclusive. */
  readonly from?: number;
  /** Microseconds, exclusive. */
  readonly to?: number;
  /** `key`: ascending (default). Others: the largest first. Groups with equal figures are in the order of keys. */
  readonly order?: GroupOrder;
  /** Returns the first `limit` groups, at most `MAX_GROUPS`. */
  readonly limit: number;
}

/** One non-empty group. */
export interface Group {
  /** A device, a metric, or a day such as 2026-11-23. */
  readonly key: string;
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  /** Engines add in different orders, so the last digits can differ. Infinite beyond the largest double. */
  readonly sum: number;
  /** With a `bucket` in the query: non-empty buckets by time. */
  readonly buckets?: readonly Bucket[];
}

/** `sources` and `incompleteBefore` are those of all series together. */
export interface Groups extends AggregateOrigin {
  readonly groups: readonly Group[];
  /** `rows`: exact figures, computed from `sources`. `tables`: read from tables that `rollUp` computed. */
  readonly source: 'rows' | 'tables';
  /**
   * The time until which the tables are known to contain all readings that were written, microseconds. Null with
   * `rows`, and if `rollUp` has never computed some of the days.
   */
  readonly asOf: number | null;
}

/** Readings of one device in [from, to). Without `metric`: all metrics. */
export interface DeleteQuery {
  readonly device: string;
  readonly metric?: string;
  /**
   * The rollups of the readings stay, as after `expire`. The caller called `rollups.limitRaw` before. Default: the rollups
   * change with the readings, and those of the hours (or, without rollups per hour, days) that the range touches are
   * removed if their other readings can be deleted already.
   */
  readonly keepRollups?: boolean;
  /** Microseconds, inclusive. */
  readonly from?: number;
  /** Microseconds, exclusive. */
  readonly to?: number;
}

/**
 * Called after each bounded part of a deletion, while no transaction is open, with the number of readings that the part
 * deleted, or null if it is not known. The deletion waits for it, so that other calls have the time in between. If it
 * throws a StoreError, the call rejects with it, and what was deleted before stays deleted.
 */
export type Pace = (rows: number | null) => Promise<void>;

/** The name of a series. */
export type SeriesName = Pick<Reading, 'device' | 'metric'>;

/**
 * Selects series: those of a device and of the devices below it (`site-3` selects `site-3` and `site-3/boiler`), of one
 * metric, or of both. Without fields: all series.
 */
export interface SeriesScope {
  readonly devices?: string;
  readonly metric?: string;
}

/** The unit of a series: one of the SenML registry, such as `Cel`, or another text. */
export interface SeriesUnit extends SeriesName {
  readonly unit: string;
}

/** A position in a range over devices. */
export interface DevicesCursor extends RangeCursor {
  readonly device: string;
}

/** As `RangeQuery`, for several devices. `order` is that of the readings within a device. */
export interface DevicesRangeQuery extends Omit<RangeQuery, 'device' | 'after'> {
  readonly after?: DevicesCursor;
}

export interface ReadingStore {
  /**
   * Stores a batch of 1 to 100,000 rows, usually at most `maxBatch`. Resolves when the batch is durable as the
   * engine declares. Of equal identities in the batch, the last wins. Ingest makes `capabilities.writers` calls at
   * the same time. REJECTED: the store will never accept at least one row. Some of the other rows may be stored,
   * so the caller writes them again in smaller batches. UNEXPECTED: some of the rows can be the cause, which the
   * caller finds with smaller batches.
   *
   * @param effort receives the effort of this write, also when it fails
   */
  write(batch: readonly Reading[], effort?: WriteEffort): Promise<WriteResult>;
  /**
   * Streams readings. Memory does not grow with `limit` or the size of texts. The API calls it per page, and some
   * backends call it for aggregates. Without a metric, REJECTED for a device with more than `MAX_METRICS_READ`
   * metrics.
   */
  range(query: RangeQuery): AsyncIterable<Reading>;
  /** As `range`, in pages as the engine reads them, which takes less time per reading. A page can be empty. */
  pages(query: RangeQuery): AsyncIterable<readonly Reading[]>;
  /**
   * The newest reading (by its time) of each metric of each device, ordered by device, then metric. Returns the first
   * `limit` of them. Some backends: REJECTED for a device with more than `MAX_METRICS_READ` metrics.
   */
  latest(devices: readonly string[], limit?: number): Promise<Reading[]>;
  /** Names of the metrics that a device has or had, at most `limit` of them, in any order. */
  metrics(device: string, limit: number): Promise<string[]>;
  /**
   * Streams the names of all devices that have or had readings, registered or not. Each name once, in an order of the
   * engine that does not change. Continues after the device `after`, which need not exist any more. Devices that are
   * new since the start can be missing. Memory does not grow with their number, unless the engine keeps them in
   * memory anyway.
   */
  devices(after?: string): AsyncIterable<string>;
  /**
   * Stores the units of 1 to `MAX_PAGE` series that have readings, and replaces earlier units. No series occurs twice.
   * Ingest calls it after a write, for units that `units` did not return. Some engines store the unit of a series
   * without readings too, others ignore it.
   */
  setUnits(units: readonly SeriesUnit[]): Promise<void>;
  /** The unit of each of 1 to `MAX_PAGE` series, in their order. Null if it is not known. */
  units(series: readonly SeriesName[]): Promise<(string | null)[]>;
  /**
   * Reads the coarsest rollups that answer exactly, and readings elsewhere: at the edges of the range, in buckets that are
   * not whole periods, and in hours that changed since their rollups were computed.
   */
  aggregate(query: AggregateQuery): Promise<Aggregate>;
  /**
   * Computes figures of groups of readings. Figures by day or metric over all devices, for whole days and without
   * buckets, are read from tables if the store has them (`Capabilities.groupTables`). Otherwise rollups answer whole
   * periods, as in `aggregate`, and readings the rest. Without rollups that are up to date, and for ranges of up to two
   * hours, a query by device, day or metric reads the readings. SQL engines need as much memory for it as their settings
   * allow. REJECTED: there are too many groups or devices to compute here, or it takes longer than 30 s.
   */
  groups(query: GroupQuery): Promise<Groups>;
  /**
   * Streams readings of the registered devices that match: by device, ascending by name, and within a device as
   * `range`. The filter has at least one field.
   */
  rangeOfDevices(filter: DeviceFilter, query: DevicesRangeQuery): AsyncIterable<Reading>;
  /**
   * Computes the totals of the whole UTC days in [from, to) (microseconds) from the readings, and replaces those in
   * the tables of groups. Resolves to the number of (day, metric) pairs. 0 without `groupTables`.
   */
  rollUp(from: number, to: number): Promise<number>;
  /**
   * Deletes readings older than `before` (microseconds). Resolves to their number, or null if it is not known. Their
   * rollups stay.
   */
  expire(before: number, pace?: Pace): Promise<number | null>;
  /**
   * Deletes the readings of a device that match, in bounded parts. Resolves to their number, or null if it is not
   * known. Readings of that range that are written meanwhile can stay. After an error, the caller repeats the call.
   */
  delete(query: DeleteQuery, pace?: Pace): Promise<number | null>;
}

/** The figures of one series in one minute, hour or UTC day. */
export type Rollup = Bucket & Ends;

export interface Rollups extends AggregateOrigin {
  /** Non-empty periods by time. */
  readonly rollups: readonly Rollup[];
}

/** Periods of one series in [from, to), microseconds. The edges are multiples of the period. */
export interface RollupQuery extends SeriesName {
  readonly period: RollupPeriod;
  readonly from: number;
  readonly to: number;
}

/** What one piece of work did. */
export interface RollupWork {
  /** Hours of series whose marks were removed. */
  readonly hours: number;
  /** Hours whose rollups stayed as they are, because their readings can be deleted. */
  readonly late: number;
  /** Rows of rollups that were written. */
  readonly rows: number;
  /** Readings that were read. */
  readonly readings: number;
  /** Why hours were left for an hour: a part of the store is damaged. Null: none were. */
  readonly damage: StoreError | null;
  /** There can be more work at once. */
  readonly more: boolean;
}

export interface RollupStatus {
  /** Hours of series with readings that are not in rollups yet, including those of the present hour. */
  readonly marks: number;
  /** The start of the earliest of these hours, microseconds. Null without marks. */
  readonly oldestHour: number | null;
  /** For how long the first of these hours could have been computed, microseconds. */
  readonly overdue: number;
}

/**
 * Figures per series and minute, hour and UTC day, computed from the readings. A write marks the hours of its readings,
 * and `work` computes them when they have ended. Without `Capabilities.rollups`, every call rejects with NOT_SUPPORTED.
 */
export interface RollupStore {
  /**
   * Computes the rollups of some marked hours: about 200 hours or 50,000 readings. One process calls it at a time. A
   * killed process leaves nothing wrong, and the next call continues.
   */
  work(): Promise<RollupWork>;
  /** The exact figures of whole periods: from rollups, and from readings in hours that changed since. */
  read(query: RollupQuery): Promise<Rollups>;
  status(): Promise<RollupStatus>;
  /**
   * Stores that readings before a time (microseconds) can be deleted, so that their rollups stay as they are. `expire` of
   * readings does it for all series. The caller does it before it deletes readings of some series because of their age.
   * One process at a time.
   * @throws {StoreError} REJECTED if there are more than 500 different scopes
   */
  limitRaw(before: number, scope?: SeriesScope): Promise<void>;
  /**
   * Deletes rows of rollups whose periods are all before a time (microseconds), in bounded steps. Resolves to their
   * number. One process at a time.
   * @throws {StoreError} as `limitRaw`
   */
  expire(period: RollupPeriod, before: number, scope?: SeriesScope): Promise<number>;
}

/** Selects devices. A device must match all given fields. */
export interface DeviceFilter {
  readonly year?: number;
  readonly city?: string;
  readonly site?: string;
  readonly kind?: string;
}

export interface DeviceQuery extends DeviceFilter {
  readonly limit: number;
  /** Only names after this one. */
  readonly after?: string;
}

/** Fields to change. Other fields stay as they are. */
export type DevicePatch = Partial<Omit<Device, 'name'>>;

export interface DeviceStore {
  get(name: string): Promise<Device | null>;
  /** Creates or replaces. Resolves to true when it was created. */
  put(device: Device): Promise<boolean>;
  /** Registers new names. Known devices stay as they are. Called on the first reading of a device. */
  register(names: readonly string[]): Promise<void>;
  /** Resolves to the changed device, or null if it does not exist. */
  patch(name: string, patch: DevicePatch): Promise<Device | null>;
  /** Changes every device that matches. Resolves to the number of matches. */
  patchWhere(filter: DeviceFilter, patch: DevicePatch): Promise<number>;
  /** Resolves to true if the device existed. Its readings stay. */
  delete(name: string): Promise<boolean>;
  /** Devices that match, by name, ascending. */
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
  /** Creates the table for `fieldCount` fields (`field0`..) if it does not exist. */
  createTable(table: string, fieldCount: number): Promise<void>;
  dropTable(table: string): Promise<void>;
  /**
   * Reads the named fields, or all fields if `fields` is null. Resolves to null if the key does not exist.
   */
  read(table: string, key: string, fields: readonly string[] | null): Promise<RecordFields | null>;
  /** Resolves to false if the key existed already. With `insertIsUpsert`, always resolves to true. */
  insert(table: string, key: string, fields: RecordFields): Promise<boolean>;
  /**
   * Inserts 0 to `MAX_INSERT_RECORDS` records, in any order. Several records have at most `MAX_INSERT_LENGTH`
   * characters. Resolves when all their keys exist, as durable as after `insert`. Records that existed keep their
   * fields, or with `insertIsUpsert` get the new ones. Of equal keys in the batch, the first is stored, or with
   * `insertIsUpsert` the last. Not atomic: after an error, some of the records can be stored, and the caller can
   * insert the same batch again. Bulk loads make several calls at the same time. REJECTED: nothing is stored if
   * `rows` names the invalid records.
   */
  insertMany(table: string, records: readonly YcsbRecord[]): Promise<void>;
  /**
   * Changes the named fields. Resolves to false if the key does not exist. With `updateIsUpsert`, always resolves
   * to true.
   */
  update(table: string, key: string, fields: RecordFields): Promise<boolean>;
  delete(table: string, key: string): Promise<boolean>;
  /** Reads `count` records from `start` on, inclusive, in the scan order of the engine. */
  scan(table: string, start: string, count: number, fields: readonly string[] | null): Promise<YcsbRecord[]>;
}

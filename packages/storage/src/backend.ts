import type { Reading } from '@tidegauge/readings';
import type {
  AggregateQuery,
  Bucket,
  Capabilities,
  DeviceFilter,
  DeviceStore,
  DevicesRangeQuery,
  RangeQuery,
  ReadingStore,
  SeriesName,
  Store,
  StoreSpace,
} from './contract.ts';
import type { DayTotals } from './day-totals.ts';
import type { RowGroupQuery, RowGroups } from './groups.ts';
import type { BackendRollups } from './rollups/backend-rollups.ts';
import type { BackendRecords, CompleteRecords } from './tables.ts';

// What an engine implements. docs/adr/0002-store-contract.md has the reasons, docs/adding-a-backend.md the steps.

/** The core of readings, which every engine has. `derived/` computes all other calls from it. */
export type CoreReadings = Pick<ReadingStore, 'write' | 'range' | 'metrics' | 'devices' | 'delete'>;

/**
 * Native versions of derived calls. An engine has one if it is at least 1.5 times as fast, or holds a bound that the
 * derived one does not hold. Null as an answer: the derived version answers.
 *
 * An engine whose units, devices, leases or rollups are derived keeps these in readings of reserved devices
 * (`derived/reserved.ts`). Its native `groups` and `expire` leave these devices out.
 */
export interface NativeReadings extends Pick<ReadingStore, 'setUnits' | 'units' | 'expire'> {
  /** As `ReadingStore.latest`. No name occurs twice, and they are ordered by code point. */
  latest(devices: readonly string[], limit: number): Promise<Reading[]>;
  /** `range` in pages, for an engine that reads pages. */
  pages(query: RangeQuery): AsyncIterable<readonly Reading[]>;
  /**
   * Times and values of the numeric readings of a series in [from, to), in pages of bounded size, in any order. An engine
   * has it if it is faster than `range`.
   */
  numbers(query: NumbersQuery): AsyncIterable<NumbersPage>;
  /** Computes buckets from the readings. Ordered by time. */
  aggregate(query: AggregateQuery): Promise<Bucket[] | null>;
  /** Computes groups from the readings. */
  groups(query: RowGroupQuery): Promise<RowGroups | null>;
  rangeOfDevices(filter: DeviceFilter, query: DevicesRangeQuery): AsyncIterable<Reading> | null;
  /** The parts of an engine with `Capabilities.groupTables`. */
  readonly totals: DayTotals;
}

/** The readings of an engine. */
export type BackendReadings = CoreReadings & Partial<NativeReadings>;

/** Times and values of some readings. */
export interface NumbersPage {
  readonly times: ArrayLike<number>;
  /** As many. */
  readonly values: ArrayLike<number>;
}

export interface NumbersQuery extends SeriesName {
  /** Microseconds. */
  readonly from: number;
  readonly to: number;
}

/** An engine: the core, and any native versions. */
export interface Backend extends Pick<Store, 'name' | 'capabilities' | 'open' | 'migrate' | 'health'> {
  readonly readings: BackendReadings;
  readonly records: BackendRecords;
  readonly devices?: DeviceStore;
  /** Derived if it is absent, with `Capabilities.rollups`. */
  readonly rollups?: BackendRollups;
  lease?(name: string, holder: string, ms: number): Promise<boolean>;
  compact?(): Promise<boolean>;
  space?(): Promise<StoreSpace | null>;
  /** As `Store.close`. Absent if there is nothing to close. */
  close?(): Promise<void>;
}

/** The readings of a complete backend. The wrapper reads rollups. */
export interface CompleteReadings extends Omit<ReadingStore, 'pages' | 'aggregate' | 'groups' | 'latest'> {
  readonly pages?: NativeReadings['pages'];
  readonly numbers?: NativeReadings['numbers'];
  latest: NativeReadings['latest'];
  /** From the readings. Ordered by time. */
  aggregate(query: AggregateQuery): Promise<Bucket[]>;
  /** From the readings, or from totals of days. */
  groups(query: RowGroupQuery): Promise<RowGroups>;
}

/** A store without the checks of the wrapper: an engine with everything that was derived for it. */
export interface CompleteBackend
  extends Omit<Store, 'readings' | 'records' | 'rollups' | 'identity' | 'identify'> {
  readonly readings: CompleteReadings;
  readonly records: CompleteRecords;
  /** Present with `Capabilities.rollups`. */
  readonly rollups?: BackendRollups;
}

/** Capabilities of an engine with only the core, and what an engine declares besides. */
export function capabilities(
  own: Partial<Capabilities> & Pick<Capabilities, 'maxBatch' | 'writers'>,
): Capabilities {
  return Object.freeze({
    countsDuplicates: false,
    namesDuplicates: false,
    atomicBatches: false,
    serverAggregates: false,
    orderedScan: false,
    updateIsUpsert: false,
    insertIsUpsert: false,
    ttl: false,
    consistencyLevels: Object.freeze([]),
    maxReplicationFactor: 1,
    groupTables: false,
    rollups: true,
    ...own,
  });
}

import { forEach } from '@tidegauge/parallel';
import { MAX_TIME } from '@tidegauge/readings';
import { addFigures, type Fold, figuresOf } from '../aggregate.ts';
import { MAX_METRICS_READ } from '../arguments.ts';
import type { CompleteReadings } from '../backend.ts';
import type {
  AggregateOrigin,
  AggregateSource,
  DeviceStore,
  GroupKey,
  GroupQuery,
  Groups,
} from '../contract.ts';
import { areTotals } from '../day-totals.ts';
import { StoreError } from '../errors.ts';
import {
  boundsOf,
  compareGroups,
  dayKey,
  firstOf,
  MAX_FOLDS,
  namesOf,
  type RowGroupQuery,
  registeredDevices,
  toRowQuery,
} from '../groups.ts';
import type { BackendRollups } from './backend-rollups.ts';
import { isBelow, RollupState } from './limits.ts';
import { DAY_US, HOUR_US, MINUTE_US, ROLLUP_PERIODS } from './periods.ts';
import { BucketFolds, type Part, type RollupReader, TooManyMarks } from './reader.ts';

/** Devices that are read at the same time. With buckets fewer, because each has up to 10,000 in memory. */
const DEVICES_AT_ONCE = 16;
const WITH_BUCKETS = 4;
/** The most groups and buckets of one query with buckets. All of its document can be in memory, 1 KB for a bucket. */
const MAX_FIGURES = 20_000;
/** The most devices or series that one query keeps in memory, about 200 bytes each. */
const MAX_KNOWN = 200_000;
/** The longest time of one query, milliseconds. */
const MOST_MS = 30_000;
/** Readings of a range up to this length are read directly, because its last hour is not in rollups. Microseconds. */
const SHORT_US = 2 * HOUR_US;
/** Rollups that are later than this are not up to date, microseconds. */
const LATE_US = 15 * MINUTE_US;
/** A series with more changed hours than this is not in rollups yet. */
const MOST_MARKED = 48;
/** A bucket that contains all times. */
const WHOLE_US = MAX_TIME + 1;

/** Metrics by device. */
type SeriesOfDevices = ReadonlyMap<string, ReadonlySet<string>>;

type Raw = Pick<CompleteReadings, 'groups' | 'devices' | 'metrics'>;

/**
 * Groups of readings of many devices, added up from the aggregates of their series. So rollups answer whole periods, also
 * after the readings were deleted. An engine's own computation over its readings is used where it is complete and rollups
 * would hardly help.
 */
export class RollupGroups {
  readonly #reader: RollupReader;
  readonly #rollups: BackendRollups;
  readonly #raw: Raw;
  readonly #devices: DeviceStore;
  readonly #hasTables: boolean;
  readonly #clock: () => number;

  /**
   * @param hasTables the engine reads totals of days from tables
   * @param clock microseconds
   */
  constructor(
    reader: RollupReader,
    rollups: BackendRollups,
    raw: Raw,
    devices: DeviceStore,
    hasTables: boolean,
    clock: () => number,
  ) {
    this.#reader = reader;
    this.#rollups = rollups;
    this.#raw = raw;
    this.#devices = devices;
    this.#hasTables = hasTables;
    this.#clock = clock;
  }

  async groups(query: GroupQuery): Promise<Groups> {
    const rowQuery = toRowQuery(query);
    if (rowQuery === null) return this.#ofSeries(query);
    if (this.#hasTables && areTotals(rowQuery)) return this.#ofRows(rowQuery);
    const state = await RollupState.read(this.#rollups, this.#clock());
    // The readings alone lack what was deleted because of its age.
    if (state.isDeletedSince(boundsOf(query).from)) return this.#ofSeries(query);
    if (!(await this.#isUpToDate(query, state))) return this.#ofRows(rowQuery);
    try {
      return await this.#ofSeries(query, MOST_MARKED);
    } catch (error) {
      if (!(error instanceof TooManyMarks)) throw error;
      return this.#ofRows(rowQuery);
    }
  }

  async #ofRows(query: RowGroupQuery): Promise<Groups> {
    const found = await this.#raw.groups(query);
    const sources = found.source === 'tables' ? (['day'] as const) : (['raw'] as const);
    return { ...found, sources, incompleteBefore: null };
  }

  /** Whether most of a range is in rollups. */
  async #isUpToDate(query: GroupQuery, { since }: RollupState): Promise<boolean> {
    const { from, to } = boundsOf(query);
    const now = this.#clock();
    if (from < since || Math.min(to, now) - from <= SHORT_US) return false;
    return (await this.#rollups.dueMarks(now - LATE_US, 1)).length === 0;
  }

  #ofSeries(query: GroupQuery, mostMarked?: number): Promise<Groups> {
    const deadline = performance.now() + MOST_MS;
    const checkTime = () => {
      if (performance.now() > deadline) throw tooLong();
    };
    return this.#reader.settled(async (state) => {
      const folds = new Folds(query);
      const { from, to } = boundsOf(query);
      const { metric, by } = query;
      const bucket = partBucket(query);
      const fields = by === 'site' || by === 'city' || by === 'kind' ? await this.#fields(query, by) : null;
      const deleted = state.isDeletedSince(from) ? await this.#deletedSeries(query) : new Map();
      const atOnce = query.bucket === undefined ? DEVICES_AT_ONCE : WITH_BUCKETS;
      await forEach(from < to ? this.#names(query, deleted) : [], atOnce, async (device) => {
        for (const each of await this.#metricsOf(device, metric, deleted)) {
          checkTime();
          const key = keyOf(by, device, each, fields);
          const one = { device, metric: each, from, to, bucket };
          const add = (part: Part) => folds.add(key ?? dayKey(Math.floor(part.time / DAY_US)), part);
          folds.addOrigin(await this.#reader.parts(one, state, add, { mostMarked, checkTime }));
        }
      });
      return folds.groups();
    });
  }

  /** The devices of a query. */
  async *#names({ devices, prefix }: GroupQuery, deleted: SeriesOfDevices): AsyncGenerator<string> {
    const rest = new Set(devices === undefined ? deleted.keys() : []);
    const names = devices === undefined ? this.#raw.devices() : namesOf(this.#devices, devices);
    for await (const name of names) {
      rest.delete(name);
      if (isBelow(name, prefix)) yield name;
    }
    yield* rest;
  }

  async #metricsOf(
    device: string,
    metric: string | undefined,
    deleted: SeriesOfDevices,
  ): Promise<Iterable<string>> {
    if (metric !== undefined) return [metric];
    const known = await this.#raw.metrics(device, MAX_METRICS_READ + 1);
    const others = deleted.get(device);
    return others === undefined ? known : new Set([...known, ...others]);
  }

  /** Series that have rollups and possibly no readings, by device. */
  async #deletedSeries({ metric, prefix }: GroupQuery): Promise<SeriesOfDevices> {
    const found = new Map<string, Set<string>>();
    if (this.#rollups.series === undefined) return found;
    let size = 0;
    for await (const one of this.#rollups.series()) {
      if (!isBelow(one.device, prefix) || (metric !== undefined && metric !== one.metric)) continue;
      const metrics = found.get(one.device) ?? new Set();
      if (metrics.has(one.metric)) continue;
      metrics.add(one.metric);
      found.set(one.device, metrics);
      size += 1;
      if (size > MAX_KNOWN) throw tooMany('series');
    }
    return found;
  }

  /** A field of all registered devices that match and have it. */
  async #fields(
    { devices = {}, prefix }: GroupQuery,
    field: 'site' | 'city' | 'kind',
  ): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    for await (const { name, [field]: value } of registeredDevices(this.#devices, devices)) {
      if (value === null || !isBelow(name, prefix)) continue;
      if (found.size === MAX_KNOWN) throw tooMany('devices');
      found.set(name, value);
    }
    return found;
  }
}

/** The figures of all groups of a query. They grow with parts in any order. */
class Folds {
  readonly #query: GroupQuery;
  readonly #groups = new Map<string, { readonly total: Fold; readonly buckets: BucketFolds | null }>();
  #size = 0;
  readonly #sources = new Set<AggregateSource>();
  #incompleteBefore: number | null = null;

  constructor(query: GroupQuery) {
    this.#query = query;
  }

  add(key: string, part: Part): void {
    const { count, min, max, sum } = part;
    const known = this.#groups.get(key);
    if (known !== undefined) addFigures(known.total, { count, min, max, sum });
    const { bucket } = this.#query;
    const group = known ?? {
      total: { count, min, max, sum, lost: 0 },
      buckets: bucket === undefined ? null : new BucketFolds(bucket),
    };
    if (known === undefined) this.#groups.set(key, group);
    const before = group.buckets?.size ?? 0;
    group.buckets?.add(part);
    this.#size += (known === undefined ? 1 : 0) + (group.buckets?.size ?? 0) - before;
    const most = bucket === undefined ? MAX_FOLDS : MAX_FIGURES;
    if (this.#size > most) {
      throw new StoreError('REJECTED', `there are more than ${most} groups and buckets`, {
        hint: 'select devices, name a metric, or take longer buckets',
      });
    }
  }

  addOrigin({ sources, incompleteBefore }: AggregateOrigin): void {
    for (const source of sources) this.#sources.add(source);
    if (incompleteBefore !== null)
      this.#incompleteBefore = Math.max(incompleteBefore, this.#incompleteBefore ?? 0);
  }

  *#all() {
    for (const [key, { total, buckets }] of this.#groups) yield { key, ...figuresOf(total), buckets };
  }

  groups(): Groups {
    const { order = 'key', limit } = this.#query;
    const first = firstOf(this.#all(), compareGroups(order), limit);
    return {
      groups: first.map(({ buckets, ...figures }) =>
        buckets === null ? figures : { ...figures, buckets: buckets.buckets() },
      ),
      source: 'rows',
      asOf: null,
      sources: (['raw', ...ROLLUP_PERIODS] as const).filter((source) => this.#sources.has(source)),
      incompleteBefore: this.#incompleteBefore,
    };
  }
}

/** Null: the key is the day of a part. */
function keyOf(
  by: GroupKey,
  device: string,
  metric: string,
  fields: ReadonlyMap<string, string> | null,
): string | null {
  switch (by) {
    case 'device':
      return device;
    case 'metric':
      return metric;
    case 'day':
      return null;
    case 'all':
      return 'all';
    default:
      return fields!.get(device) ?? '';
  }
}

/** A length of which each bucket, and each day of a query by day, is a multiple. Microseconds. */
function partBucket({ by, bucket = WHOLE_US }: GroupQuery): number {
  if (by !== 'day') return bucket;
  if (bucket === WHOLE_US) return DAY_US;
  let [a, b] = [bucket, DAY_US];
  while (b > 0) [a, b] = [b, a % b];
  return a;
}

function tooMany(what: string): StoreError {
  return new StoreError('REJECTED', `the query has more than ${MAX_KNOWN} ${what}`, {
    hint: 'select fewer devices by a prefix, or name a metric',
  });
}

function tooLong(): StoreError {
  return new StoreError('REJECTED', `the figures of these groups take longer than ${MOST_MS / 1000} s`, {
    hint: 'select fewer devices, name a metric, or take a shorter range',
  });
}

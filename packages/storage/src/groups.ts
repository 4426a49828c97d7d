import { forEach } from '@tidegauge/parallel';
import { type Device, MAX_TIME, type Reading } from '@tidegauge/readings';
import { addFigures, addValue, type Fold, figuresOf, foldOf } from './aggregate.ts';
import type {
  AggregateOrigin,
  DeviceFilter,
  DeviceStore,
  DevicesRangeQuery,
  Group,
  GroupOrder,
  GroupQuery,
  Groups,
  RangeQuery,
} from './contract.ts';
import { StoreError } from './errors.ts';
import { compareText, nextPageRows } from './merge.ts';
import { DAY_US } from './rollups/periods.ts';

// Reads over groups of devices, for engines that do not compute them in the database.

/** The most groups of one query that this process computes, about 250 bytes each. The API has a heap of 56 MiB. */
export const MAX_FOLDS = 50_000;
const DEVICES_AT_ONCE = 4;
const LIST_DEVICES = 500;

/** The name of a day, such as 2026-11-23. @param day days since the epoch */
export function dayKey(day: number): string {
  return new Date((day * DAY_US) / 1000).toISOString().slice(0, 10);
}

/** The part [from, to) of a query, in microseconds. */
export function boundsOf({ from = 0, to = MAX_TIME + 1 }: { from?: number; to?: number }): {
  from: number;
  to: number;
} {
  return { from: Math.max(from, 0), to: Math.max(to, 0) };
}

/** The key of a reading's group. */
export function groupKeyOf(
  by: RowGroupQuery['by'],
  { device, metric, time }: Omit<Reading, 'value'>,
): string {
  if (by === 'day') return dayKey(Math.floor(time / DAY_US));
  return by === 'device' ? device : metric;
}

/** Figures of groups, which grow with readings in any order. */
export class GroupFolds {
  readonly #folds = new Map<string, Fold>();

  add(key: string, value: number): void {
    const fold = this.#folds.get(key);
    if (fold === undefined) this.#start(key, foldOf(value));
    else addValue(fold, value);
  }

  /** Adds the figures of a part of a group. */
  addPart({ key, count, min, max, sum }: Omit<Group, 'mean'>): void {
    const fold = this.#folds.get(key);
    if (fold === undefined) this.#start(key, { count, min, max, sum, lost: 0 });
    else addFigures(fold, { count, min, max, sum });
  }

  /** The first `limit` groups, as computed from rows. */
  groups({ order = 'key', limit }: Pick<RowGroupQuery, 'order' | 'limit'>): RowGroups {
    return fromRows(firstOf(this.#all(), compareGroups(order), limit));
  }

  *#all(): Generator<Group> {
    for (const [key, fold] of this.#folds) yield { key, ...figuresOf(fold) };
  }

  #start(key: string, fold: Fold): void {
    if (this.#folds.size === MAX_FOLDS) {
      throw new StoreError('REJECTED', `there are more than ${MAX_FOLDS} groups`, {
        hint: 'select devices, or name a metric',
      });
    }
    this.#folds.set(key, fold);
  }
}

/** The first items of an order, sorted. At most twice as many and 1,000 are in memory at once. */
export function firstOf<T>(items: Iterable<T>, compare: (a: T, b: T) => number, limit: number): T[] {
  const kept: T[] = [];
  for (const item of items) {
    kept.push(item);
    if (kept.length >= 2 * limit + 1000) kept.sort(compare).length = limit;
  }
  return kept.sort(compare).slice(0, limit);
}

export function fromRows(groups: readonly Group[]): RowGroups {
  return { groups, source: 'rows', asOf: null };
}

/** The order of groups: by key ascending, or the largest figure first and equal figures by key. */
export function compareGroups(
  order: GroupOrder,
): (a: Omit<Group, 'buckets'>, b: Omit<Group, 'buckets'>) => number {
  return (a, b) => {
    if (order !== 'key') {
      if (a[order] > b[order]) return -1;
      if (a[order] < b[order]) return 1;
    }
    return compareText(a.key, b.key);
  };
}

/** What the engines group by themselves. */
export type RowGroupKey = 'device' | 'day' | 'metric';

/** A query that an engine can answer from its readings or totals of days. */
export interface RowGroupQuery extends Omit<GroupQuery, 'by' | 'prefix' | 'bucket'> {
  readonly by: RowGroupKey;
}

export type RowGroups = Omit<Groups, keyof AggregateOrigin>;

/** Null if an engine itself cannot answer the query. */
export function toRowQuery({ by, prefix, bucket, ...rest }: GroupQuery): RowGroupQuery | null {
  if (prefix !== undefined || bucket !== undefined) return null;
  return by === 'device' || by === 'day' || by === 'metric' ? { ...rest, by } : null;
}

type Range = (query: RangeQuery) => AsyncIterable<Reading>;

/** Computes groups from the ranges of the devices. */
export async function foldGroups(
  query: RowGroupQuery,
  devices: AsyncIterable<string>,
  range: Range,
): Promise<RowGroups> {
  const { by, metric } = query;
  const { from, to } = boundsOf(query);
  const folds = new GroupFolds();
  await forEach(devices, DEVICES_AT_ONCE, async (device) => {
    const part = { device, from, to, order: 'asc', limit: Number.MAX_SAFE_INTEGER } as const;
    for await (const reading of range(metric === undefined ? part : { ...part, metric })) {
      if (typeof reading.value === 'number') folds.add(groupKeyOf(by, reading), reading.value);
    }
  });
  return folds.groups(query);
}

/** Names of the registered devices that match, ascending, from one name on. */
export async function* namesOf(
  devices: DeviceStore,
  filter: DeviceFilter,
  first?: string,
): AsyncGenerator<string> {
  if (first !== undefined) {
    const device = await devices.get(first);
    if (device !== null && isMatch(device, filter)) yield first;
  }
  for await (const { name } of registeredDevices(devices, filter, first)) yield name;
}

/** The registered devices that match, by name, after one name. */
export async function* registeredDevices(
  devices: DeviceStore,
  filter: DeviceFilter,
  first?: string,
): AsyncGenerator<Device> {
  for (let after = first; ; ) {
    const query = { ...filter, limit: LIST_DEVICES };
    const page = await devices.list(after === undefined ? query : { ...query, after });
    yield* page;
    if (page.length < LIST_DEVICES) return;
    after = page.at(-1)!.name;
  }
}

/** Devices per query of `devicePages`. */
const PAGE_DEVICES = 1000;

/**
 * Names of devices, page by page.
 *
 * @param readPage reads at most `limit` names after one, in the order of the engine; a name can follow itself
 */
export async function* devicePages(
  after: string | undefined,
  readPage: (after: string, limit: number) => Promise<readonly string[]>,
): AsyncGenerator<string> {
  // Names are not empty.
  for (let last = after ?? ''; ; ) {
    const page = await readPage(last, PAGE_DEVICES);
    for (const name of page) {
      if (name !== last) yield name;
      last = name;
    }
    if (page.length < PAGE_DEVICES) return;
  }
}

/** A range over the devices that match, one device after the other. */
export async function* rangeByDevice(
  filter: DeviceFilter,
  query: DevicesRangeQuery,
  devices: DeviceStore,
  range: Range,
): AsyncGenerator<Reading> {
  const { after, ...part } = query;
  let { limit } = query;
  for await (const device of namesOf(devices, filter, after?.device)) {
    const continued = after !== undefined && after.device === device ? { after } : {};
    for await (const reading of range({ ...part, ...continued, device, limit })) {
      yield reading;
      limit -= 1;
      if (limit === 0) return;
    }
  }
}

/** The most readings of a page over several devices. */
const PAGE_ROWS = 256;

/** A range over devices, page by page, with the engine's own query. */
export async function* pagesOfDevices(
  query: DevicesRangeQuery,
  readPage: (page: DevicesRangeQuery) => Promise<readonly Reading[]>,
): AsyncGenerator<Reading> {
  let left = query.limit;
  let limit = Math.min(left, PAGE_ROWS);
  for (let position = query; ; ) {
    const page = await readPage({ ...position, limit });
    yield* page;
    left -= page.length;
    const after = page.at(-1);
    if (after === undefined || page.length < limit || left === 0) return;
    position = { ...query, after };
    limit = Math.min(nextPageRows(page), left);
  }
}

/** The fields of a `DeviceFilter`. */
export const FILTER_FIELDS = ['year', 'city', 'site', 'kind'] as const;

/** Whether a device has the fields of a filter. */
export function isMatch(device: DeviceFields, filter: DeviceFilter): boolean {
  return FILTER_FIELDS.every((field) => filter[field] === undefined || filter[field] === device[field]);
}

type DeviceFields = { readonly [K in (typeof FILTER_FIELDS)[number]]: DeviceFilter[K] | null };

import { MAX_TIME } from '@tidegauge/readings';
import type { DeviceStore, Group } from './contract.ts';
import { boundsOf, dayKey, GroupFolds, namesOf, type RowGroupQuery, type RowGroups } from './groups.ts';
import { DAY_US } from './rollups/periods.ts';

// Tables with the totals of each day and metric, for engines that cannot group by them.

/** The day after the last one that a reading can have. */
const END_DAY = Math.ceil((MAX_TIME + 1) / DAY_US);

/** Figures of at least one number. */
export type Totals = Pick<Group, 'count' | 'sum' | 'min' | 'max'>;

/** Days since the epoch, from `first` to before `until`. */
export interface Days {
  readonly first: number;
  readonly until: number;
}

/** The totals of one metric on one day, over all devices. */
export interface DayTotal extends Totals {
  readonly day: number;
  readonly metric: string;
}

/** A completed `rollUp`. The totals of its days contain every reading that was written before `asOf`, microseconds. */
export interface RollUp extends Days {
  readonly asOf: number;
}

/** Where an engine keeps the totals of days, and which `rollUp` calls computed them. */
export interface TotalsTable {
  /** In any order. */
  read(days: Days): AsyncIterable<DayTotal>;
  rollUps(): Promise<readonly RollUp[]>;
  /**
   * Replaces the totals of all days of the roll-up, then records it. Each day is replaced at once. Of two roll-ups of
   * one day that run at the same time, the totals of the one that started later stay, whichever ends first.
   */
  replace(rollUp: RollUp, totals: ReadonlyMap<number, readonly DayTotal[]>): Promise<void>;
}

/** The readings to add up: in [from, to), microseconds. */
export interface Scope {
  readonly metric?: string;
  readonly from: number;
  readonly to: number;
}

/** Adds the totals of readings of one device, metric and day. Called several times for parts of one day. */
export type AddPart = (device: string, metric: string, day: number, part: Totals) => void;

/** Adds up the readings of an engine by device, metric and day. */
export interface PartialTotals {
  /** Passes the totals of all devices to `add`. */
  ofAll(scope: Scope, add: AddPart): Promise<void>;
  ofDevices(devices: AsyncIterable<string>, scope: Scope, add: AddPart): Promise<void>;
}

/** What an engine has for totals of days. */
export interface DayTotals {
  readonly table: TotalsTable;
  readonly rows: PartialTotals;
}

/** The groups of a query: from the table where it has them, otherwise from the readings. */
export function groupsOf(
  query: RowGroupQuery,
  { table, rows }: DayTotals,
  devices: DeviceStore,
): Promise<RowGroups> {
  const days = tableDays(query);
  if (days !== null) return groupsOfTables(table, query, days);
  const { devices: filter } = query;
  return groupsOfRows(query, (scope, add) =>
    filter === undefined ? rows.ofAll(scope, add) : rows.ofDevices(namesOf(devices, filter), scope, add),
  );
}

/** Whether `groupsOf` reads a query from the table. */
export function areTotals(query: RowGroupQuery): boolean {
  return tableDays(query) !== null;
}

/** The days of a query that tables can answer, or null if only the readings can. */
function tableDays(query: RowGroupQuery): Days | null {
  if (query.by === 'device' || query.devices !== undefined) return null;
  const { from, to } = boundsOf(query);
  if (from % DAY_US !== 0 || (to < MAX_TIME && to % DAY_US !== 0)) return null;
  return { first: from / DAY_US, until: endOfDays(to) };
}

/** The groups of a query that tables can answer. */
async function groupsOfTables(table: TotalsTable, query: RowGroupQuery, days: Days): Promise<RowGroups> {
  // The list is read first: a roll-up that ends meanwhile only adds readings.
  const asOf = knownUntil(await table.rollUps(), days);
  const folds = new GroupFolds();
  for await (const { day, metric, ...totals } of table.read(days)) {
    if (query.metric !== undefined && metric !== query.metric) continue;
    folds.addPart({ key: query.by === 'day' ? dayKey(day) : metric, ...totals });
  }
  return { ...folds.groups(query), source: 'tables', asOf };
}

/** The groups of a query, computed from readings. `read` passes the totals of the readings in a scope to `add`. */
async function groupsOfRows(query: RowGroupQuery, read: PartialTotals['ofAll']): Promise<RowGroups> {
  const { by, metric } = query;
  const folds = new GroupFolds();
  const scope = { ...(metric === undefined ? {} : { metric }), ...boundsOf(query) };
  if (scope.from >= scope.to) return folds.groups(query);
  await read(scope, (device, name, day, part) => {
    const key = by === 'device' ? device : by === 'metric' ? name : dayKey(day);
    folds.addPart({ key, ...part });
  });
  return folds.groups(query);
}

let lastStart = 0;

/**
 * Computes the totals of the whole days in [from, to), and replaces those in the table. After a crash, each day has its
 * old or its new totals, and the next roll-up of the same days replaces all of them.
 * @returns The number of (day, metric) pairs.
 */
export async function rollUpDays({ table, rows }: DayTotals, from: number, to: number): Promise<number> {
  const days = { first: Math.ceil(Math.max(from, 0) / DAY_US), until: endOfDays(to) };
  if (days.first >= days.until) return 0;
  // The start is also the version of the totals, so no two roll-ups of one process have the same.
  lastStart = Math.max(Date.now(), lastStart + 1);
  const folds = new GroupFolds();
  const scope = { from: days.first * DAY_US, to: Math.min(days.until * DAY_US, MAX_TIME + 1) };
  const asOf = lastStart * 1000;
  await rows.ofAll(scope, (_device, metric, day, part) =>
    folds.addPart({ key: `${day} ${metric}`, ...part }),
  );
  const { groups } = folds.groups({ limit: Number.POSITIVE_INFINITY });
  const totals = Map.groupBy(groups.map(toDayTotal), ({ day }) => day);
  await table.replace({ ...days, asOf }, totals);
  return groups.length;
}

function toDayTotal({ key, count, sum, min, max }: Group): DayTotal {
  const space = key.indexOf(' ');
  return { day: Number(key.slice(0, space)), metric: key.slice(space + 1), count, sum, min, max };
}

/** Roll-ups that a later one makes unnecessary. */
export function covered(rollUps: readonly RollUp[], { first, until, asOf }: RollUp): RollUp[] {
  return rollUps.filter((each) => each.first >= first && each.until <= until && each.asOf < asOf);
}

/**
 * The start of the last roll-up of each day, and of these the earliest. Null if a day was never rolled up, because
 * the tables can then lack any number of readings.
 */
function knownUntil(rollUps: readonly RollUp[], { first, until }: Days): number | null {
  let earliest: number | null = null;
  const borders = rollUps.flatMap((each) => [each.first, each.until]);
  const starts = [...new Set([first, ...borders])].filter((day) => day >= first && day < until);
  for (const day of starts) {
    const found = rollUps.filter((each) => each.first <= day && day < each.until);
    if (found.length === 0) return null;
    const latest = Math.max(...found.map(({ asOf }) => asOf));
    earliest = earliest === null ? latest : Math.min(earliest, latest);
  }
  return earliest;
}

/** The end of the last whole day before a time. The last day of all is not whole, and counts. */
function endOfDays(to: number): number {
  return to >= MAX_TIME ? END_DAY : Math.floor(to / DAY_US);
}

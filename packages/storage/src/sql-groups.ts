import type { DeviceFilter } from './contract.ts';
import { FILTER_FIELDS, type RowGroupKey, type RowGroupQuery } from './groups.ts';
import { DAY_US } from './rollups/periods.ts';

// Statements over groups of readings, for SQL engines with the same tables: readings r by (series, time), series s by
// (device, metric), devices d by name.

/** Adds a value to a statement. Called in the order of the text. Returns its placeholder. */
export type Bind = (value: string | number) => string;

/** What an engine writes differently. */
export interface GroupDialect {
  /** The days since the epoch of `r.time`, with a whole division by `DAY_US`. */
  readonly day: string;
  /** Whether the sum of a group is not reliable. Column `unsafe`. Such groups come first, whatever the order is. */
  readonly unsafe?: string;
}

export const SQL_DAY = `r.time / ${DAY_US}`;

/**
 * One statement for `groups`. Columns: grouped, count, min, max, mean, sum. Conditions that a query lacks are left
 * out, because a plan for any bounds would expect few rows.
 */
export function groupStatement(query: RowGroupQuery, bind: Bind, { day, unsafe }: GroupDialect): string {
  const { by, from, to, order = 'key', limit } = query;
  const conditions = ['r.value is not null'];
  if (from !== undefined) conditions.push(`r.time >= ${bind(from)}`);
  if (to !== undefined) conditions.push(`r.time < ${bind(to)}`);
  const { tables, where } = seriesOf(query, bind);
  const sorting = [
    ...(unsafe === undefined ? [] : ['unsafe desc']),
    ...(order === 'key' ? [] : [`${order} desc`]),
    'grouped',
  ];
  return `
    select ${keyOf(by, day)} as grouped, count(*) as count, min(r.value) as min, max(r.value) as max,
      avg(r.value) as mean, sum(r.value) as sum${unsafe === undefined ? '' : `, ${unsafe} as unsafe`}
    from readings r ${tables}
    where ${[...conditions, ...where].join(' and ')}
    group by 1 order by ${sorting.join(', ')} limit ${bind(limit)}`;
}

function keyOf(by: RowGroupKey, day: string): string {
  return by === 'day' ? day : `s.${by}`;
}

/** The joins and conditions for the series of a query. */
function seriesOf(
  { by, metric, devices = {} }: RowGroupQuery,
  bind: Bind,
): { tables: string; where: string[] } {
  const where = metric === undefined ? [] : [`s.metric = ${bind(metric)}`];
  const fields = deviceConditions(devices, bind);
  const tables: string[] = [];
  if (by !== 'day' || metric !== undefined || fields.length > 0)
    tables.push('join series s on s.id = r.series');
  if (fields.length > 0) tables.push('join devices d on d.name = s.device');
  return { tables: tables.join(' '), where: [...where, ...fields] };
}

/** Conditions of a filter on devices d. */
export function deviceConditions(filter: DeviceFilter, bind: Bind): string[] {
  const given = FILTER_FIELDS.filter((field) => filter[field] !== undefined);
  return given.map((field) => `d.${field} = ${bind(filter[field]!)}`);
}

import type { AggregateQuery, RollupPeriod } from '../contract.ts';
import type { Mark } from './backend-rollups.ts';
import type { Limits } from './limits.ts';
import { ceilTo, floorTo, HOUR_US, PERIOD_US, ROLLUP_PERIODS } from './periods.ts';

/** [from, to), microseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface TableSpan extends Span {
  readonly period: RollupPeriod;
}

/** Disjoint spans, which together are the query. */
export interface Plan {
  readonly tables: readonly TableSpan[];
  readonly raw: readonly Span[];
}

/** What decides where figures can be read. */
export interface Knowledge {
  readonly marks: readonly Mark[];
  readonly limits: Limits;
  /** Days whose readings have no marks and were never rolled up. By time. */
  readonly unknown: readonly Span[];
}

/** More spans of readings than this are read as one. */
const MAX_RAW_SPANS = 16;

/**
 * Chooses the coarsest rollups that answer exactly: whole periods, each of which lies in one bucket, and whose readings
 * have not changed since. All else is read from the readings. Rollups of changed hours are used if their readings can be
 * expired, unless readings were deleted on request.
 */
export function planOf(query: Omit<AggregateQuery, 'device' | 'metric'>, knowledge: Knowledge): Plan {
  const { marks, limits, unknown } = knowledge;
  const changed = marks
    .filter(({ hour, erased }) => hour >= limits.raw || erased)
    .map(({ hour }) => ({ from: hour, to: hour + HOUR_US }));
  const plan = chooseTables(query, limits, [...changed, ...unknown]);
  if (plan.raw.length <= MAX_RAW_SPANS || changed.length === 0) return plan;
  const isFused = ({ from }: Span) => from >= limits.raw;
  const complete = changed.filter(isFused);
  const first = Math.min(...complete.map((span) => span.from));
  const last = Math.max(...complete.map((span) => span.to));
  const others = changed.filter((span) => !isFused(span));
  return chooseTables(query, limits, [...unknown, ...others, { from: first, to: last }]);
}

function chooseTables(
  { from, to, bucket }: Omit<AggregateQuery, 'device' | 'metric'>,
  limits: Limits,
  excluded: readonly Span[],
): Plan {
  const isOneBucket = Math.floor(from / bucket) === Math.floor((to - 1) / bucket);
  const tables: TableSpan[] = [];
  let open = subtract([{ from, to }], excluded);
  for (const period of ROLLUP_PERIODS.toReversed()) {
    const length = PERIOD_US[period];
    if (!isOneBucket && bucket % length !== 0) continue;
    const found = open
      .map((span) => ({
        period,
        from: ceilTo(Math.max(span.from, limits[period]), length),
        to: floorTo(span.to, length),
      }))
      .filter((span) => span.from < span.to);
    tables.push(...found);
    open = subtract(open, found);
  }
  return { tables, raw: subtract([{ from, to }], tables) };
}

/** The parts of `spans` outside of `holes`, by time. `spans` are disjoint and by time. */
export function subtract(spans: readonly Span[], holes: readonly Span[]): Span[] {
  const sorted = holes.toSorted((a, b) => a.from - b.from);
  const rest: Span[] = [];
  let next = 0;
  for (const span of spans) {
    let { from } = span;
    while (next < sorted.length && sorted[next]!.to <= from) next += 1;
    for (let at = next; at < sorted.length && sorted[at]!.from < span.to; at += 1) {
      const hole = sorted[at]!;
      if (hole.from > from) rest.push({ from, to: hole.from });
      from = Math.max(from, hole.to);
    }
    if (from < span.to) rest.push({ from, to: span.to });
  }
  return rest;
}

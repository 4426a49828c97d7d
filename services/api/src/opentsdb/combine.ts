import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Aggregator, Interpolation } from './aggregators.ts';
import { type Budget, Points } from './points.ts';

/** Values that are combined before other work of the process gets a turn. */
const TURN_VALUES = 50_000;

/**
 * Combines series into one, which has a point at each time at which one of them has one. A series without a point at
 * that time contributes an interpolated value between its first and its last point, and nothing before and after. Of
 * rates, the previous one counts instead: OpenTSDB's AggregationIterator.
 */
export async function combine(
  series: readonly Points[],
  { interpolation, run }: Aggregator,
  areRates: boolean,
  budget: Budget,
): Promise<Points> {
  const result = new Points(budget);
  const method = areRates ? 'previous' : interpolation;
  const next = new Uint32Array(series.length);
  const values = new Float64Array(series.length);
  let done = 0;
  for (;;) {
    const time = nextTime(series, next);
    if (time === Number.POSITIVE_INFINITY) return result;
    const count = valuesAt(series, next, time, method, values);
    result.add(time, run(values, count));
    done += series.length;
    if (done >= TURN_VALUES) {
      done = 0;
      budget.checkTime();
      await nextTurn();
    }
  }
}

/** The value between the points `at` and `at + 1`. */
/** The earliest time of the next points; infinite at the end of all series. */
function nextTime(series: readonly Points[], next: Uint32Array): number {
  let time = Number.POSITIVE_INFINITY;
  for (let index = 0; index < series.length; index += 1) {
    const candidate = series[index]!.timeOrEnd(next[index]!);
    if (candidate < time) time = candidate;
  }
  return time;
}

/** Writes the values that count at a time into `values`, and advances `next` behind it. Returns their number. */
function valuesAt(
  series: readonly Points[],
  next: Uint32Array,
  time: number,
  method: Interpolation,
  values: Float64Array,
): number {
  let count = 0;
  for (let index = 0; index < series.length; index += 1) {
    const points = series[index]!;
    if (points.timeOrEnd(next[index]!) === time) next[index]! += 1;
    const at = next[index]! - 1;
    if (at < 0) continue;
    if (points.time(at) === time) values[count] = points.value(at);
    else if (at === points.length - 1) continue;
    else values[count] = interpolated(points, at, time, method);
    count += 1;
  }
  return count;
}

function interpolated(points: Points, at: number, time: number, method: Interpolation): number {
  const before = points.value(at);
  switch (method) {
    case 'zero':
      return 0;
    case 'largest':
      return Number.MAX_VALUE;
    case 'smallest':
      return -Number.MAX_VALUE;
    case 'previous':
      return before;
    case 'lerp': {
      const from = points.time(at);
      return before + ((time - from) * (points.value(at + 1) - before)) / (points.time(at + 1) - from);
    }
  }
}

import { bad } from './errors.ts';

// The aggregators of OpenTSDB 2.4: http://opentsdb.net/docs/build/html/user_guide/query/aggregators.html
// All values are doubles. NaN is a missing value.

/**
 * What a series without a point at a time contributes between its first and its last point: the value on the line
 * between its neighbours (`lerp`), 0 (`zero`), the largest or smallest double, or its previous value.
 */
export type Interpolation = 'lerp' | 'zero' | 'largest' | 'smallest' | 'previous';

/** Figures that the store computes for a bucket. */
export type StoredFigure = 'sum' | 'min' | 'max' | 'mean' | 'count';

export interface Aggregator {
  readonly name: string;
  readonly interpolation: Interpolation;
  /** @param values the first `count` of them count; at least one */
  run(values: Float64Array, count: number): number;
  /** The figure that is the same when it aggregates the values of one bucket. */
  readonly figure?: StoredFigure;
}

/** `none`: every series is in the answer itself. It cannot downsample. */
export const NONE = 'none';

type Run = Aggregator['run'];

const sum: Run = (values, count) => fold(values, count, 0, (total, value) => total + value);
const squareSum: Run = (values, count) => fold(values, count, 0, (total, value) => total + value * value);
const min: Run = (values, count) => fold(values, count, Number.POSITIVE_INFINITY, Math.min);
const max: Run = (values, count) => fold(values, count, Number.NEGATIVE_INFINITY, Math.max);
const avg: Run = (values, count) => sum(values, count) / present(values, count);
const multiply: Run = (values, count) => {
  let product = 1;
  for (let index = 0; index < count; index += 1) product *= values[index]!;
  return product;
};
const first: Run = (values) => values[0]!;
const last: Run = (values, count) => values[count - 1]!;

/** The population's standard deviation, by Welford's method. */
const deviation: Run = (values, count) => {
  let [n, mean, squares] = [0, 0, 0];
  for (let index = 0; index < count; index += 1) {
    const value = values[index]!;
    if (Number.isNaN(value)) continue;
    n += 1;
    const before = mean;
    mean += (value - before) / n;
    squares += (value - before) * (value - mean);
  }
  return n === 0 ? Number.NaN : Math.sqrt(squares / n);
};

/** The last value less the first one that is present. */
const difference: Run = (values, count) => {
  let index = 0;
  while (index < count && Number.isNaN(values[index])) index += 1;
  if (index === count) return Number.NaN;
  return index === count - 1 ? 0 : values[count - 1]! - values[index]!;
};

const median: Run = (values, count) => {
  const sorted = sortedOf(values, count);
  return sorted.length === 0 ? Number.NaN : sorted[Math.floor(sorted.length / 2)]!;
};

/** Position of a percentile in n sorted values, from 1 on. */
type Position = (share: number, n: number) => number;
const legacy: Position = (share, n) => share * (n + 1);
/** of Hyndman and Fan (1996). */
const r3: Position = (share, n) => halfToEven(share * n);
const r7: Position = (share, n) => 1 + share * (n - 1);

function percentile(share: number, position: Position): Run {
  return (values, count) => {
    const sorted = sortedOf(values, count);
    const n = sorted.length;
    if (n === 0) return Number.NaN;
    const at = Math.min(Math.max(position(share, n), 1), n);
    const below = Math.floor(at);
    const lower = sorted[below - 1]!;
    return below === n ? lower : lower + (at - below) * (sorted[below]! - lower);
  };
}

const PERCENTILES: readonly Aggregator[] = [999, 99, 95, 90, 75, 50].flatMap((number) => {
  const share = number / 10 ** String(number).length;
  return [
    { name: `p${number}`, interpolation: 'lerp', run: percentile(share, legacy) },
    { name: `ep${number}r3`, interpolation: 'lerp', run: percentile(share, r3) },
    { name: `ep${number}r7`, interpolation: 'lerp', run: percentile(share, r7) },
  ];
});

const AGGREGATORS: ReadonlyMap<string, Aggregator> = new Map(
  (
    [
      { name: 'sum', interpolation: 'lerp', run: sum, figure: 'sum' },
      { name: 'zimsum', interpolation: 'zero', run: sum, figure: 'sum' },
      { name: 'pfsum', interpolation: 'previous', run: sum, figure: 'sum' },
      { name: 'min', interpolation: 'lerp', run: min, figure: 'min' },
      { name: 'mimmin', interpolation: 'largest', run: min, figure: 'min' },
      { name: 'max', interpolation: 'lerp', run: max, figure: 'max' },
      { name: 'mimmax', interpolation: 'smallest', run: max, figure: 'max' },
      { name: 'avg', interpolation: 'lerp', run: avg, figure: 'mean' },
      { name: 'count', interpolation: 'zero', run: present, figure: 'count' },
      { name: 'median', interpolation: 'lerp', run: median },
      { name: 'dev', interpolation: 'lerp', run: deviation },
      { name: 'diff', interpolation: 'lerp', run: difference },
      { name: 'mult', interpolation: 'lerp', run: multiply },
      { name: 'squareSum', interpolation: 'zero', run: squareSum },
      { name: 'first', interpolation: 'zero', run: first },
      { name: 'last', interpolation: 'zero', run: last },
      ...PERCENTILES,
    ] satisfies Aggregator[] as Aggregator[]
  ).map((each) => [each.name, each]),
);

/** The names of all aggregators, sorted. */
export const AGGREGATOR_NAMES: readonly string[] = [...AGGREGATORS.keys(), NONE].sort();

/** The last value of a second, for `none`. */
export const LAST: Aggregator = AGGREGATORS.get('last')!;

/** The aggregator of a name, or null for `none`. @throws {Problem} 400 */
export function aggregatorOf(name: string): Aggregator | null {
  if (name === NONE) return null;
  const found = AGGREGATORS.get(name);
  if (found === undefined) {
    throw bad(`No such aggregation function: ${name}. There are ${AGGREGATOR_NAMES.join(', ')}.`);
  }
  return found;
}

function fold(
  values: Float64Array,
  count: number,
  start: number,
  add: (result: number, value: number) => number,
): number {
  let result = start;
  let n = 0;
  for (let index = 0; index < count; index += 1) {
    const value = values[index]!;
    if (Number.isNaN(value)) continue;
    result = add(result, value);
    n += 1;
  }
  return n === 0 ? Number.NaN : result;
}

function present(values: Float64Array, count: number): number {
  let n = 0;
  for (let index = 0; index < count; index += 1) if (!Number.isNaN(values[index])) n += 1;
  return n;
}

function sortedOf(values: Float64Array, count: number): Float64Array {
  return values
    .slice(0, count)
    .filter((value) => !Number.isNaN(value))
    .sort();
}

function halfToEven(value: number): number {
  const floor = Math.floor(value);
  if (value - floor !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { AGGREGATOR_NAMES, aggregatorOf } from '../../src/opentsdb/aggregators.ts';
import { combine } from '../../src/opentsdb/combine.ts';
import { Budget, Points } from '../../src/opentsdb/points.ts';
import { parseTime } from '../../src/opentsdb/time.ts';

const budget = () => new Budget(2 ** 30, 60);

function pointsOf(values: Readonly<Record<number, number>>): Points {
  const points = new Points(budget());
  for (const [time, value] of Object.entries(values)) points.add(Number(time), value);
  return points;
}

async function combined(
  name: string,
  series: readonly Readonly<Record<number, number>>[],
  areRates = false,
): Promise<Record<number, number>> {
  const result = await combine(series.map(pointsOf), aggregatorOf(name)!, areRates, budget());
  return Object.fromEntries(
    Array.from({ length: result.length }, (_, index) => [result.time(index), result.value(index)]),
  );
}

// Two series with values at different times: the first has none at 30, the second none at 20, and none at 50 on.
const SERIES = [
  { 10: 1, 20: 2, 40: 6, 50: 7 },
  { 10: 10, 30: 30, 40: 50 },
];

test('each aggregator interpolates missing values as OpenTSDB does', async () => {
  const expected: Readonly<Record<string, Record<number, number>>> = {
    sum: { 10: 11, 20: 2 + 20, 30: 4 + 30, 40: 56, 50: 7 },
    zimsum: { 10: 11, 20: 2, 30: 30, 40: 56, 50: 7 },
    pfsum: { 10: 11, 20: 2 + 10, 30: 2 + 30, 40: 56, 50: 7 },
    avg: { 10: 5.5, 20: 11, 30: 17, 40: 28, 50: 7 },
    min: { 10: 1, 20: 2, 30: 4, 40: 6, 50: 7 },
    max: { 10: 10, 20: 20, 30: 30, 40: 50, 50: 7 },
    mimmin: { 10: 1, 20: 2, 30: 30, 40: 6, 50: 7 },
    mimmax: { 10: 10, 20: 2, 30: 30, 40: 50, 50: 7 },
    count: { 10: 2, 20: 2, 30: 2, 40: 2, 50: 1 },
    diff: { 10: 9, 20: 18, 30: 26, 40: 44, 50: 0 },
    mult: { 10: 10, 20: 40, 30: 120, 40: 300, 50: 7 },
    first: { 10: 1, 20: 2, 30: 0, 40: 6, 50: 7 },
    last: { 10: 10, 20: 0, 30: 30, 40: 50, 50: 7 },
    dev: { 10: 4.5, 20: 9, 30: 13, 40: 22, 50: 0 },
    median: { 10: 10, 20: 20, 30: 30, 40: 50, 50: 7 },
    squareSum: { 10: 101, 20: 4, 30: 900, 40: 2536, 50: 49 },
  };
  for (const [name, values] of Object.entries(expected)) {
    assert.deepEqual(await combined(name, SERIES), values, name);
  }
});

test('a series contributes nothing before its first and after its last point', async () => {
  const series = [{ 10: 1, 20: 1, 30: 1 }, { 20: 5 }];
  assert.deepEqual(await combined('sum', series), { 10: 1, 20: 6, 30: 1 });
  assert.deepEqual(await combined('mimmin', series), { 10: 1, 20: 1, 30: 1 });
});

test('rates are not interpolated: the previous one counts', async () => {
  assert.deepEqual(await combined('sum', SERIES, true), { 10: 11, 20: 12, 30: 32, 40: 56, 50: 7 });
});

test('missing values do not count, and only missing values are missing', async () => {
  const series = [
    { 10: Number.NaN, 20: 4, 30: Number.NaN },
    { 10: 2, 20: 6, 30: Number.NaN },
  ];
  const cases: [string, number[]][] = [
    ['sum', [2, 10, Number.NaN]],
    ['avg', [2, 5, Number.NaN]],
    ['min', [2, 4, Number.NaN]],
    ['max', [2, 6, Number.NaN]],
    ['count', [1, 2, 0]],
    ['dev', [0, 1, Number.NaN]],
    ['p50', [2, 5, Number.NaN]],
    ['median', [2, 6, Number.NaN]],
  ];
  for (const [name, values] of cases) {
    assert.deepEqual(Object.values(await combined(name, series)), values, name);
  }
});

test('percentiles are those of Commons Math, R-3 and R-7', () => {
  // Quantiles of 1 to 10 by R: quantile(1:10, c(.5, .75, .95), type = 6, 3 and 7).
  const values = Float64Array.from([10, 1, 9, 2, 8, 3, 7, 4, 6, 5]);
  const expected = {
    p50: 5.5,
    p75: 8.25,
    p95: 10,
    ep50r3: 5,
    ep75r3: 8,
    ep95r3: 10,
    ep50r7: 5.5,
    ep75r7: 7.75,
    ep95r7: 9.55,
  };
  for (const [name, value] of Object.entries(expected)) {
    const found = aggregatorOf(name)!.run(values, values.length);
    assert.ok(Math.abs(found - value) < 1e-12, `${name}: ${found}`);
  }
});

test('equal times: combining is aggregating, for every aggregator', async () => {
  const values = fc.array(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }), {
    minLength: 1,
    maxLength: 6,
  });
  await fc.assert(
    fc.asyncProperty(
      values,
      fc.constantFrom(...AGGREGATOR_NAMES.filter((name) => name !== 'none')),
      async (all, name) => {
        const found = await combined(
          name,
          all.map((value) => ({ 1000: value, 2000: value })),
        );
        const expected = aggregatorOf(name)!.run(Float64Array.from(all), all.length);
        assert.deepEqual(found, { 1000: expected, 2000: expected });
      },
    ),
  );
});

test('times are read as OpenTSDB reads them', () => {
  const now = Date.UTC(2026, 10, 21, 12);
  const cases: [string | number, number][] = [
    ['now', now],
    ['1h-ago', now - 3_600_000],
    ['90S-AGO', now - 90_000],
    ['1n-ago', now - 30 * 86_400_000],
    ['250ms-ago', now - 250],
    [1_795_269_900, 1_795_269_900_000],
    ['1795269900', 1_795_269_900_000],
    ['1795269900.5', 1_795_269_900_500],
    [1_795_269_900_123, 1_795_269_900_123],
    ['1795269900123ms', 1_795_269_900_123],
    ['2026/11/21', Date.UTC(2026, 10, 21)],
    ['2026/11/21 14:05', Date.UTC(2026, 10, 21, 14, 5)],
    ['2026/11/21-14:05:08', Date.UTC(2026, 10, 21, 14, 5, 8)],
    ['60y-ago', 0],
  ];
  for (const [text, time] of cases) assert.equal(parseTime(text, now, 'start'), time, String(text));
  for (const text of [
    '',
    '-1',
    '1.5',
    '1h',
    'h-ago',
    '0s-ago',
    '2026/02/30',
    '2026/13/01',
    '2026/11/21-24:00',
    '99999999999999999',
  ])
    assert.throws(() => parseTime(text, now, 'start'), /Invalid (start time|duration)/, text);
});

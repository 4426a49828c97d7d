import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { test } from 'node:test';
import { Histogram, Metrics, observeStore } from '@tidegauge/service';
import fc from 'fast-check';

test('a quantile is within a bucket width of the exact one', () => {
  // The first bucket has everything up to 10 microseconds.
  const first = 1e-5;
  const seconds = fc.oneof(
    fc.double({ min: first, max: 100, noNaN: true }),
    fc.double({ min: 0, max: 2 * first, noNaN: true }),
  );
  fc.assert(
    fc.property(
      fc.array(seconds, { minLength: 1, maxLength: 200 }),
      fc.constantFrom(0.5, 0.9, 0.99),
      (values, q) => {
        const histogram = new Histogram();
        for (const value of values) histogram.observe(value);
        const sorted = values.toSorted((a, b) => a - b);
        const exact = sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)]!;
        const estimate = histogram.quantile(q)!;
        if (exact <= first) assert.ok(estimate > 0 && estimate <= first, `${estimate} for ${exact}`);
        else assert.ok(estimate >= exact / 1.3 && estimate <= exact * 1.3, `${estimate} for ${exact}`);
      },
    ),
    { numRuns: 1000, examples: [[[first], 0.5]] },
  );
});

test('published buckets are cumulative and end at the count', () => {
  const histogram = new Histogram();
  histogram.observe(0.003, 5);
  histogram.observe(0.03, 2);
  histogram.observe(1000);
  histogram.observe(-1);
  const { buckets, count, sum } = histogram.snapshot();
  assert.equal(new Map(buckets).get(0.005), 6);
  assert.equal(new Map(buckets).get(0.05), 8);
  assert.equal(buckets.at(-1)![1], 8);
  assert.equal(count, 9);
  assert.ok(Math.abs(sum - 1000.075) < 1e-9);
});

test('the sum of two histograms has the observations of both', () => {
  const [one, other, both] = [new Histogram(), new Histogram(), new Histogram()];
  for (const [histogram, value] of [
    [one, 0.01],
    [one, 0.02],
    [other, 5],
  ] as const) {
    histogram.observe(value, 3);
    both.observe(value, 3);
  }
  one.add(other);
  assert.deepEqual([one.snapshot(), one.counts()], [both.snapshot(), both.counts()]);
});

test('an empty histogram has no quantile', () => {
  assert.equal(new Histogram().quantile(0.5), null);
});

test('the text format contains counters, read at the time of the scrape, and histograms with labels', async () => {
  const metrics = new Metrics();
  let received = 1;
  metrics.counter('t_received_total', 'Received', () => [{ labels: { route: 'r' }, value: received }], [
    'route',
  ]);
  const observe = observeStore(metrics, 'sqlite', ['UNAVAILABLE', 'TIMEOUT']);
  received = 41;
  observe('readings.write', 0.002, null);
  observe('readings.write', 0.002, 'UNAVAILABLE');
  const text = await metrics.text();
  assert.match(text, /^t_received_total\{route="r"\} 41$/m);
  assert.match(
    text,
    /^tidegauge_store_seconds_bucket\{backend="sqlite",op="readings.write",le="0.002"\} 2$/m,
  );
  assert.match(text, /^tidegauge_store_seconds_count\{backend="sqlite",op="readings.write"\} 2$/m);
  assert.match(text, /^tidegauge_store_errors_total\{backend="sqlite",kind="UNAVAILABLE"\} 1$/m);
  assert.match(text, /^tidegauge_store_errors_total\{backend="sqlite",kind="TIMEOUT"\} 0$/m);
});

test('the board has its name in every scrape: its own, or that of the host', async () => {
  const line = async (metrics: Metrics) => /^tidegauge_board_info\{.*$/m.exec(await metrics.text())?.[0];
  assert.equal(await line(new Metrics('pi "3"')), 'tidegauge_board_info{nodename="pi \\"3\\""} 1');
  assert.equal(await line(new Metrics()), `tidegauge_board_info{nodename="${hostname()}"} 1`);
});

test('a metric without a value has no sample, and not a zero', async () => {
  const metrics = new Metrics();
  let value: number | null = 3;
  const read = () => (value === null ? [] : [{ value }]);
  metrics.gauge('t_level', 'Level', read);
  metrics.counter('t_things_total', 'Things', read);
  assert.match(await metrics.text(), /^t_level 3\n(.*\n)+t_things_total 3$/m);
  value = null;
  assert.doesNotMatch(await metrics.text(), /^t_/m);
});

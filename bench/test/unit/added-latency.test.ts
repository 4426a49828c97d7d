import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type AddedLatency,
  addedLatency,
  halfWidth,
  isPrecise,
  type Latencies,
  sectioned,
} from '@tidegauge/bench/added-latency';
import { type AddedResult, addedCsv, headlineTable } from '@tidegauge/bench/added-tables';
import type { OperationDemand } from '@tidegauge/bench/operation-demand';
import { seeded } from '@tidegauge/workload';

const meanAdded = ({ raw, app }: Latencies): number => mean(app) - mean(raw);

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Blocks of one operation each, with the same latency of the store. */
function single(added: readonly number[]): Latencies[] {
  return added.map((more) => ({ raw: [1], app: [1 + more] }));
}

test("sections of one operation have Student's interval of their values", () => {
  // Deviation 0.1581 over five values, and 2.7764 for four degrees of freedom.
  const interval = sectioned(single([0.1, 0.2, 0.3, 0.4, 0.5]), meanAdded, 1)!;
  assert.ok(Math.abs(interval.value - 0.3) < 1e-12);
  assert.ok(Math.abs(halfWidth(interval) - (2.7764 * 0.15811) / Math.sqrt(5)) < 1e-4);
});

test('there is no interval from four blocks, or from sections with too few operations', () => {
  assert.equal(sectioned(single([1, 2, 3, 4]), meanAdded, 1), null);
  assert.equal(sectioned(single(Array.from({ length: 24 }, () => 1)), meanAdded, 5), null);
  assert.notEqual(sectioned(single(Array.from({ length: 25 }, () => 1)), meanAdded, 5), null);
});

test('the median of pairs is that of their differences, and else the difference of the medians', () => {
  const blocks = Array.from({ length: 25 }, () => ({ raw: [1, 5, 9], app: [2, 9, 10] }));
  assert.deepEqual(addedLatency(blocks, true).median, { value: 1, low: 1, high: 1 });
  assert.deepEqual(addedLatency(blocks, false).median, { value: 4, low: 4, high: 4 });
  const { operations, raw, p99 } = addedLatency(blocks, true);
  assert.deepEqual({ operations, raw }, { operations: 75, raw: { median: 5, mean: 5, p99: 9 } });
  assert.equal(p99, null, '75 operations have no 99th percentile');
});

test('the 99th percentile is by nearest rank, and its difference has an interval', () => {
  const raw = Array.from({ length: 100 }, (_, n) => n + 1);
  const blocks = Array.from({ length: 10 }, () => ({ raw, app: raw.map((latency) => latency * 2) }));
  assert.deepEqual(addedLatency(blocks, true).p99, { value: 99, low: 99, high: 99 });
});

test('a median is precise within 5 % of that of the store, or within 20 µs', () => {
  const of = (rawMedian: number, half: number): AddedLatency => ({
    operations: 1,
    raw: { median: rawMedian, mean: 1, p99: 1 },
    median: { value: 1, low: 1 - half, high: 1 + half },
    mean: null,
    p99: null,
  });
  assert.equal(isPrecise(of(10, 0.49)), true);
  assert.equal(isPrecise(of(10, 0.51)), false);
  assert.equal(isPrecise(of(0.01, 0.019)), true);
  assert.equal(isPrecise(of(0.01, 0.021)), false);
  assert.equal(isPrecise({ ...of(10, 0), median: null }), false);
});

test('the interval contains the true value although neighbouring blocks resemble one another', () => {
  const random = seeded(7);
  const normal = (): number =>
    Math.sqrt(-2 * Math.log(1 - random.double())) * Math.cos(2 * Math.PI * random.double());
  let hits = 0;
  for (let series = 0; series < 200; series += 1) {
    let drift = 0;
    const blocks = Array.from({ length: 400 }, () => {
      drift = 0.6 * drift + normal();
      return { raw: [10], app: [10.3 + 0.1 * drift] };
    });
    const { low, high } = sectioned(blocks, meanAdded, 5)!;
    if (low <= 0.3 && 0.3 <= high) hits += 1;
  }
  // An interval that takes the blocks as independent would contain it in 67 %.
  assert.ok(hits >= 176, `${hits} of 200`);
});

const DEMAND: OperationDemand = {
  storeCalls: 1,
  cpuMicros: { client: 10, api: null, store: 20 },
  bytes: { client: 300, api: null },
};

function result(workload: string, threads: number, operations: AddedResult['operations']): AddedResult {
  const app = {
    storeCalls: 2,
    cpuMicros: { client: 40, api: 50, store: 21 },
    bytes: { client: 600, api: 900 },
  };
  const rate = { raw: 1000, app: 500 };
  return { store: 'sqlite', workload, threads, blocks: 20, rate, operations, demand: { raw: DEMAND, app } };
}

function added(operations: number, value: number, half: number): AddedLatency {
  const interval = { value, low: value - half, high: value + half };
  return {
    operations,
    raw: { median: 0.3217, mean: 0.4, p99: 2 },
    median: interval,
    mean: interval,
    p99: null,
  };
}

test('the headline has a row for each number of threads, from the workload with the largest share', () => {
  const results = [
    result('a', 1, { read: added(50, 9, 0.1), update: added(50, 0.2513, 0.0123) }),
    result('c', 1, { read: added(100, 0.251, 0.098) }),
    result('c', 16, { read: added(100, 12.4, 23) }),
  ];
  const lines = headlineTable(results).split('\n').slice(2);
  assert.deepEqual(lines, [
    '| store | threads | read | update | insert | scan | read-modify-write |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    '| sqlite | 1 | 0.32 + 0.25 ± 0.10 | 0.32 + 0.25 ± 0.01 | – | – | – |',
    '| sqlite | 16 | 0 + 12 ± 23 | – | – | – | – |',
  ]);
});

test('the CSV has a row for each operation, and one for what an operation of a workload uses', () => {
  const read = added(100, 0.251, 0.0981);
  const [header, ...rows] = addedCsv([result('c', 1, { read })])
    .trimEnd()
    .split('\n');
  const columns = header!.split(',');
  const tables = rows.map((row) =>
    Object.fromEntries(
      row.split(',').flatMap((cell, index) => (cell === '' ? [] : [[columns[index], cell]])),
    ),
  );
  const workload = { store: 'sqlite', workload: 'c', threads: '1' };
  assert.deepEqual(tables, [
    {
      ...{ ...workload, operation: 'read', number: '100' },
      ...{ 'median alone ms': '0.3217', 'median added ms': '0.251', 'median half width ms': '0.0981' },
      ...{ 'mean alone ms': '0.4', 'mean added ms': '0.251', 'mean half width ms': '0.0981' },
      'p99 alone ms': '2',
    },
    {
      ...{ ...workload, operation: 'any', 'operations/s raw': '1000', 'operations/s app': '500' },
      ...{ 'store calls raw': '1', 'store calls app': '2' },
      ...{ 'client CPU µs raw': '10', 'client CPU µs app': '40', 'API CPU µs app': '50' },
      ...{ 'store CPU µs raw': '20', 'store CPU µs app': '21' },
      ...{ 'client bytes raw': '300', 'client bytes app': '600', 'API bytes app': '900' },
    },
  ]);
});

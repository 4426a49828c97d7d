import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BlockPair, operationCosts, stagesOf } from '@tidegauge/bench/operation-costs';
import type { RecordBlock } from '@tidegauge/loadtests/drivers/record-driver';
import { parseScrape } from '@tidegauge/test-support/scrape';

function block(latencies: Record<string, readonly number[]>): RecordBlock {
  const entries = Object.entries(latencies) as [keyof RecordBlock['latencies'] & string, readonly number[]][];
  return {
    seconds: 1,
    done: 0,
    latencies: new Map(entries) as unknown as RecordBlock['latencies'],
    outcomes: new Map(),
    verified: 0,
    damaged: 0,
  };
}

/** Blocks in which the store gets slower, and the application adds 0.2 to 0.4 ms. */
const PAIRS: readonly BlockPair[] = [
  { raw: block({ read: [1, 1, 1] }), app: block({ read: [1.2, 1.2, 1.2] }) },
  { raw: block({ read: [2, 2, 2] }), app: block({ read: [2.3, 2.3, 2.3] }) },
  { raw: block({ read: [3, 3, 3], update: [1] }), app: block({ read: [3.4, 3.4, 3.4], update: [2] }) },
];

test('differences between blocks do not widen the interval of the differences within blocks', () => {
  const [read, ...others] = operationCosts(PAIRS);
  assert.equal(others.length, 0, 'an update in one block only has no interval');
  assert.equal(read!.operation, 'read');
  assert.equal(read!.operations, 9);
  for (const { raw, app, added } of [read!.median, read!.mean]) {
    assert.ok(Math.abs(raw - 2000) < 1e-6 && Math.abs(app - 2300) < 1e-6);
    assert.ok(Math.abs(added.mean - 300) < 1e-6);
    // The standard deviation over three blocks is 100.
    assert.ok(Math.abs(added.high - 300 - 248.43) < 0.1);
  }
});

test('stages are the times that the API reports for the period, and the rest of the total', () => {
  const text = (count: number) =>
    [
      `tidegauge_http_request_seconds_sum{method="GET",route="/v1/records/{table}/{key}",status="200"} ${count * 0.001}`,
      `tidegauge_http_request_seconds_count{method="GET",route="/v1/records/{table}/{key}",status="200"} ${count}`,
      `tidegauge_http_request_seconds_sum{method="PUT",route="/v1/records/{table}/{key}",status="201"} ${count * 9}`,
      `tidegauge_http_request_seconds_count{method="PUT",route="/v1/records/{table}/{key}",status="201"} ${count}`,
      `tidegauge_store_seconds_sum{backend="sqlite",op="records.read"} ${count * 0.0004}`,
      `tidegauge_store_seconds_count{backend="sqlite",op="records.read"} ${count}`,
      'tidegauge_live_clients 0',
    ].join('\n');
  const [read] = stagesOf(operationCosts(PAIRS), parseScrape(text(10)), parseScrape(text(20)));
  assert.ok(Math.abs(read!.client - 1300) < 1e-6);
  assert.ok(Math.abs(read!.api - 600) < 1e-6);
  assert.ok(Math.abs(read!.store - 400) < 1e-6);
});

test('there are no stages without requests to the API', () => {
  const same = parseScrape('');
  assert.deepEqual(stagesOf(operationCosts(PAIRS), same, same), []);
});

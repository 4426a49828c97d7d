import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outcomeOf } from '@tidegauge/loadtests/operations/outcome';
import { type K6Summary, summarize } from '@tidegauge/loadtests/results/summary';
import { csvText, ycsbText } from '@tidegauge/loadtests/results/ycsb-text';
import { latencyOfSamples } from '@tidegauge/test-support/latency';

const count = (value: number) => ({ values: { count: value } });
const trend = (values: number, milliseconds: number) => ({
  values: {
    count: values,
    avg: milliseconds,
    min: milliseconds / 2,
    max: milliseconds * 4,
    med: milliseconds,
    'p(90)': milliseconds * 2,
    'p(95)': milliseconds * 2,
    'p(99)': milliseconds * 3,
    'p(99.9)': milliseconds * 4,
  },
});

const DATA: K6Summary = {
  state: { testRunDurationMs: 2000 },
  metrics: {
    operations_done: count(101),
    op_read: { ...trend(99, 0.8), thresholds: { 'p(99)<1': { ok: false }, 'p(50)<9': { ok: true } } },
    op_read_intended: trend(99, 1.6),
    op_read_failed: trend(1, 30),
    op_read_return_OK: count(99),
    op_read_return_TIMEOUT: count(1),
    op_read_modify_write: trend(2, 2),
    op_read_modify_write_return_OK: count(2),
    op_verify_return_OK: count(99),
    http_reqs: count(104),
  },
};

test('the summary has the format of YCSB', () => {
  const text = ycsbText(summarize(DATA, false), false);
  assert.deepEqual(text.split('\n').slice(0, 13), [
    '[OVERALL], RunTime(ms), 2000',
    '[OVERALL], Throughput(ops/sec), 50.5',
    '[OVERALL], DroppedOperations, 0',
    '[READ], Operations, 99',
    '[READ], AverageLatency(us), 800',
    '[READ], MinLatency(us), 400',
    '[READ], MaxLatency(us), 3200',
    '[READ], 50thPercentileLatency(us), 800',
    '[READ], 90thPercentileLatency(us), 1600',
    '[READ], 95thPercentileLatency(us), 1600',
    '[READ], 99thPercentileLatency(us), 2400',
    '[READ], 99.9PercentileLatency(us), 3200',
    '[READ], Return=OK, 99',
  ]);
  assert.match(text, /^\[READ\], Return=TIMEOUT, 1\n\[READ-FAILED\], Operations, 1\n/m);
  assert.match(text, /^\[READ-MODIFY-WRITE\], Operations, 2$/m);
  assert.match(text, /^\[VERIFY\], Operations, 99\n\[VERIFY\], Return=OK, 99$/m);
  assert.doesNotMatch(text, /Intended/);
});

test('latencies from the intended start are reported in addition to those from the actual start', () => {
  const summary = summarize(DATA, true);
  assert.match(ycsbText(summary, true), /^\[Intended-READ\], AverageLatency\(us\), 1600$/m);
  assert.match(csvText(summary, true), /^section,measure,value\nOVERALL,RunTime\(ms\),2000\n/);
  assert.match(csvText(summary, true), /^Intended-READ,99thPercentileLatency\(us\),4800$/m);
});

test('failed operations and crossed thresholds are failures, by kind', () => {
  assert.deepEqual(summarize(DATA, false).failures, [
    'READ ended in TIMEOUT 1 times',
    'the threshold op_read: p(99)<1 was crossed',
  ]);
});

test('dropped operations make a run of the open model invalid', () => {
  const dropped = { ...DATA, metrics: { ...DATA.metrics, dropped_iterations: count(3) } };
  assert.match(summarize(dropped, true).invalid.join(), /^3 operations were dropped/);
  // In the closed model k6 reports the operations that remained at the end of the duration as dropped.
  assert.deepEqual(summarize(dropped, false).invalid, []);
});

test('a run that did nothing is invalid', () => {
  const nothing = { state: { testRunDurationMs: 5 }, metrics: {} };
  assert.deepEqual(summarize(nothing, false).invalid, ['not one operation succeeded']);
});

test('the times of the MQTT module are the latencies of PUBLISH', () => {
  const metrics = {
    operations_done: count(5),
    op_publish_return_OK: count(5),
    mqtt_publish_ack: trend(5, 1),
    mqtt_publish_ack_intended: trend(5, 2),
  };
  const { PUBLISH } = summarize({ state: { testRunDurationMs: 1 }, metrics }, false).operations;
  assert.equal(PUBLISH?.latency?.mean, 1000);
  assert.equal(PUBLISH?.intended?.mean, 2000);
});

test('every outcome of an HTTP request has a name', () => {
  assert.deepEqual(
    [200, 201, 204].map((status) => outcomeOf(status)),
    ['OK', 'OK', 'OK'],
  );
  assert.deepEqual(
    [400, 401, 404, 409, 422, 500, 501, 503, 504].map((status) => outcomeOf(status)),
    [
      ...['BAD_REQUEST', 'FORBIDDEN', 'NOT_FOUND', 'EXISTS', 'REJECTED', 'ERROR', 'NOT_IMPLEMENTED'],
      ...['SERVICE_UNAVAILABLE', 'TIMEOUT'],
    ],
  );
  assert.equal(outcomeOf(0, 1050), 'TIMEOUT');
  assert.equal(outcomeOf(0, 1212), 'CONNECTION');
});

test('percentiles of samples are samples', () => {
  const milliseconds = Float64Array.from({ length: 1000 }, (_, index) => 1000 - index);
  const latency = latencyOfSamples(milliseconds);
  assert.deepEqual(latency, {
    count: 1000,
    mean: 500_500,
    min: 1000,
    max: 1_000_000,
    p50: 500_000,
    p90: 900_000,
    p95: 950_000,
    p99: 990_000,
    p999: 999_000,
  });
  assert.equal(latencyOfSamples(new Float32Array(0)), null);
});

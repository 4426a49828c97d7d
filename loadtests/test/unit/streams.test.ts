import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeviceOperations } from '@tidegauge/loadtests/operations/device-operations';
import type { DevicesPart, IngestPart, Model, QueriesPart } from '@tidegauge/loadtests/operations/plan';
import { QUERY_COUNT, Queries } from '@tidegauge/loadtests/operations/query-operations';
import { ReadingsStream } from '@tidegauge/loadtests/operations/readings-stream';

const model: Model = { kind: 'closed', threads: 2, operations: 10, durationMs: null, rate: null };

test('a thread publishes for its own devices in turn, each with its next seq and its own time', () => {
  const part: IngestPart = { profile: 'ingest', model, devices: 5, qos: 1, run: 'run', receive: false };
  const stream = new ReadingsStream(part, 1, 1);
  const messages = Array.from({ length: 7 }, () => stream.next(1000));
  assert.deepEqual(
    messages.map(({ topic }) => topic),
    [0, 1, 2, 0, 1, 2, 0].map((device) => `sensors/run/t1/probe-${device}/temperature`),
  );
  const readings = messages.map(({ payload }) => JSON.parse(payload));
  assert.deepEqual(
    readings.map(({ seq }) => seq),
    [0, 0, 0, 1, 1, 1, 2],
  );
  assert.equal(new Set(readings.map(({ t }) => t)).size, 7);
  assert.ok(messages.every(({ topic }) => topic.startsWith(stream.filter.slice(0, -1))));
  const other = new ReadingsStream(part, 1, 0);
  assert.notEqual(other.filter, stream.filter);
});

test('operations on devices have their shares, and are the same for the same seed', () => {
  const mix = { selectOne: 0.5, selectSome: 0.25, updateSome: 0.25 };
  const part: DevicesPart = { profile: 'devices', model, devices: 100, mix };
  const draw = (seed: number) => {
    const stream = new DeviceOperations(part, seed, 0);
    return Array.from({ length: 8000 }, () => stream.next());
  };
  const drawn = draw(1);
  assert.deepEqual(drawn, draw(1));
  assert.notDeepEqual(drawn, draw(2));
  for (const [type, share] of Object.entries(mix)) {
    const count = drawn.filter((operation) => operation.type === type).length;
    assert.ok(Math.abs(count / 8000 - share) < 0.03, `${type}: ${count}`);
  }
});

test('queries read only their share of devices and of time', () => {
  const part: QueriesPart = { profile: 'queries', model, devices: 10, readings: 100, share: 30, query: null };
  const stream = new Queries(part, 1, 0);
  const seen = new Set<number>();
  const page = JSON.stringify({ devices: [{ name: 'fleet/d2' }] });
  for (let drawn = 0; drawn < 500; drawn++) {
    const [number, query] = stream.next();
    seen.add(number);
    query((path) => {
      for (const [, device] of path.matchAll(/fleet(?:%2F|\/)d(\d+)/g)) assert.ok(Number(device) < 3, path);
      const to = /&to=([^&]+)/.exec(path)?.[1];
      // An hour may be longer than the share.
      if (to !== undefined) assert.ok(Date.parse(to) <= Date.parse('2026-01-01T01:00:00Z'), path);
      return path.startsWith('/v1/devices?') ? page : '{}';
    });
  }
  assert.equal(seen.size, QUERY_COUNT);
  const only = new Queries({ ...part, query: 7 }, 1, 0);
  assert.equal(only.next()[0], 7);
});

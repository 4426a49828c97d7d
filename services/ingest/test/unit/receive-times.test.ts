import assert from 'node:assert/strict';
import { test } from 'node:test';
import { now } from '@tidegauge/readings';
import { ReceiveTimes } from '../../src/receive-times.ts';

test('each message has its own time, also of replicas, and when the clock goes back', (t) => {
  let clock = Date.now();
  t.mock.method(Date, 'now', () => clock);
  const replicas = ['ingest-1', 'ingest-2', 'ingest-16', 'ingest.23'].map((name) => new ReceiveTimes(name));
  const seen = new Set<number>();
  for (let message = 0; message < 4000; message++) {
    if (message === 1000) clock -= 3_600_000;
    const before = now();
    const time = replicas[message % 4]!.next();
    assert.ok(time >= before && !seen.has(time));
    seen.add(time);
  }
});

test('a process without replicas has the present time, or the next microsecond', (t) => {
  const times = new ReceiveTimes(null);
  const first = times.next();
  assert.ok(Math.abs(first - Date.now() * 1000) < 1e6);
  const clock = Date.now() - 3_600_000;
  t.mock.method(Date, 'now', () => clock);
  assert.deepEqual([times.next(), times.next()], [first + 1, first + 2]);
});

test('a replica without a number has one of sixteen microseconds too', () => {
  const times = new ReceiveTimes('kitchen');
  const slots = new Set(Array.from({ length: 100 }, () => times.next() % 16));
  assert.equal(slots.size, 1);
});

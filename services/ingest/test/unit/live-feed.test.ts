import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LiveLine, Reading } from '@tidegauge/readings';
import { LiveFeed } from '../../src/live-feed.ts';

function reading(value: number | string): Reading {
  const time = Date.UTC(2026, 10, 21) * 1000;
  return {
    ...{ device: 'd', metric: 'm', time, value, received: time },
    ...{ boot: null, seq: null, quality: 'ok' },
  };
}

function lines(feed: LiveFeed, batches: readonly (readonly Reading[])[]): Promise<LiveLine[]> {
  const got: LiveLine[] = [];
  return new Promise((resolve) => {
    feed.listen({
      line(line) {
        got.push(line);
        if ('readings' in line) resolve(got);
      },
      end() {},
    });
    for (const batch of batches) feed.push(batch);
  });
}

test('a window holds the newest readings up to a number, and counts the others', async (t) => {
  const feed = new LiveFeed();
  t.after(() => feed.close());
  const numbers = Array.from({ length: 700 }, (_, n) => reading(n));
  const [missed, window] = await lines(feed, [numbers.slice(0, 100), numbers.slice(100)]);
  assert.ok('missed' in missed! && missed.missed === 200);
  assert.ok('readings' in window!);
  assert.deepEqual(
    window.readings.map(({ value }) => value),
    numbers.slice(200).map(({ value }) => value),
  );
});

test('readings have the unit of their series, if it is known', async (t) => {
  const feed = new LiveFeed(({ device, metric }) =>
    metric === 'temperature' ? `${device}'s degrees` : null,
  );
  t.after(() => feed.close());
  const both = ['temperature', 'state'].map((metric) => ({ ...reading(1), device: 'probe', metric }));
  const [window] = await lines(feed, [both]);
  assert.ok('readings' in window!);
  assert.deepEqual(
    window.readings.map(({ metric, unit }) => [metric, unit]),
    [
      ['temperature', "probe's degrees"],
      ['state', undefined],
    ],
  );
});

test('a window of large texts is bounded in bytes', async (t) => {
  const feed = new LiveFeed();
  t.after(() => feed.close());
  const texts = Array.from({ length: 400 }, (_, n) => reading(`${n}`.padEnd(4096, 'x')));
  const [missed, window] = await lines(feed, [texts.slice(0, 10), texts.slice(10, 300), texts.slice(300)]);
  assert.ok('missed' in missed! && 'readings' in window!);
  assert.equal(missed.missed + window.readings.length, 400);
  assert.ok(window.readings.length > 10 && JSON.stringify(window).length < 300 * 1024);
  assert.match(String(window.readings.at(-1)!.value), /^399x/);
});

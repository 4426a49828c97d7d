import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram } from '@tidegauge/service';
import fc from 'fast-check';
import { RECENT_SECONDS, RecentHistograms } from '../../src/recent-histograms.ts';

test('figures cover the last minute, however long the process runs or idles', () => {
  const histogram = new Histogram();
  const recent = new RecentHistograms({ stage: histogram }, 0);
  const observe = (now: number, seconds: number) => {
    recent.pass(now);
    histogram.observe(seconds);
  };
  const p50 = (now: number) => recent.figures(now).stage.quantile(0.5);
  assert.equal(p50(0), null);
  for (let second = 0; second < 3600; second++) observe(second * 1000, 10);
  assert.ok(p50(3_600_000)! > 8);
  for (let second = 3600; second < 3700; second++) observe(second * 1000, 0.001);
  assert.ok(p50(3_700_000)! < 0.002, 'an hour of slow ones is forgotten');
  assert.equal(p50(3_771_000), null, 'nothing came for a minute');
  observe(90_000_000, 5);
  assert.equal(recent.figures(90_001_000).stage.count, 1);
  assert.equal(histogram.count, 3701);
});

test('figures cover at least one minute and at most ten seconds more', () => {
  const pauses = fc.array(fc.integer({ min: 0, max: 30_000 }), { maxLength: 100 });
  const property = fc.property(pauses, (all) => {
    const histogram = new Histogram();
    const recent = new RecentHistograms({ stage: histogram }, 0);
    const times: number[] = [];
    let now = 0;
    for (const pause of all) {
      now += pause;
      recent.pass(now);
      histogram.observe(1);
      times.push(now);
      const within = (ms: number) => times.filter((time) => time > now - ms).length;
      const { count } = recent.figures(now).stage;
      assert.ok(count >= within(RECENT_SECONDS * 1000), `${count} at ${now}`);
      assert.ok(count <= within((RECENT_SECONDS + 10) * 1000 + 1), `${count} at ${now}`);
    }
  });
  fc.assert(property);
});

test('soon after the start figures cover less than a minute', () => {
  const recent = new RecentHistograms({ stage: new Histogram() }, 1000);
  assert.equal(recent.seconds(5000), 4);
  assert.equal(recent.seconds(500_000), RECENT_SECONDS);
});

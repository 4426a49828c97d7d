import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { axesOf, drawnLine, later } from '../../public/history-drawing.js';
import { levelOf, Tiles } from '../../public/tiles.js';

const HOUR = 3_600_000;

test('an earlier period is drawn beneath the same times of the day, also after the clocks changed', async () => {
  // 13:00 in Lisbon on the day on which the clocks change, and on the day before.
  const [today, before] = [Date.UTC(2026, 2, 29, 12), Date.UTC(2026, 2, 28, 13)];
  const readings = [today, before].map((time, n) => ({ time, count: 1, min: n, max: n, sum: n }));
  const tiles = new Tiles({
    read: async (series: readonly string[], from: number, to: number) => {
      const buckets = readings.filter(({ time }) => time >= from && time < to);
      return series.map(() => ({ status: 'fulfilled', value: { buckets, completeFrom: null } }));
    },
    changed: () => {},
    failed: assert.ifError,
  });
  const span = { from: today - HOUR, to: today + HOUR };
  const view = { span, zone: 'Europe/Lisbon', level: levelOf(2 * HOUR, 120), pixels: 120 };
  const line = { id: 'x', key: 'a/b', device: 'a', metric: 'b', unit: undefined, colour: 0 };
  const draw = (earlier: string | null) => drawnLine({ ...line, earlier }, tiles, view);
  const parts = () => [draw(null), draw('day')].map(({ part }: { part: object }) => part);
  tiles.want(parts(), view.level, today);
  await setImmediate();
  const [now, then] = [draw(null), draw('day')];
  assert.deepEqual(
    [now.extent, then.extent],
    [
      [0, 0],
      [1, 1],
    ],
  );
  assert.deepEqual(
    [...now.columns.low.keys()].filter((column) => now.columns.low[column] === 0),
    [60],
  );
  assert.deepEqual(then.columns.low.indexOf(1), 60);
  assert.equal(later(then.buckets[0], -then.offset).time, before);
  assert.equal(then.offset, 23 * HOUR);
});

test('there is an axis for each unit, and for each metric without one', () => {
  const lines = [
    { metric: 'inside', unit: 'Cel' },
    { metric: 'level', unit: undefined },
    { metric: 'outside', unit: 'Cel' },
    { metric: 'flow', unit: undefined },
  ];
  assert.deepEqual(
    axesOf(lines).map(({ unit }: { unit: string | undefined }) => unit),
    ['Cel', undefined, undefined],
  );
});

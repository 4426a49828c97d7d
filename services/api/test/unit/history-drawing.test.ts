import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { axesOf, drawnLine, later } from '../../public/history-drawing.js';
import { levelOf, Tiles } from '../../public/tiles.js';
import { EARLIER } from '../../public/view-state.js';
import { answer, bucketsOf, type Sample } from '../tile-buckets.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOW = Date.UTC(2026, 10, 21, 14);

interface Drawn {
  readonly part: object;
  readonly beside: object[];
  readonly offset: number;
  readonly columns: { readonly low: Float64Array; readonly high: Float64Array };
  readonly extent: readonly number[] | null;
}

test('an earlier period is drawn beneath the same times of the day, also after the clocks changed', async () => {
  // 13:00 in Lisbon on the day on which the clocks change, and on the day before.
  const [today, before] = [Date.UTC(2026, 2, 29, 12), Date.UTC(2026, 2, 28, 13)];
  const readings = [today, before].map((time, n) => ({ time, count: 1, min: n, max: n, sum: n }));
  const tiles = new Tiles({
    read: async (series: readonly string[], from: number, to: number) => {
      const buckets = readings.filter(({ time }) => time >= from && time < to);
      return series.map(() => answer({ buckets, completeFrom: null }));
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

test('a line and its earlier period have every extreme of each column at any zoom, in any zone', async () => {
  const sample = fc.record({
    time: fc.integer({ min: NOW - 30 * DAY, max: NOW }),
    value: fc.double({ min: -1e6, max: 1e6, noNaN: true }),
  });
  const view = fc.record({
    from: fc.integer({ min: NOW - 40 * DAY, max: NOW - 60_000 }),
    length: fc.oneof(fc.integer({ min: 60_000, max: DAY }), fc.integer({ min: DAY, max: 800 * DAY })),
    pixels: fc.integer({ min: 1, max: 2000 }),
    zone: fc.constantFrom('UTC', 'Europe/Lisbon', 'America/St_Johns'),
    earlier: fc.constantFrom(null, ...Object.keys(EARLIER)),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(sample, { maxLength: 200 }), view, async (all: Sample[], shown) => {
      const { from, length, pixels, zone, earlier } = shown;
      const tiles = new Tiles({
        read: async (series: readonly string[], ...range: [number, number, number]) => {
          const buckets = bucketsOf(all, ...range);
          return series.map(() => answer({ buckets, completeFrom: null }));
        },
        changed: () => {},
        failed: assert.ifError,
      });
      const span = { from, to: from + length };
      const level = levelOf(length, pixels);
      const line = { id: 'x', key: 'a/b', device: 'a', metric: 'b', unit: undefined, colour: 0, earlier };
      const draw = (): Drawn => drawnLine(line, tiles, { span, zone, level, pixels });
      const { part, beside } = draw();
      tiles.want([part], level, NOW, beside);
      await setImmediate();
      const { offset, columns, extent } = draw();
      for (const { time, value } of all) {
        const at = time + offset - from;
        if (at < 0 || at >= length) continue;
        const column = Math.floor(at / (length / pixels));
        assert.ok(columns.low[column]! <= value && value <= columns.high[column]!, `${value} at ${time}`);
        assert.ok(extent![0]! <= value && value <= extent![1]!);
      }
    }),
    { numRuns: 100 },
  );
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

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { columnsOf } from '../../public/columns.js';
import { LEVELS, levelOf, Tiles } from '../../public/tiles.js';
import { answer, bucketsOf, type Sample } from '../tile-buckets.ts';

interface Bucket {
  readonly time: number;
  readonly end: number;
  readonly min: number;
  readonly max: number;
}

interface Call {
  readonly series: readonly string[];
  readonly from: number;
  readonly to: number;
  readonly bucket: number;
  readonly signal: AbortSignal;
}

const NOW = Date.UTC(2026, 10, 21, 14);
const DAY = 86_400_000;
const MINUTE = LEVELS.indexOf(60_000);

/** Tiles over readings in memory. */
function tilesOver(samples: readonly Sample[], mostBytes?: number) {
  const calls: Call[] = [];
  const failures: unknown[] = [];
  const tiles = new Tiles({
    read: async (
      series: readonly string[],
      from: number,
      to: number,
      bucket: number,
      signal: AbortSignal,
    ) => {
      calls.push({ series, from, to, bucket, signal });
      return series.map(() => answer({ buckets: bucketsOf(samples, from, to, bucket), completeFrom: null }));
    },
    changed: () => {},
    failed: (error: unknown) => failures.push(error),
    ...(mostBytes === undefined ? {} : { mostBytes }),
  });
  return { tiles, calls, failures };
}

const samples = fc.array(
  fc.record({
    time: fc.integer({ min: NOW - 30 * DAY, max: NOW }),
    value: fc.double({ min: -1e6, max: 1e6, noNaN: true }),
  }),
  { maxLength: 200 },
);
const view = fc
  .tuple(
    fc.integer({ min: NOW - 40 * DAY, max: NOW - 60_000 }),
    fc.integer({ min: 60_000, max: 40 * DAY }),
    fc.integer({ min: 1, max: 2000 }),
  )
  .map(([from, length, width]) => ({ from, to: from + length, width }));

test('each column of pixels has the extremes of all readings in its time, after any views before', async () => {
  await fc.assert(
    fc.asyncProperty(
      samples,
      fc.array(view, { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      async (all, views, isLate) => {
        const { tiles } = tilesOver(all);
        for (const { from, to, width } of views) {
          const level = levelOf(to - from, width);
          tiles.want([{ series: 'a/b', from, to }], level, NOW);
          // Until the tiles are there, others replace them.
          assertOrdered(tiles.cover('a/b', from, to, level), from, to);
          if (isLate) continue;
          await setImmediate();
          const covered: Bucket[] = tiles.cover('a/b', from, to, level);
          assertOrdered(covered, from, to);
          const { low, high } = columnsOf(covered, from, to, width);
          for (const { time, value } of all) {
            if (time < from || time >= to) continue;
            const column = Math.floor((time - from) / ((to - from) / width));
            assert.ok(low[column]! <= value && value <= high[column]!, `${value} at ${time}`);
          }
          // No extreme is of another time than that of the buckets at the column.
          for (const [column, least] of low.entries()) {
            if (Number.isNaN(least)) continue;
            const start = from + (column * (to - from)) / width - LEVELS[level]!;
            const end = from + ((column + 1) * (to - from)) / width + LEVELS[level]!;
            const near = all.filter(({ time }) => time >= start - 1 && time <= end + 1);
            assert.ok(near.some(({ value }) => value === least));
            assert.ok(near.some(({ value }) => value === high[column]));
          }
        }
      },
    ),
    { numRuns: 60 },
  );
});

function assertOrdered(buckets: readonly Bucket[], from: number, to: number): void {
  let last = from;
  for (const { time, end } of buckets) {
    assert.ok(time >= last && end > time && end <= to, `${time} to ${end}`);
    last = end;
  }
}

test('buckets are at least as long as a pixel, and a view has at most 1,500', () => {
  for (const [length, pixels] of [
    [60_000, 1000],
    [DAY, 390],
    [365 * DAY, 1200],
    [365 * DAY, 10_000],
  ] as const) {
    const bucket = LEVELS[levelOf(length, pixels)]!;
    assert.ok(bucket >= length / pixels && length / bucket <= 1500, `${length} has buckets of ${bucket}`);
  }
  assert.equal(levelOf(300 * 365 * DAY, 100), LEVELS.length - 1);
});

test('a coarser view stays until the finer one is there, and what is there is not read again', async () => {
  const all = Array.from({ length: 1440 }, (_, n) => ({ time: NOW - DAY + n * 60_000, value: n }));
  const { tiles, calls } = tilesOver(all);
  const part = { series: 'a/b', from: NOW - DAY, to: NOW };
  const level = levelOf(DAY, 100);
  tiles.want([part], level, NOW);
  await setImmediate();
  assert.equal(calls.length, 1, 'tiles that follow each other are one request');
  const zoomed = { series: 'a/b', from: NOW - DAY / 2, to: NOW - DAY / 4 };
  tiles.want([zoomed], MINUTE, NOW);
  assert.equal(tiles.isReading, true);
  const before: Bucket[] = tiles.cover('a/b', zoomed.from, zoomed.to, MINUTE);
  assert.ok(before.length > 0 && before.length < 40, 'the coarser buckets');
  await setImmediate();
  assert.equal(tiles.cover('a/b', zoomed.from, zoomed.to, MINUTE).length, 360);
  const read = calls.length;
  tiles.want([zoomed], MINUTE, NOW);
  tiles.want([part], level, NOW);
  assert.equal(calls.length, read);
  // The tile of the present can have changed after a minute.
  tiles.want([part], level, NOW + 61_000);
  assert.equal(calls.length, read + 1);
});

test('requests of a view that is gone are aborted, and those that the next one needs are not', async () => {
  const signals: AbortSignal[] = [];
  const failures: unknown[] = [];
  const tiles = new Tiles({
    read: (_series: readonly string[], _from: number, _to: number, _bucket: number, signal: AbortSignal) => {
      signals.push(signal);
      return new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve([{ status: 'rejected', reason: signal.reason }]));
      });
    },
    changed: () => {},
    failed: (error: unknown) => failures.push(error),
  });
  const both = [NOW - DAY / 2, NOW - DAY].map((from) => ({ series: 'a/x', from, to: from + 60_000 }));
  tiles.want(both, MINUTE, NOW);
  tiles.want(both.slice(1), MINUTE, NOW);
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true, false],
  );
  tiles.want([], MINUTE, NOW);
  await setImmediate();
  assert.equal(signals[1]!.aborted, true);
  assert.deepEqual(failures, []);
  assert.equal(tiles.isReading, false);
});

test('what is beside the view is read when the view is complete', async () => {
  const all = Array.from({ length: 1440 }, (_, n) => ({ time: NOW - DAY + n * 60_000, value: n }));
  const { tiles, calls } = tilesOver(all);
  const part = { series: 'a/b', from: NOW - DAY / 2, to: NOW - DAY / 4 };
  const beside = [
    { series: 'a/b', from: NOW - DAY, to: part.from },
    { series: 'a/b', from: part.to, to: NOW },
  ];
  const want = () => tiles.want([part], MINUTE, NOW, beside);
  const state = () => [tiles.isReading, tiles.lacks([part], MINUTE), calls.length];
  want();
  want();
  assert.deepEqual(state(), [true, true, 1]);
  await setImmediate();
  want();
  assert.deepEqual(state(), [false, false, 3]);
  await setImmediate();
  want();
  assert.deepEqual(state(), [false, false, 3]);
  assert.equal(tiles.cover('a/b', NOW - DAY, NOW, MINUTE).length, 1440);
});

test('a series that fails is read again later, and does not delay others', async () => {
  const calls: (readonly string[])[] = [];
  const failures: unknown[] = [];
  const tiles = new Tiles({
    read: async (series: readonly string[]) => {
      calls.push(series);
      const reason = Object.assign(new Error('no'), { status: 503 });
      return series.map((each) =>
        each === 'a/x' ? { status: 'rejected', reason } : answer({ buckets: [], completeFrom: null }),
      );
    },
    changed: () => {},
    failed: (error: Error | null) => failures.push(error?.message ?? null),
  });
  const both = ['a/x', 'a/y'].map((series) => ({ series, from: NOW - 60_000, to: NOW }));
  tiles.want(both, MINUTE, NOW);
  await setImmediate();
  assert.deepEqual(failures, ['no']);
  tiles.want(both, MINUTE, NOW + 1000);
  assert.deepEqual(calls, [['a/x', 'a/y']]);
  tiles.want(both, MINUTE, NOW + 4000);
  assert.deepEqual(calls.slice(1), [['a/x']]);
});

test('series of the same times share requests, of at most 16 tiles and three at the same time', async () => {
  const { tiles, calls } = tilesOver([]);
  const names = Array.from({ length: 20 }, (_, n) => `a/m${n}`);
  const parts = names.map((series) => ({ series, from: NOW - DAY, to: NOW }));
  tiles.want(parts, MINUTE, NOW);
  assert.equal(calls.length, 3);
  await setImmediate();
  assert.equal(tiles.isReading, false);
  const read = new Map(names.map((name) => [name, 0]));
  for (const { series, from, to } of calls) {
    const length = (to - from) / (256 * 60_000);
    assert.ok(series.length * length <= 16, `${series.length} series of ${length} tiles`);
    for (const name of series) read.set(name, read.get(name)! + length);
  }
  const expected = Math.floor(NOW / (256 * 60_000)) - Math.floor((NOW - DAY) / (256 * 60_000)) + 1;
  assert.deepEqual(new Set(read.values()), new Set([expected]));
  assert.ok(calls.length < 20, `${calls.length} requests`);
});

test('what is beside the view waits for all series of the view', async () => {
  const { tiles, calls } = tilesOver([]);
  const names = Array.from({ length: 20 }, (_, n) => `a/m${n}`);
  const part = { from: NOW - DAY, to: NOW };
  const parts = names.map((series) => ({ series, ...part }));
  const beside = names.map((series) => ({ series, from: part.from - DAY, to: part.from }));
  const want = () => tiles.want(parts, MINUTE, NOW, beside);
  want();
  want();
  assert.deepEqual([tiles.isReading, calls.length], [true, 3]);
  await setImmediate();
  const read = calls.length;
  assert.ok(calls.every(({ to }) => to > part.from));
  want();
  assert.deepEqual([tiles.isReading, calls.length], [false, read + 3]);
  assert.ok(calls.slice(read).every(({ to }) => to <= part.from));
});

test('where readings were deleted, the rollups that are left are drawn', async () => {
  const rollups = [{ time: NOW - 3_600_000, count: 60, min: 1, max: 9, sum: 120 }];
  const deleted = NOW - 60_000;
  const tiles = new Tiles({
    read: async (_series: readonly string[], from: number, to: number, bucket: number) => [
      bucket < 60_000
        ? answer({ buckets: [], completeFrom: deleted })
        : answer({ buckets: rollups.filter(({ time }) => time >= from && time < to), completeFrom: null }),
    ],
    changed: () => {},
    failed: assert.ifError,
  });
  const [from, to] = [NOW - 3_600_000, NOW - 3_540_000];
  const level = levelOf(to - from, 600);
  for (let round = 0; round < 2; round++) {
    tiles.want([{ series: 'a/b', from, to }], level, NOW);
    await setImmediate();
  }
  const [bucket, ...others] = tiles.cover('a/b', from, to, level);
  assert.deepEqual(
    { ...bucket, level: null },
    {
      ...{ level: null, start: rollups[0]!.time, time: from, end: to },
      ...{ count: 60, min: 1, max: 9, mean: 2 },
    },
  );
  assert.deepEqual(others, []);
});

test('memory is bounded, and the tiles that were used last stay', async () => {
  const all = Array.from({ length: 2000 }, (_, n) => ({ time: NOW - n * 60_000, value: n }));
  const { tiles, calls } = tilesOver(all, 100_000);
  for (let n = 0; n < 50; n++) {
    const to = NOW - n * 15_360_000;
    tiles.want([{ series: 'a/b', from: to - 15_360_000, to }], MINUTE, NOW);
    await setImmediate();
    assert.ok(tiles.bytes <= 100_000, `${tiles.bytes} bytes`);
  }
  const read = calls.length;
  const to = NOW - 49 * 15_360_000;
  tiles.want([{ series: 'a/b', from: to - 15_360_000, to }], MINUTE, NOW);
  assert.equal(calls.length, read);
});

test('a live reading changes the buckets at every level, and missed ones are read soon', async () => {
  const { tiles, calls } = tilesOver([{ time: NOW - 1000, value: 5 }]);
  const part = { series: 'a/b', from: NOW - 60_000, to: NOW + 60_000 };
  for (const level of [MINUTE - 1, MINUTE]) {
    tiles.want([part], level, NOW);
    await setImmediate();
  }
  tiles.add('a/b', NOW - 500, 9);
  tiles.add('a/b', NOW + 30_000, 1);
  for (const level of [MINUTE - 1, MINUTE]) {
    const covered: Bucket[] = tiles.cover('a/b', part.from, part.to, level);
    assert.deepEqual(
      covered.map(({ min, max }) => [min, max]),
      [
        [5, 9],
        [1, 1],
      ],
    );
  }
  const read = calls.length;
  tiles.miss(NOW);
  tiles.want([part], MINUTE, NOW + 1000);
  assert.equal(calls.length, read);
  tiles.want([part], MINUTE, NOW + 4000);
  assert.equal(calls.length, read + 1);
});

test('tiles of a changed time are read again, and keep what they have until then', async () => {
  const { tiles, calls } = tilesOver([{ time: NOW - DAY, value: 5 }]);
  const part = { series: 'a/b', from: NOW - 2 * DAY, to: NOW };
  tiles.want([part], MINUTE, NOW);
  await setImmediate();
  const read = calls.length;
  tiles.expire('a/c', 0, NOW);
  tiles.expire('a/b', NOW, NOW + 1);
  tiles.expire('a/b', NOW - DAY, NOW - DAY + 1);
  assert.equal(tiles.cover('a/b', part.from, part.to, MINUTE).length, 1);
  tiles.want([part], MINUTE, NOW);
  const again = calls.slice(read).map(({ from, to }) => [from, to]);
  assert.deepEqual(again.length, 2);
  assert.ok(again.some(([from, to]) => from! <= NOW - DAY && to! > NOW - DAY));
});

test('an answer to a request before a change is not used', async () => {
  const { tiles, calls } = tilesOver([{ time: NOW - DAY / 2, value: 5 }]);
  const part = { series: 'a/b', from: NOW - DAY, to: NOW };
  tiles.want([part], MINUTE, NOW);
  const first = calls.length;
  tiles.expire('a/b', NOW - DAY, NOW);
  await setImmediate();
  assert.deepEqual(tiles.cover('a/b', part.from, part.to, MINUTE), []);
  assert.ok(calls.every(({ signal }) => signal.aborted));
  tiles.want([part], MINUTE, NOW);
  assert.equal(calls.length, 2 * first);
});

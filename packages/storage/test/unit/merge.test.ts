import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { collect, reading, T0 } from '../../conformance/data.ts';
import {
  compareReadings,
  compareText,
  type FirstPage,
  flatten,
  mergePages,
  type PageQuery,
  rangeOfSeries,
  rangePagesAtOnce,
  seriesBounds,
  take,
} from '../../src/merge.ts';

async function* pages<T>(items: readonly T[], size: number): AsyncGenerator<T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

describe('compareText', () => {
  test('orders as UTF-8 bytes do', () => {
    const text = fc.string({ unit: 'binary', maxLength: 3 }).filter((value) => value.isWellFormed());
    const high = fc.constantFrom('\u{10000}', '\ue000', '\uffff', '\ud7ff', 'a\u{1F30A}', 'a\uff5e');
    fc.assert(
      fc.property(fc.oneof(text, high), fc.oneof(text, high), (a, b) => {
        assert.equal(Math.sign(compareText(a, b)), Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
    );
  });
});

describe('mergePages', () => {
  for (const order of ['asc', 'desc'] as const) {
    test(`merges series of one device ${order} by time, then metric`, async () => {
      const times = fc.uniqueArray(fc.integer({ min: 0, max: 40 }), { maxLength: 20 });
      const metrics = fc.uniqueArray(fc.constantFrom('a', 'b', 'B', 'é', '\u{20000}', '～'), {
        minLength: 1,
      });
      const property = fc.asyncProperty(
        metrics,
        fc.array(times, { minLength: 6, maxLength: 6 }),
        async (names, all) => {
          const compare = compareReadings(order);
          const streams = names.map((metric, index) =>
            all[index]!.map((offset) => reading({ device: 'd', metric, time: T0 + offset })).sort(compare),
          );
          const merged = await collect(
            mergePages(
              streams.map((stream, index) => pages(stream, index + 1)),
              compare,
            ),
          );
          assert.deepEqual(merged, streams.flat().sort(compare));
        },
      );
      await fc.assert(property, { numRuns: 60 });
    });
  }

  test('closes every stream when the consumer stops early', async () => {
    let left = 0;
    async function* endless(step: number) {
      try {
        for (let value = 0; ; value += step) yield [value];
      } finally {
        left += 1;
      }
    }
    const merged = mergePages([endless(1), endless(2), endless(3)], (a, b) => a - b);
    assert.deepEqual(await collect(take(merged, 6)), [0, 0, 0, 1, 2, 2]);
    assert.equal(left, 3);
  });
});

describe('seriesBounds', () => {
  test('converts a cursor to bounds that include exactly the readings after it', () => {
    const metric = fc.constantFrom('a', 'b', 'c');
    const time = fc.integer({ min: 0, max: 6 });
    fc.assert(
      fc.property(
        metric,
        time,
        fc.boolean(),
        metric,
        time,
        (cursorMetric, cursorTime, ascending, name, at) => {
          const order = ascending ? 'asc' : 'desc';
          const after = { time: cursorTime, metric: cursorMetric };
          const query = { device: 'd', limit: 1, order, from: 1, to: 6, after } as const;
          const { from, to } = seriesBounds(query, name);
          const row = reading({ device: 'd', metric: name, time: at });
          const behind = compareReadings(order)(row, { ...row, ...after }) > 0;
          assert.equal(at >= from && at < to, behind && at >= 1 && at < 6);
        },
      ),
    );
  });

  test('covers all times by default', () => {
    assert.deepEqual(seriesBounds({ device: 'd', limit: 1 }, 'a'), { from: 0, to: 2 ** 53 });
  });
});

describe('rangeOfSeries', () => {
  const series = ['a', 'b', 'c'].map((metric, index) => ({
    metric,
    rows: Array.from({ length: 40 }, (_, at) =>
      reading({ device: 'd', metric, time: T0 + at * (index + 1) }),
    ),
  }));
  const requested: PageQuery[] = [];
  const readPage = async ({ rows }: (typeof series)[number], page: PageQuery) => {
    requested.push(page);
    const { from, to, order, limit } = page;
    const within = rows.filter(({ time }) => time >= from && time < to);
    return within.sort(compareReadings(order)).slice(0, limit);
  };

  for (const order of ['asc', 'desc'] as const) {
    test(`reads every series page by page into one range ${order}`, async () => {
      const all = series.flatMap(({ rows }) => rows).sort(compareReadings(order));
      const after = all[10]!;
      for (const limit of [1, 25, 109, 1000]) {
        const query = { device: 'd', limit, order, after };
        assert.deepEqual(await collect(rangeOfSeries(query, series, readPage)), all.slice(11, 11 + limit));
      }
    });
  }

  test('gives the same range when one query reads the first pages of all series', async () => {
    const readFirst = (pages: readonly FirstPage<(typeof series)[number]>[]) =>
      Promise.all(pages.map((page) => readPage(page.series, page)));
    for (const order of ['asc', 'desc'] as const) {
      const all = series.flatMap(({ rows }) => rows).sort(compareReadings(order));
      for (const limit of [1, 25, 109, 1000]) {
        const query = { device: 'd', limit, order, after: all[10]! };
        const found = await collect(flatten(rangePagesAtOnce(query, series, readPage, readFirst)));
        assert.deepEqual(found, all.slice(11, 11 + limit));
      }
    }
    requested.length = 0;
    const many = Array.from({ length: 200 }, (_, n) => ({
      metric: `m${n}`,
      rows: [reading({ device: 'd', metric: `m${n}`, time: T0 + n })],
    }));
    const whole = await collect(
      flatten(rangePagesAtOnce({ device: 'd', limit: 1000 }, many, readPage, readFirst)),
    );
    assert.equal(whole.length, 200);
    // Each first page has room for a second reading, so no series needs another page.
    assert.equal(requested.length, 200);
    const none = { device: 'd', limit: 9, from: T0 + 1000, to: T0 + 1000 };
    assert.deepEqual(await collect(flatten(rangePagesAtOnce(none, many, readPage, readFirst))), []);
  });

  test('reads only the requested metric, and nothing if it has no readings', async () => {
    const query = { device: 'd', metric: 'b', limit: 100, order: 'asc' } as const;
    assert.deepEqual(await collect(rangeOfSeries(query, series, readPage)), series[1]!.rows);
    assert.deepEqual(await collect(rangeOfSeries({ ...query, metric: 'x' }, series, readPage)), []);
  });

  test('reads no more than the limit, and larger pages while readings are small', async () => {
    requested.length = 0;
    await collect(rangeOfSeries({ device: 'd', metric: 'a', limit: 20 }, series, readPage));
    await collect(rangeOfSeries({ device: 'd', metric: 'a', limit: 1_000_000 }, series, readPage));
    const limits = requested.map(({ limit }) => limit);
    assert.deepEqual(limits, [15, 5, 15, 90]);
  });

  test('bounds pages by the size of texts, and grows them where readings are small', async () => {
    const long = (count: number, value: string | number) => ({
      metric: 'a',
      rows: Array.from({ length: count }, (_, at) => reading({ device: 'd', time: T0 + at, value })),
    });
    for (const [value, largest, smallest] of [
      ['x'.repeat(4096), 15, 15],
      [1, 256, 15],
    ] as const) {
      requested.length = 0;
      const one = long(2000, value);
      const all = await collect(rangeOfSeries({ device: 'd', limit: 10_000 }, [one], readPage));
      assert.equal(all.length, 2000);
      const limits = requested.map(({ limit }) => limit);
      assert.equal(limits[0], 15);
      assert.equal(Math.max(...limits), largest);
      assert.equal(Math.min(...limits), smallest);
    }
  });

  test('first reads one reading of each of very many series', async () => {
    requested.length = 0;
    const many = Array.from({ length: 500 }, (_, n) => ({
      metric: `m${n}`,
      rows: [reading({ device: 'd', metric: `m${n}`, time: T0 + n })],
    }));
    const [newest] = await collect(rangeOfSeries({ device: 'd', limit: 1 }, many, readPage));
    assert.equal(newest!.metric, 'm499');
    assert.equal(requested.length, 500);
    assert.ok(requested.every(({ limit }) => limit === 1));
  });
});

test('take returns no more than the limit', async () => {
  assert.deepEqual(
    await collect(
      take(
        mergePages([pages([1, 2, 3], 2)], (a, b) => a - b),
        2,
      ),
    ),
    [1, 2],
  );
  assert.deepEqual(
    await collect(
      take(
        mergePages([pages([1], 2)], (a, b) => a - b),
        0,
      ),
    ),
    [],
  );
});

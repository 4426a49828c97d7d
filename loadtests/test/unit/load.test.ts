import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Items, load, NotLoadedError, requireLoaded } from '@tidegauge/loadtests/loading/load';
import { progressLine } from '@tidegauge/loadtests/loading/progress';

const FOREVER = new AbortController().signal;

/** Items in memory, and the numbers that were inserted. */
function itemsIn(there: Set<number>, count: number, fail = -1): Items & { readonly inserted: number[] } {
  const inserted: number[] = [];
  return {
    name: 'things',
    count,
    inserted,
    isThere: async (number) => there.has(number),
    async insert(number) {
      await new Promise((resolve) => setImmediate(resolve));
      if (number === fail) throw new Error(`${number} failed`);
      there.add(number);
      inserted.push(number);
    },
  };
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);
const sorted = (values: Iterable<number>) => [...values].toSorted((a, b) => a - b);

test('a load inserts each item once, and a second load inserts none', async () => {
  const there = new Set<number>();
  const items = itemsIn(there, 2500);
  const { found, inserted } = await load(items, 7, FOREVER);
  assert.deepEqual({ found, inserted }, { found: 0, inserted: 2500 });
  assert.deepEqual(sorted(items.inserted), numbers(2500));
  const again = itemsIn(there, 2500);
  const second = await load(again, 7, FOREVER);
  assert.deepEqual([second.found, second.inserted, again.inserted], [2500, 0, []]);
});

for (const cut of [0, 1, 999, 1000, 1001, 3333]) {
  test(`a load that was interrupted at ${cut} continues there`, async () => {
    const there = new Set<number>();
    await assert.rejects(load(itemsIn(there, 4000, cut), 16, FOREVER), new RegExp(`^Error: ${cut} failed`));
    const before = there.size;
    const items = itemsIn(there, 4000);
    const { found, inserted } = await load(items, 3, FOREVER);
    assert.deepEqual(sorted(there), numbers(4000));
    assert.equal(found, before);
    assert.equal(inserted, items.inserted.length);
  });
}

test('a load stops when it is aborted', async () => {
  const stopping = new AbortController();
  const there = new Set<number>();
  const items = itemsIn(there, 5000);
  const insert = async (number: number) => {
    await items.insert(number);
    if (there.size === 50) stopping.abort(new Error('interrupted'));
  };
  await assert.rejects(load({ ...items, insert }, 4, stopping.signal), /interrupted/);
  assert.ok(there.size < 60);
});

test('a store that lacks the last item is not loaded', async () => {
  await requireLoaded(itemsIn(new Set(numbers(100)), 100));
  await assert.rejects(requireLoaded(itemsIn(new Set(numbers(99)), 100)), (error) => {
    assert.ok(error instanceof NotLoadedError);
    assert.match(
      error.message,
      /^things are not loaded: number 99 of 100 is not there; load them with --phase load/,
    );
    return true;
  });
});

test('progress shows share, rate and remaining time', () => {
  assert.equal(
    progressLine('loading things', 430, 1000, 100),
    'loading things [==========>             ]  43 %  430 of 1,000, 100/s, 6 s left',
  );
  assert.match(progressLine('loading', 5, 5, 10), /\[={24}\] 100 % {2}5 of 5/);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BATCHES_AT_ONCE,
  type Items,
  insist,
  load,
  MAX_BATCH,
  NotLoadedError,
  requireLoaded,
} from '@tidegauge/loadtests/loading/load';
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

/** Items in memory that are inserted in batches of this size, which end in a random order. Inserts replace items. */
function batchesIn(there: Set<number>, count: number, batch: number, fail = -1) {
  const inserted: number[] = [];
  let running = 0;
  let most = 0;
  let checks = 0;
  const items: Items = {
    ...itemsIn(there, count),
    name: 'things',
    count,
    async isThere(number) {
      checks += 1;
      return there.has(number);
    },
    insert: () => assert.fail('items are inserted in batches'),
    bulk: {
      batch,
      isEmpty: async () => there.size === 0,
      async insert(numbers) {
        running += 1;
        most = Math.max(most, running);
        assert.ok(numbers.length <= batch);
        for (let turns = Math.random() * 5; turns > 0; turns -= 1)
          await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        for (const number of numbers) {
          if (number === fail) throw new Error(`${number} failed`);
          there.add(number);
          inserted.push(number);
        }
      },
    },
  };
  return { items, inserted, checks: () => checks, most: () => most };
}

for (const batch of [1, 7, MAX_BATCH]) {
  test(`a load in batches of ${batch} inserts each item once, and a second load inserts none`, async () => {
    const there = new Set<number>();
    const first = batchesIn(there, 5300, batch);
    assert.deepEqual(
      { ...(await load(first.items, 1, FOREVER)), perSecond: 0 },
      { found: 0, inserted: 5300, perSecond: 0 },
    );
    assert.deepEqual(sorted(first.inserted), numbers(5300));
    assert.ok(first.most() > 1 && first.most() <= BATCHES_AT_ONCE, `${first.most()} at once`);
    assert.equal(first.checks(), 0, 'an empty store needs no checks');
    const second = batchesIn(there, 5300, batch);
    const { found, inserted } = await load(second.items, 1, FOREVER);
    assert.deepEqual([found, inserted, second.inserted], [5300, 0, []]);
  });
}

test('a load in batches continues after interruptions, whatever the sizes of the batches were', async () => {
  for (let round = 0; round < 15; round += 1) {
    const there = new Set<number>();
    const count = 1 + Math.floor(Math.random() * 12_000);
    const size = () => 1 + Math.floor(Math.random() ** 2 * MAX_BATCH);
    for (let interruption = 0; interruption < 3; interruption += 1) {
      const cut = Math.floor(Math.random() * count);
      const { items, inserted } = batchesIn(there, count, size(), cut);
      const before = new Set(there);
      await load(items, 1, FOREVER).catch((error: Error) => assert.equal(error.message, `${cut} failed`));
      assert.ok(!inserted.some((number) => before.has(number)), 'an item that exists stays unchanged');
    }
    const before = there.size;
    const { items, inserted } = batchesIn(there, count, size());
    const loaded = await load(items, 1, FOREVER);
    assert.deepEqual(sorted(there), numbers(count));
    assert.deepEqual([loaded.found, inserted.length], [before, count - before]);
  }
});

test('a load in batches continues what was loaded one by one', async () => {
  const there = new Set<number>();
  await assert.rejects(load(itemsIn(there, 9000, 3333), 16, FOREVER));
  await assert.rejects(load(batchesIn(there, 9000, 100, 6000).items, 1, FOREVER));
  await load(batchesIn(there, 9000, 100).items, 1, FOREVER);
  assert.deepEqual(sorted(there), numbers(9000));
});

test('a load in batches stops when it is aborted', async () => {
  const stopping = new AbortController();
  const { items, inserted } = batchesIn(new Set(), 50_000, 10);
  const { bulk } = items;
  const insert = async (some: readonly number[]) => {
    await bulk!.insert(some);
    if (inserted.length >= 500) stopping.abort(new Error('interrupted'));
  };
  await assert.rejects(load({ ...items, bulk: { ...bulk!, insert } }, 1, stopping.signal), /interrupted/);
  assert.ok(inserted.length < 600);
});

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

test('a request that is refused is reported with the detail of the answer, and what to do', async () => {
  const send = (status: number, body: string) => insist('making t', async () => ({ status, body }));
  await assert.rejects(send(401, '{"detail":"The token is unknown."}'), {
    message:
      'making t failed: 401: The token is unknown.\nGive a token that may do this: --api-token or API_TOKEN.',
  });
  await assert.rejects(send(502, '<html>bad gateway</html>'), {
    message: 'making t failed: 502 <html>bad gateway</html>\nThe same command goes on from here.',
  });
  await assert.rejects(send(500, 'null'), /^Error: making t failed: 500 null\n/);
  const refused = new Error('PUT http://a/t failed: no program listens there');
  const unanswered = insist('making t', () => Promise.reject(refused));
  await assert.rejects(unanswered, {
    message: `making t failed: ${refused.message}\nThe same command goes on from here.`,
  });
});

test('progress shows share, rate and remaining time', () => {
  assert.equal(
    progressLine('loading things', 430, 1000, 100),
    'loading things [==========>             ]  43 %  430 of 1,000, 100/s, 6 s left',
  );
  assert.match(progressLine('loading', 5, 5, 10), /\[={24}\] 100 % {2}5 of 5/);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { Lane } from '../../src/lane.ts';

interface Item {
  readonly id: number;
  readonly weight: number;
  readonly ownBatch?: boolean;
}

function collect(maxBatch: number, pause: () => Promise<void> = async () => {}) {
  const batches: (readonly Item[])[] = [];
  const lane = new Lane<Item>({
    weigh: (item) => item.weight,
    maxBatch,
    paceMs: 0,
    ownBatch: (item) => item.ownBatch ?? false,
    write: async (batch) => {
      batches.push(batch);
      await pause();
    },
    onBroken: (error) => assert.fail(String(error)),
  });
  return { lane, batches };
}

test('every item is written once, in order, and no batch is heavier than allowed unless one item is', async () => {
  const items = fc.array(fc.record({ weight: fc.integer({ min: 1, max: 8 }), ownBatch: fc.boolean() }), {
    maxLength: 60,
  });
  await fc.assert(
    fc.asyncProperty(items, fc.integer({ min: 1, max: 10 }), async (list, maxBatch) => {
      const { lane, batches } = collect(maxBatch);
      for (const [id, item] of list.entries()) lane.push({ id, ...item });
      await lane.idle();
      assert.deepEqual(
        batches.flat().map((item) => item.id),
        [...list.keys()],
      );
      for (const batch of batches) {
        const weight = batch.reduce((sum, item) => sum + item.weight, 0);
        assert.ok(weight <= maxBatch || batch.length === 1, `weight ${weight} of ${maxBatch}`);
        if (batch.some((item) => item.ownBatch)) assert.equal(batch.length, 1);
      }
    }),
  );
});

test('items that arrive while the writer is busy become one batch', async () => {
  const release = Promise.withResolvers<void>();
  const { lane, batches } = collect(100, () => (batches.length === 1 ? release.promise : Promise.resolve()));
  lane.push({ id: 0, weight: 1 });
  await new Promise(setImmediate);
  for (let id = 1; id <= 5; id++) lane.push({ id, weight: 1 });
  assert.equal(lane.oldest?.id, 0);
  release.resolve();
  await lane.idle();
  assert.deepEqual(
    batches.map((batch) => batch.length),
    [1, 5],
  );
  assert.equal(lane.oldest, undefined);
});

test('a single message is written at once, and messages right after a batch wait for the pace', async () => {
  const begun: number[] = [];
  const lane = new Lane<Item>({
    weigh: (item) => item.weight,
    maxBatch: 3,
    paceMs: 200,
    write: async () => void begun.push(performance.now()),
    onBroken: (error) => assert.fail(String(error)),
  });
  const delay = async (id: number) => {
    const pushed = performance.now();
    lane.push({ id, weight: 1 });
    await lane.idle();
    return begun[begun.length - 1]! - pushed;
  };
  assert.ok((await delay(0)) < 100);
  assert.ok((await delay(1)) >= 150);
});

test('a full batch does not wait for the pace', async () => {
  const release = Promise.withResolvers<void>();
  const begun: number[] = [];
  const lane = new Lane<Item>({
    weigh: (item) => item.weight,
    maxBatch: 3,
    paceMs: 60_000,
    write: () => {
      begun.push(performance.now());
      return release.promise;
    },
    onBroken: (error) => assert.fail(String(error)),
  });
  lane.push({ id: 0, weight: 1 });
  while (begun.length === 0) await new Promise(setImmediate);
  for (const id of [1, 2, 3]) lane.push({ id, weight: 1 });
  release.resolve();
  await lane.idle();
  assert.equal(begun.length, 2);
});

test('items are held for others until the hold ends, they are released, or they have the weight of a batch', async (context) => {
  // A hold that is not ended waits for ever.
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const batches: number[] = [];
  const lane = new Lane<Item>({
    weigh: (item) => item.weight,
    maxBatch: 100,
    paceMs: 0,
    hold: { ms: 60, weight: 10 },
    write: async (batch) => void batches.push(batch.length),
    onBroken: (error) => assert.fail(String(error)),
  });
  lane.release();
  lane.push({ id: 0, weight: 1 });
  await nextTurn();
  lane.push({ id: 1, weight: 1 });
  context.mock.timers.tick(50);
  for (let turn = 0; turn < 3; turn++) await nextTurn();
  assert.deepEqual(batches, []);
  context.mock.timers.tick(10);
  await lane.idle();
  assert.deepEqual(batches, [2]);
  lane.push({ id: 2, weight: 1 });
  lane.release();
  await lane.idle();
  lane.push({ id: 3, weight: 9 });
  lane.push({ id: 4, weight: 1 });
  await lane.idle();
  assert.deepEqual(batches, [2, 1, 2]);
});

test('a writer that fails stops the lane, and waiting items do not count as done', async () => {
  let broken: unknown = null;
  const lane = new Lane<Item>({
    weigh: () => 1,
    maxBatch: 1,
    paceMs: 0,
    write: () => Promise.reject(new Error('gone')),
    onBroken: (error) => {
      broken = error;
    },
  });
  lane.push({ id: 0, weight: 1 });
  lane.push({ id: 1, weight: 1 });
  const idle = lane.idle().then(() => 'idle');
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  assert.match(String(broken), /gone/);
  assert.equal(
    await Promise.race([idle, new Promise((resolve) => setImmediate(resolve, 'waiting'))]),
    'waiting',
  );
});

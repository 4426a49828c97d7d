import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type StoreTarget, useStore } from './target.ts';

const LONG = 60_000;

export function leases(target: StoreTarget): void {
  describe('lease', () => {
    const subject = useStore(target);

    test('is held by one of several processes, which can renew it', async () => {
      const other = await subject.open();
      assert.equal(await subject.store.lease('one', 'a', LONG), true);
      assert.equal(await other.lease('one', 'b', LONG), false);
      assert.equal(await subject.store.lease('one', 'a', LONG), true);
      assert.equal(await other.lease('one', 'a', LONG), true, 'the same holder after a restart');
      assert.equal(await other.lease('two', 'b', LONG), true);
    });

    test('has one winner when many take it at the same time', async () => {
      const others = [await subject.open(), await subject.open()];
      const holders = Array.from({ length: 12 }, (_, index) => `holder-${index}`);
      const won = await Promise.all(
        holders.map((holder, index) =>
          [subject.store, ...others][index % 3]!.lease('contended', holder, LONG),
        ),
      );
      assert.ok(won.filter(Boolean).length <= 1, `${won}`);
      const later = [];
      for (const holder of holders) later.push(await subject.store.lease('contended', holder, LONG));
      assert.equal(later.filter(Boolean).length, 1);
      if (won.includes(true)) assert.deepEqual(later, won);
    });

    test('ends by itself', async () => {
      const other = await subject.open();
      const taken = performance.now();
      assert.equal(await subject.store.lease('short', 'a', 1000), true);
      const held = await other.lease('short', 'b', LONG);
      // A slow machine can take more than the second that the lease lasts.
      if (performance.now() - taken < 1000) assert.equal(held, false);
      const deadline = performance.now() + 15_000;
      await delay(1000);
      while (!(await other.lease('short', 'b', LONG))) {
        assert.ok(performance.now() < deadline, 'the lease does not end');
        await delay(200);
      }
      assert.equal(await subject.store.lease('short', 'a', LONG), false);
    });

    test('needs a name, a holder and a time within the bounds', async () => {
      const wrong = [
        ['', 'a', LONG],
        ['Name', 'a', LONG],
        ['name', '', LONG],
        ['name', 'a', 0],
        ['name', 'a', 1.5],
        ['name', 'a', 1e9],
      ] as const;
      for (const [name, holder, ms] of wrong)
        await assert.rejects(subject.store.lease(name, holder, ms), TypeError);
    });
  });
}

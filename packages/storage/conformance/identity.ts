import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { freshDevice, reading } from './data.ts';
import { type StoreTarget, useStore } from './target.ts';

export function identity(target: StoreTarget): void {
  describe('identity', () => {
    const subject = useStore(target);

    test('does not exist in a new store, also when it has readings', async () => {
      await subject.store.readings.write([reading({ device: freshDevice() })]);
      assert.equal(await subject.store.identity(), null);
    });

    test('is the first one of several processes, and stays', async () => {
      const others = [await subject.open(), await subject.open()];
      const found = await Promise.all(
        Array.from({ length: 9 }, (_, index) =>
          [subject.store, ...others][index % 3]!.identify(`id-${index}`),
        ),
      );
      assert.match(found[0]!, /^id-\d$/);
      assert.deepEqual(new Set(found).size, 1, `${found}`);
      assert.equal(await others[0]!.identity(), found[0]);
      const store = await subject.reopen();
      assert.equal(await store.identify('later'), found[0]);
      await store.migrate();
      assert.equal(await store.identity(), found[0]);
    });
  });
}

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { DeviceQuery, Store } from '@tidegauge/storage';
import { devicePagesOf, devicesOf } from '../../src/device-list.ts';
import { startApi } from '../harness.ts';

const ALL = Number.POSITIVE_INFINITY;

/** A store with its calls of `devices.list`, by their limits. */
async function countedStore(t: TestContext): Promise<{ store: Store; limits: number[] }> {
  const api = await startApi(t);
  const limits: number[] = [];
  const devices = new Proxy(api.store.devices, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        if (name === 'list') limits.push((given[0] as DeviceQuery).limit);
        return Reflect.apply(value, target, given);
      };
    },
  });
  const store = new Proxy(api.store, {
    get: (target, name) => (name === 'devices' ? devices : Reflect.get(target, name, target)),
  });
  return { store, limits };
}

function names(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `d${String(n).padStart(4, '0')}`);
}

test('a long list takes few calls of the store, and a short one takes one', async (t) => {
  const { store, limits } = await countedStore(t);
  await store.devices.register(names(1000));
  const found: string[] = [];
  for await (const { name } of devicesOf(store, {}, ALL, null)) found.push(name);
  assert.deepEqual(found, names(1000));
  assert.deepEqual(limits, [240, 240, 240, 240, 240]);

  limits.length = 0;
  for await (const page of devicePagesOf(store, { after: 'd0500' }, 101, null))
    assert.equal(page.length, 101);
  assert.deepEqual(limits, [101]);
});

test('lists that are read at the same time share the memory for large pages', async (t) => {
  const { store, limits } = await countedStore(t);
  const word = 'x'.repeat(4000);
  const attributes = { a: word, b: word, c: word, d: word };
  const fields = { site: null, city: null, kind: null, year: null, attributes };
  await Promise.all(names(300).map((name) => store.devices.put({ name, ...fields })));
  const [first, second] = [devicePagesOf(store, {}, ALL, null), devicePagesOf(store, {}, ALL, null)];
  await Promise.all([first.next(), second.next()]);
  assert.deepEqual(limits, [240, 50]);
  // The first list holds a page of large devices.
  await second.next();
  assert.equal(limits.at(-1), 50);
  await first.return(undefined);
  await second.next();
  assert.equal(limits.at(-1), 240);
  await second.return(undefined);
});

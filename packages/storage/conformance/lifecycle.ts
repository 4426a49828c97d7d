import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseUrl, type StoreErrorCode, type StoreOperation } from '../src/index.ts';
import { collect, freshDevice, reading, rejection, series, stored, T0 } from './data.ts';
import { createStore, openStore } from './open.ts';
import { type StoreTarget, useStore } from './target.ts';

export function lifecycle(target: StoreTarget): void {
  describe('lifecycle', () => {
    const subject = useStore(target);

    test('has its scheme as its name and frozen capabilities from the start', async () => {
      const { scheme } = parseUrl(subject.place.url);
      const store = await createStore(subject.place.url);
      assert.equal(store.name, scheme);
      assert.ok(Object.isFrozen(store.capabilities));
      assert.equal(subject.store.capabilities, store.capabilities);
      const { maxBatch, writers, maxReplicationFactor } = store.capabilities;
      for (const count of [maxBatch, writers, maxReplicationFactor])
        assert.ok(Number.isInteger(count) && count > 0);
      await store.close();
    });

    test('is healthy while it is open', async () => {
      await subject.store.health();
    });

    test('refuses every call before it is open', async () => {
      const store = await createStore(subject.place.url);
      await rejection(store.health(), 'CLOSED');
      await rejection(store.migrate(), 'CLOSED');
      await rejection(store.readings.write(series(freshDevice(), 1)), 'CLOSED');
      await store.close();
    });

    test('refuses every call after it was closed, and closes twice', async () => {
      const store = await openStore(subject.place.url);
      await Promise.all([store.close(), store.close()]);
      await store.close();
      const device = freshDevice();
      const calls = [
        () => store.open(),
        () => store.migrate(),
        () => store.health(),
        () => store.readings.write([reading({ device })]),
        () => collect(store.readings.range({ device, limit: 1 })),
        () => store.readings.latest([device]),
        () => store.readings.aggregate({ device, metric: 'temperature', from: 0, to: 1, bucket: 1 }),
        () => store.readings.expire(0),
        () => store.devices.get(device),
        () => store.devices.register([device]),
        () => store.devices.list({ limit: 1 }),
        () => store.records.read('usertable', 'a', null),
        () => store.records.insertMany('usertable', []),
        () => store.records.scan('usertable', 'a', 1, null),
      ];
      for (const call of calls) await rejection(call(), 'CLOSED');
    });

    test('finishes running calls before it closes', async () => {
      const store = await openStore(subject.place.url);
      const device = freshDevice();
      const writes = [0, 1, 2].map((part) =>
        store.readings.write(series(device, 900).slice(part * 300, part * 300 + 300)),
      );
      await store.close();
      await Promise.all(writes);
      assert.deepEqual(await stored(subject.store, device), series(device, 900));
    });

    test('ends a running range with CLOSED', async () => {
      const store = await openStore(subject.place.url);
      const device = freshDevice();
      await store.readings.write(series(device, 10));
      const range = store.readings.range({ device, limit: 10 })[Symbol.asyncIterator]();
      await range.next();
      await store.close();
      await rejection(range.next(), 'CLOSED');
    });

    test('keeps everything when it is closed and opened again', async () => {
      const device = freshDevice();
      const batch = series(device, 250);
      await subject.store.readings.write(batch);
      await subject.store.devices.register([device]);
      await subject.store.records.createTable('reopened', 1);
      await subject.store.records.insert('reopened', 'key', { field0: 'kept' });
      const store = await subject.reopen();
      assert.deepEqual(await stored(store, device), batch);
      assert.equal((await store.devices.get(device))?.name, device);
      assert.deepEqual({ ...(await store.records.read('reopened', 'key', null)) }, { field0: 'kept' });
      const again = await store.readings.write(batch);
      if (store.capabilities.countsDuplicates) assert.deepEqual(again, { stored: 0, duplicate: 250 });
    });

    test('can be migrated again', async () => {
      const device = freshDevice();
      await subject.store.readings.write([reading({ device })]);
      await subject.store.migrate();
      assert.deepEqual(await stored(subject.store, device), [reading({ device })]);
    });

    test('opens and migrates an empty database from several stores at the same time', async () => {
      const place = await target.create();
      const stores = await Promise.all([1, 2, 3].map(() => openStore(place.url)));
      const devices = stores.map(() => freshDevice());
      await Promise.all(stores.map((store, index) => store.readings.write(series(devices[index]!, 20))));
      for (const device of devices) assert.equal((await stored(stores[0]!, device)).length, 20);
      for (const store of stores) await store.close();
      await place.cleanup();
    });

    test('refuses an unknown option, and names it and the known ones', async () => {
      const { url } = subject.place;
      const error = await rejection(
        openStore(`${url}${url.includes('?') ? '&' : '?'}colour=blue`),
        'MISCONFIGURED',
      );
      assert.match(error.message, /colour/);
      assert.ok(error.hint);
    });

    test('reports every call with its time and outcome', async () => {
      const seen: [StoreOperation, StoreErrorCode | null][] = [];
      const store = await openStore(subject.place.url, {
        observe(operation, seconds, error) {
          assert.ok(seconds >= 0 && seconds < 60);
          seen.push([operation, error]);
        },
      });
      const device = freshDevice();
      await store.readings.write([reading({ device })]);
      await stored(store, device);
      for await (const _ of store.readings.range({ device, limit: 5 })) break;
      await rejection(store.records.read('nosuchtable', 'a', null), 'REJECTED');
      await store.close();
      await rejection(store.readings.expire(T0), 'CLOSED');
      assert.deepEqual(seen, [
        ['open', null],
        ['migrate', null],
        ['readings.write', null],
        ['readings.range', null],
        ['readings.range', null],
        ['records.read', 'REJECTED'],
        ['readings.expire', 'CLOSED'],
      ]);
    });
  });
}

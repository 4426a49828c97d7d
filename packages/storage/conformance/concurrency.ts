import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { freshDevice, reading, series, stored, T0, writeFirmly } from './data.ts';
import { hasOnlyDerived } from './open.ts';
import { type StoreTarget, useStore } from './target.ts';

export function concurrency(target: StoreTarget): void {
  describe('concurrency', () => {
    const subject = useStore(target);

    test('counts each identity once when eight writers overlap', async () => {
      const device = freshDevice();
      const all = series(device, 2000);
      const writers = Array.from({ length: 8 }, async (_, writer) => {
        let count = 0;
        // Each writes three quarters of the readings, starting at a different one.
        for (let part = 0; part < 15; part += 1) {
          const start = (writer * 250 + part * 100) % all.length;
          count += await writeFirmly(subject.store, all.slice(start, start + 100));
        }
        return count;
      });
      const sum = (await Promise.all(writers)).reduce((total, count) => total + count, 0);
      if (subject.store.capabilities.countsDuplicates) assert.equal(sum, all.length);
      assert.deepEqual(await stored(subject.store, device), all);
    });

    test('stores the readings that several stores of one database write at the same time', async () => {
      const stores = [subject.store, await subject.open(), await subject.open()];
      const device = freshDevice('shared');
      const all = series(device, 1200);
      const counts = await Promise.all(
        stores.map(async (store, index) => {
          let count = 0;
          for (let start = 0; start < all.length; start += 100) {
            const from = (start + index * 400) % all.length;
            count += await writeFirmly(store, all.slice(from, from + 100));
            await store.devices.register([device, `${device}-${index}`]);
          }
          return count;
        }),
      );
      const sum = counts.reduce((total, count) => total + count, 0);
      if (subject.store.capabilities.countsDuplicates) assert.equal(sum, all.length);
      for (const store of stores) assert.deepEqual(await stored(store, device), all);
    });

    test('shows each store the corrections of the other', async () => {
      const other = await subject.open();
      const device = freshDevice('corrected');
      for (let round = 0; round < 20; round += 1) {
        const [writer, reader] = round % 2 === 0 ? [subject.store, other] : [other, subject.store];
        const row = reading({ device, value: round });
        await writer.readings.write([row]);
        assert.deepEqual(await stored(reader, device), [row]);
      }
    });

    test('shows only complete batches to a reader, if batches are atomic', async () => {
      const device = freshDevice('atomic');
      const size = 50;
      let done = false;
      const writing = (async () => {
        for (let value = 1; value <= 40; value += 1) {
          const batch = Array.from({ length: size }, (_, index) =>
            reading({ device, time: T0 + index, value }),
          );
          await writeFirmly(subject.store, batch);
          await new Promise(setImmediate);
        }
        done = true;
      })();
      const query = { device, metric: 'temperature', from: T0, to: T0 + size, bucket: 1_000_000 };
      while (!done) {
        const [bucket] = (await subject.store.readings.aggregate(query)).buckets;
        await new Promise(setImmediate);
        // A derived call reads the range in several steps.
        if (bucket === undefined || !subject.store.capabilities.atomicBatches || hasOnlyDerived()) continue;
        assert.equal(bucket.count, size);
        assert.equal(bucket.min, bucket.max);
      }
      await writing;
      const values = new Set((await stored(subject.store, device)).map(({ value }) => value));
      assert.deepEqual([...values], [40]);
    });

    test('keeps all of several concurrent patches of different fields', async () => {
      // Repeated, because transactions collide only sometimes.
      for (let round = 0; round < 20; round += 1) {
        const name = freshDevice('patched');
        await subject.store.devices.register([name]);
        await Promise.all([
          subject.store.devices.patch(name, { city: 'Husum' }),
          subject.store.devices.patch(name, { year: 1999 }),
          subject.store.devices.patch(name, { kind: 'probe' }),
        ]);
        const { city, year, kind } = (await subject.store.devices.get(name))!;
        assert.deepEqual({ city, year, kind }, { city: 'Husum', year: 1999, kind: 'probe' });
      }
    });
  });
}

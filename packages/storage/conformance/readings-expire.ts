import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { freshDevice, series, stored, T0 } from './data.ts';
import { type StoreTarget, useStore } from './target.ts';

const SECOND = 1_000_000;

// Expiry affects every device of the database, so each test here uses later times than the test before.
export function readingsExpire(target: StoreTarget): void {
  describe('readings.expire', () => {
    const subject = useStore(target);

    test('drops readings older than the given time and no others', async () => {
      const devices = [freshDevice(), freshDevice()];
      for (const device of devices) await subject.store.readings.write(series(device, 20));
      const expired = await subject.store.readings.expire(T0 + 5 * SECOND);
      assert.ok(expired === null || expired === 10, `${expired} expired`);
      for (const device of devices) {
        assert.deepEqual(await stored(subject.store, device), series(device, 20).slice(5));
        assert.deepEqual(await subject.store.readings.latest([device]), series(device, 20).slice(19));
      }
    });

    test('drops nothing when nothing is older', async () => {
      const expired = await subject.store.readings.expire(T0 - 1);
      assert.ok(expired === null || expired === 0);
    });

    test('accepts new readings of an expired time', async () => {
      const device = freshDevice();
      await subject.store.readings.write(series(device, 4));
      await subject.store.readings.expire(T0 + 20 * SECOND);
      assert.deepEqual(await stored(subject.store, device), []);
      assert.deepEqual(await subject.store.readings.latest([device]), []);
      await subject.store.readings.write(series(device, 4));
      assert.deepEqual(await stored(subject.store, device), series(device, 4));
    });

    test('drops many old readings during writes', async () => {
      const [old, live] = [freshDevice('old'), freshDevice('live')];
      await subject.store.readings.write(series(old, 25_000));
      let done = false;
      const expiry = subject.store.readings.expire(T0 + 24_000 * SECOND).finally(() => {
        done = true;
      });
      let written = 0;
      do {
        const [reading] = series(live, 1);
        await subject.store.readings.write([{ ...reading!, time: T0 + (30_000 + written) * SECOND }]);
        written += 1;
        await new Promise(setImmediate);
      } while (!done);
      const expired = await expiry;
      assert.ok(expired === null || expired >= 24_000);
      assert.equal((await stored(subject.store, old)).length, 1000);
      assert.equal((await stored(subject.store, live)).length, written);
    });
  });
}

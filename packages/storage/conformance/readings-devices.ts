import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { collect, freshDevice, reading } from './data.ts';
import { type StoreTarget, useStore } from './target.ts';

export function readingsDevices(target: StoreTarget): void {
  describe('readings.devices', () => {
    const subject = useStore(target);

    test('streams nothing from an empty store, also after a name', async () => {
      assert.deepEqual(await collect(subject.store.readings.devices()), []);
      assert.deepEqual(await collect(subject.store.readings.devices('any')), []);
    });

    test('names each device with readings once, registered or not, and continues after each of them', async () => {
      const { readings, devices } = subject.store;
      const odd = ['a', 'a-b', 'a/b', 'a~', 'A', 'ü~β', '\u{20000}', '\uffda', 'constructor', '__proto__'];
      const many = Array.from({ length: 60 }, () => freshDevice('named'));
      const all = [...odd, ...many].sort();
      await readings.write(
        all.flatMap((device) => [
          reading({ device }),
          reading({ device, metric: 'state', value: 'on' }),
          reading({ device, metric: 'text', value: '' }),
        ]),
      );
      await readings.write(
        Array.from({ length: 300 }, (_, index) => reading({ device: 'a', metric: `m${index}` })),
      );
      await devices.register(['a', freshDevice('silent')]);
      const order = await collect(readings.devices());
      assert.deepEqual(order.toSorted(), all);
      for (const [index, device] of order.entries()) {
        if (index % 7 !== 0 && !odd.includes(device)) continue;
        assert.deepEqual(await collect(readings.devices(device)), order.slice(index + 1), device);
      }
      const again = (await subject.reopen()).readings;
      assert.deepEqual(await collect(again.devices()), order, 'the order does not change');
    });

    test('streams 2,500 devices', async () => {
      const { readings } = subject.store;
      const names = Array.from({ length: 2500 }, () => freshDevice('page'));
      await readings.write(names.map((device) => reading({ device })));
      const found = (await collect(readings.devices())).filter((name) => name.includes('/page-'));
      assert.deepEqual(found.toSorted(), names.toSorted());
    });
  });
}

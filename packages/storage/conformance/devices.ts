import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Device, unknownDevice } from '@tidegauge/readings';
import { freshDevice, rejection, series, stored } from './data.ts';
import { type StoreTarget, useStore } from './target.ts';

function device(fields: Partial<Device> = {}): Device {
  const attributes = { firmware: '1.4', height: 12.5, outdoor: true, note: null };
  return {
    name: freshDevice(),
    site: 'quay',
    city: 'Cuxhaven',
    kind: 'probe',
    year: 2019,
    attributes,
    ...fields,
  };
}

export function devices(target: StoreTarget): void {
  describe('devices', () => {
    const subject = useStore(target);

    test('puts and gets a device with all its fields', async () => {
      const full = device();
      const bare = unknownDevice(freshDevice());
      assert.equal(await subject.store.devices.put(full), true);
      assert.equal(await subject.store.devices.put(bare), true);
      assert.deepEqual(await subject.store.devices.get(full.name), full);
      assert.deepEqual(await subject.store.devices.get(bare.name), bare);
    });

    test('gets null for a device that is not registered', async () => {
      assert.equal(await subject.store.devices.get(freshDevice()), null);
    });

    test('replaces a device whole', async () => {
      const first = device();
      await subject.store.devices.put(first);
      const second = { ...unknownDevice(first.name), city: 'Büsum', attributes: { height: -3 } };
      assert.equal(await subject.store.devices.put(second), false);
      assert.deepEqual(await subject.store.devices.get(first.name), second);
    });

    test('does not report an unchanged device as created', async () => {
      const known = device();
      await subject.store.devices.put(known);
      assert.equal(await subject.store.devices.put(known), false);
      assert.deepEqual(await subject.store.devices.get(known.name), known);
    });

    test('registers names that are new and leaves known devices as they are', async () => {
      const known = device();
      await subject.store.devices.put(known);
      const fresh = freshDevice();
      await subject.store.devices.register([known.name, fresh, fresh]);
      await subject.store.devices.register([fresh]);
      assert.deepEqual(await subject.store.devices.get(known.name), known);
      assert.deepEqual(await subject.store.devices.get(fresh), unknownDevice(fresh));
    });

    test('patches the given fields and returns the changed device', async () => {
      const before = device();
      await subject.store.devices.put(before);
      const after = { ...before, city: null, year: 1991, attributes: { moved: true } };
      const patch = { city: null, year: 1991, attributes: { moved: true } };
      assert.deepEqual(await subject.store.devices.patch(before.name, patch), after);
      assert.deepEqual(await subject.store.devices.patch(before.name, {}), after);
      assert.deepEqual(await subject.store.devices.get(before.name), after);
    });

    test('does not create a device by a patch', async () => {
      const name = freshDevice();
      assert.equal(await subject.store.devices.patch(name, { year: 2000 }), null);
      assert.equal(await subject.store.devices.get(name), null);
    });

    test('patches every device that matches and returns their number', async () => {
      const site = `patch-some-${freshDevice()}`;
      const some = [2001, 2001, 2002].map((year) => device({ site, year }));
      for (const one of some) await subject.store.devices.put(one);
      assert.equal(await subject.store.devices.patchWhere({ site, year: 2001 }, { kind: 'gauge' }), 2);
      assert.equal(await subject.store.devices.patchWhere({ site, year: 1900 }, { kind: 'none' }), 0);
      assert.equal(await subject.store.devices.patchWhere({ site }, {}), 3);
      const kinds = (await subject.store.devices.list({ site, limit: 10 })).map(({ kind }) => kind);
      assert.deepEqual(kinds, ['gauge', 'gauge', 'probe']);
    });

    test('patches a field that it also filters by', async () => {
      const city = `City ${freshDevice()}`;
      for (let count = 0; count < 3; count += 1) await subject.store.devices.put(device({ city }));
      assert.equal(await subject.store.devices.patchWhere({ city }, { city: `${city} new` }), 3);
      assert.deepEqual(await subject.store.devices.list({ city, limit: 10 }), []);
      assert.equal((await subject.store.devices.list({ city: `${city} new`, limit: 10 })).length, 3);
    });

    test('deletes a device and keeps its readings', async () => {
      const gone = device();
      await subject.store.devices.put(gone);
      await subject.store.readings.write(series(gone.name, 3));
      assert.equal(await subject.store.devices.delete(gone.name), true);
      assert.equal(await subject.store.devices.delete(gone.name), false);
      assert.equal(await subject.store.devices.get(gone.name), null);
      assert.equal((await stored(subject.store, gone.name)).length, 3);
    });

    test('lists devices that match all given fields, by name', async () => {
      const site = `list-${freshDevice()}`;
      const [a, b, c, d] = [
        device({ site, year: 2019, city: 'Emden', kind: 'x' }),
        device({ site, year: 2019, city: 'Emden', kind: 'y' }),
        device({ site, year: 2020, city: 'Emden', kind: 'x' }),
        device({ site, year: 2019, city: null, kind: null }),
      ];
      for (const one of [d, c, b, a]) await subject.store.devices.put(one!);
      const { devices } = subject.store;
      assert.deepEqual(await devices.list({ site, limit: 10 }), [a, b, c, d]);
      assert.deepEqual(await devices.list({ site, year: 2019, limit: 10 }), [a, b, d]);
      assert.deepEqual(await devices.list({ site, city: 'Emden', limit: 10 }), [a, b, c]);
      assert.deepEqual(await devices.list({ site, year: 2019, city: 'Emden', kind: 'x', limit: 10 }), [a]);
      assert.deepEqual(await devices.list({ site, city: 'emden', limit: 10 }), []);
    });

    test('lists all devices in pages, without missing or repeating one', async () => {
      const names = ['z', 'A', 'é', 'a', 'Z', '\u{20000}', 'ｚ'].map((tail) => `page/${tail}`);
      for (const name of names) await subject.store.devices.put(device({ name, site: 'paging' }));
      for (const limit of [1, 3, 100]) {
        const paged: string[] = [];
        for (;;) {
          const last = paged.at(-1);
          const query = { site: 'paging', limit, ...(last === undefined ? {} : { after: last }) };
          const page = await subject.store.devices.list(query);
          paged.push(...page.map(({ name }) => name));
          if (page.length < limit) break;
        }
        // By code point.
        const byBytes = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
        assert.deepEqual(paged, byBytes, `pages of ${limit}`);
      }
    });

    test('rejects data that no store can keep', async () => {
      const { devices } = subject.store;
      await rejection(devices.put(device({ name: 'two words' })), 'REJECTED');
      await rejection(devices.put(device({ year: 20.5 })), 'REJECTED');
      await rejection(devices.put(device({ city: 'x'.repeat(201) })), 'REJECTED');
      await rejection(devices.put(device({ attributes: { broken: Number.NaN } })), 'REJECTED');
      const error = await rejection(devices.register([freshDevice(), '', 'b c']), 'REJECTED');
      assert.deepEqual(error.rows, [1, 2]);
      await assert.rejects(devices.list({ limit: 0 }), TypeError);
      await assert.rejects(devices.list({ limit: 10_001 }), TypeError);
    });
  });
}

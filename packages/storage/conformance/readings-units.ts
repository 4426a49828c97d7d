import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { collect, firmly, freshDevice, reading, rejection, stored } from './data.ts';
import { type StoreTarget, useStore } from './target.ts';

export function readingsUnits(target: StoreTarget): void {
  describe('readings.units', () => {
    const subject = useStore(target);
    const write = (device: string, metrics: readonly string[]) =>
      subject.store.readings.write(metrics.map((metric) => reading({ device, metric })));

    test('returns the unit of each series in their order, or null', async () => {
      const [one, other] = [freshDevice('Units'), freshDevice('units/ü~β')];
      await write(one, ['temperature', 'humidity', 'constructor', '__proto__']);
      await write(other, ['temperature', 'Temperature']);
      const units = [
        { device: one, metric: 'temperature', unit: 'Cel' },
        { device: one, metric: '__proto__', unit: '1/min' },
        { device: other, metric: 'Temperature', unit: `µg/m³ "'\\ \u{1f6aa}`.padEnd(64, 'x') },
      ];
      await subject.store.readings.setUnits(units);
      const series = [
        ...units.toReversed(),
        { device: other, metric: 'temperature' },
        { device: one, metric: 'humidity' },
        { device: one, metric: 'constructor' },
        { device: freshDevice('never'), metric: 'temperature' },
        units[0]!,
      ].map(({ device, metric }) => ({ device, metric }));
      const expected = [...units.map(({ unit }) => unit).toReversed(), null, null, null, null, 'Cel'];
      assert.deepEqual(await subject.store.readings.units(series), expected);
      assert.deepEqual(await subject.store.readings.units([]), []);
      await subject.store.readings.setUnits([]);
    });

    test('replaces the unit of a series, and keeps those of its device', async () => {
      const device = freshDevice();
      await write(device, ['a', 'b']);
      const names = ['a', 'b'].map((metric) => ({ device, metric }));
      await subject.store.readings.setUnits(names.map((name) => ({ ...name, unit: 'V' })));
      await subject.store.readings.setUnits([{ device, metric: 'a', unit: 'mV' }]);
      await subject.store.readings.setUnits([{ device, metric: 'a', unit: 'mV' }]);
      assert.deepEqual(await subject.store.readings.units(names), ['mV', 'V']);
    });

    test('changes no reading and no device', async () => {
      const device = freshDevice();
      await write(device, ['a', 'b']);
      const before = [await stored(subject.store, device), await subject.store.devices.get(device)];
      await subject.store.readings.setUnits([{ device, metric: 'a', unit: 'V' }]);
      assert.deepEqual(
        [await stored(subject.store, device), await subject.store.devices.get(device)],
        before,
      );
      assert.deepEqual((await subject.store.readings.metrics(device, 10)).sort(), ['a', 'b']);
      const listed = await subject.store.devices.list({ limit: 100 });
      assert.ok(!listed.some(({ name }) => name.includes('units ')), 'a unit is not a device');
      const { groups } = await subject.store.readings.groups({ by: 'device', limit: 1000 });
      assert.ok(groups.some(({ key }) => key === device));
    });

    test('keeps units when the store is opened again, and shows them to other processes', async () => {
      const device = freshDevice();
      await write(device, ['a']);
      await subject.store.readings.setUnits([{ device, metric: 'a', unit: 'lm' }]);
      const other = await subject.open();
      assert.deepEqual(await other.readings.units([{ device, metric: 'a' }]), ['lm']);
      const again = await subject.reopen();
      assert.deepEqual(await again.readings.units([{ device, metric: 'a' }]), ['lm']);
      await again.devices.register([device]);
      await again.devices.delete(device);
      assert.deepEqual(
        await again.readings.units([{ device, metric: 'a' }]),
        ['lm'],
        'its readings stay too',
      );
    });

    test('stores 3,000 units of 30 devices at once, and from four writers at the same time', async () => {
      const devices = Array.from({ length: 30 }, () => freshDevice('many'));
      const series = devices.flatMap((device) =>
        Array.from({ length: 100 }, (_, index) => ({ device, metric: `m${index}` })),
      );
      await subject.store.readings.write(series.map((name) => reading(name)));
      await subject.store.readings.setUnits(series.map((name) => ({ ...name, unit: name.metric })));
      const metrics = series.map(({ metric }) => metric);
      assert.deepEqual(await subject.store.readings.units(series), metrics);
      await Promise.all(
        [0, 1, 2, 3].map((writer) =>
          firmly(() =>
            subject.store.readings.setUnits(
              series.slice(writer * 200, writer * 200 + 400).map((name) => ({ ...name, unit: 'W' })),
            ),
          ),
        ),
      );
      const units = await subject.store.readings.units(series);
      assert.deepEqual(units, [...new Array<string>(1000).fill('W'), ...metrics.slice(1000)]);
    });

    test('refuses units that not every store can keep', async () => {
      const device = freshDevice();
      await write(device, ['a']);
      for (const unit of ['', 'x'.repeat(65), 'a\0b', 'line\nbreak', '\ud800']) {
        const units = [
          { device, metric: 'a', unit: 'V' },
          { device, metric: 'b', unit },
        ];
        const { rows } = await rejection(subject.store.readings.setUnits(units), 'REJECTED');
        assert.deepEqual(rows, [1], JSON.stringify(unit));
      }
      assert.deepEqual(await subject.store.readings.units([{ device, metric: 'a' }]), [null]);
      assert.equal((await collect(subject.store.readings.range({ device, limit: 9 }))).length, 1);
    });
  });
}

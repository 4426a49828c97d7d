import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { freshDevice, reading, series, T0 } from './data.ts';
import { type StoreTarget, useStore } from './target.ts';

export function readingsLatest(target: StoreTarget): void {
  describe('readings.latest', () => {
    const subject = useStore(target);

    test('returns the newest reading of each metric of each device, by device, then metric', async () => {
      const devices = [freshDevice('b'), freshDevice('a'), freshDevice('C')];
      for (const device of devices) {
        await subject.store.readings.write([
          ...series(device, 20, 'temperature'),
          ...series(device, 10, 'humidity'),
        ]);
      }
      const expected = devices
        .toSorted()
        .flatMap((device) => [
          series(device, 10, 'humidity').at(-1),
          series(device, 20, 'temperature').at(-1),
        ]);
      assert.deepEqual(await subject.store.readings.latest(devices), expected);
    });

    test('uses the time of the reading, not the time of the write', async () => {
      const device = freshDevice();
      const newest = reading({ device, time: T0 + 10, value: 1 });
      await subject.store.readings.write([newest]);
      await subject.store.readings.write([reading({ device, time: T0 + 5, value: 2, received: T0 + 99 })]);
      assert.deepEqual(await subject.store.readings.latest([device]), [newest]);
    });

    test('shows a correction of the newest reading', async () => {
      const device = freshDevice();
      await subject.store.readings.write(series(device, 5));
      const corrected = { ...series(device, 5).at(-1)!, value: 'replaced' };
      await subject.store.readings.write([corrected]);
      assert.deepEqual(await subject.store.readings.latest([device]), [corrected]);
    });

    test('leaves out devices without readings and returns each name once', async () => {
      const [silent, device] = [freshDevice('silent'), freshDevice()];
      await subject.store.devices.register([silent]);
      await subject.store.readings.write(series(device, 2));
      assert.deepEqual(await subject.store.readings.latest([]), []);
      assert.deepEqual(await subject.store.readings.latest([silent]), []);
      const twice = await subject.store.readings.latest([device, silent, device]);
      assert.deepEqual(twice, series(device, 2).slice(1));
    });

    test('returns the first readings up to a limit', async () => {
      const devices = [freshDevice('limit-a'), freshDevice('limit-b'), freshDevice('limit-c')];
      const rows = devices.flatMap((device) => ['a', 'b'].map((metric) => reading({ device, metric })));
      await subject.store.readings.write(rows);
      for (const limit of [1, 2, 3, 5, 6, 100]) {
        assert.deepEqual(await subject.store.readings.latest(devices, limit), rows.slice(0, limit));
      }
    });

    test('returns the latest of 500 devices in one call', async () => {
      const devices = Array.from({ length: 500 }, () => freshDevice('many'));
      const rounds = [3, 1, 2].flatMap((round) =>
        devices.map((device) => reading({ device, time: T0 + round, value: round })),
      );
      await subject.store.readings.write(rounds);
      const latest = await subject.store.readings.latest(devices);
      assert.deepEqual(
        latest.map(({ device }) => device),
        devices.toSorted(),
      );
      assert.ok(latest.every(({ value }) => value === 3));
    });
  });
}

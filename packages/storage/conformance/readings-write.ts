import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Reading } from '@tidegauge/readings';
import { MAX_METRICS } from '../src/index.ts';
import { collect, freshDevice, reading, rejection, series, stored, T0 } from './data.ts';
import { type StoreTarget, useStore } from './target.ts';

const UNICODE = [
  'grün',
  '測定値 ☃',
  '\u{1F30A}\u{1F9ED}',
  'e\u0301 is not \u00e9',
  'line\nbreak\ttab',
  '"\'`\\;--',
];
const EXTREMES = [0, 5e-324, -5e-324, 1.7976931348623157e308, -1.7e308, 0.1 + 0.2, 2 ** 53, 1 / 3, 1e21];

export function readingsWrite(target: StoreTarget): void {
  describe('readings.write', () => {
    const subject = useStore(target);
    /** The expected counts, if the store counts duplicates. */
    const counts = (stored: number, duplicate: number) =>
      subject.store.capabilities.countsDuplicates
        ? { stored, duplicate }
        : { stored: stored + duplicate, duplicate: 0 };

    test('stores all fields of a reading', async () => {
      const device = `site-3/boiler/${freshDevice('probe')}`;
      const full = reading({ device, value: -12.25, boot: 'b-7f3a', seq: 4_000_000_000, quality: 'skewed' });
      const plain = reading({ device, time: T0 + 1, received: T0 - 5_000_000, quality: 'unsynced' });
      assert.deepEqual(await subject.store.readings.write([full, plain]), counts(2, 0));
      assert.deepEqual(await stored(subject.store, device), [full, plain]);
    });

    test('names its duplicates by their places, if it can', async () => {
      const { capabilities, readings } = subject.store;
      const device = freshDevice('places');
      const batch = Array.from({ length: capabilities.maxBatch + 10 }, (_, n) =>
        reading({ device, time: T0 + n, value: n }),
      );
      const duplicates: number[] = [];
      const places = [0, 7, capabilities.maxBatch + 1];
      await readings.write([...places, 3].map((place) => batch[place]!));
      // A correction is no duplicate. Of equal identities, each is looked at.
      const again = [...batch.with(3, { ...batch[3]!, value: -1 }), batch[5]!];
      await readings.write(again, { newHours: 0, duplicates });
      const expected = [...places, again.length - 1];
      assert.deepEqual(duplicates, capabilities.namesDuplicates ? expected : []);
    });

    test('refuses metrics beyond the bound of a device, and keeps the existing ones', async () => {
      const device = freshDevice('many-metrics');
      const of = (from: number, to: number, time = T0) =>
        Array.from({ length: to - from }, (_, n) => reading({ device, metric: `m${from + n}`, time }));
      await subject.store.readings.write(of(0, MAX_METRICS - 10));
      const names = await subject.store.readings.metrics(device, 10_000);
      assert.deepEqual(
        names.sort(),
        of(0, MAX_METRICS - 10)
          .map(({ metric }) => metric)
          .sort(),
      );
      assert.equal((await subject.store.readings.metrics(device, 7)).length, 7);
      // Another process has no cache of these writes.
      const other = await subject.open();
      const batch = of(MAX_METRICS - 20, MAX_METRICS + 30);
      const error = await rejection(other.readings.write(batch), 'REJECTED');
      assert.deepEqual(error.rows, [...batch.keys()].slice(20));
      assert.match(error.message, /has 500 metrics already.*devices beneath it/s);
      await other.readings.write(batch.filter((_, row) => !error.rows!.includes(row)));
      await other.readings.write(of(0, 5, T0 + 1));
      const newest = await subject.store.readings.latest([device]);
      assert.equal(newest.length, MAX_METRICS);
      const range = await stored(subject.store, device);
      assert.equal(range.length, MAX_METRICS + 5);
      const one = subject.store.readings.range({ device, limit: 1 });
      assert.deepEqual(await collect(one), [reading({ device, metric: 'm4', time: T0 + 1 })]);
    });

    test('writes nothing for an empty batch', async () => {
      assert.deepEqual(await subject.store.readings.write([]), { stored: 0, duplicate: 0 });
    });

    test('stores the same batch once, however often it is written', async () => {
      const device = freshDevice();
      const batch = series(device, 50);
      assert.deepEqual(await subject.store.readings.write(batch), counts(50, 0));
      assert.deepEqual(await subject.store.readings.write(batch), counts(0, 50));
      assert.deepEqual(await subject.store.readings.write(batch.slice(10, 20)), counts(0, 10));
      assert.deepEqual(await stored(subject.store, device), batch);
    });

    test('distinguishes new readings from duplicates within one batch', async () => {
      const device = freshDevice();
      const batch = series(device, 30);
      await subject.store.readings.write(batch.slice(0, 12));
      assert.deepEqual(await subject.store.readings.write(batch), counts(18, 12));
      assert.deepEqual(await stored(subject.store, device), batch);
    });

    test('counts exactly while batches with and without duplicates alternate', async () => {
      const device = freshDevice();
      const all = series(device, 70);
      const written = new Set<number>();
      // Redeliveries in a row, then new readings, then redeliveries again.
      for (const start of [0, 0, 5, 5, 10, 15, 20, 30, 40, 35, 50, 45, 60, 55, 60]) {
        const rows = Array.from({ length: 10 }, (_, row) => start + row);
        const known = rows.filter((row) => written.has(row)).length;
        const batch = rows.map((row) => all[row]!);
        assert.deepEqual(await subject.store.readings.write(batch), counts(10 - known, known));
        for (const row of rows) written.add(row);
      }
      assert.deepEqual(await stored(subject.store, device), all);
    });

    test('keeps readings that arrive out of order', async () => {
      const device = freshDevice();
      const batch = series(device, 40);
      const shuffled = batch.map((_, index) => batch[(index * 17) % batch.length]!);
      await subject.store.readings.write(shuffled.slice(25));
      await subject.store.readings.write(shuffled.slice(0, 25));
      assert.deepEqual(await stored(subject.store, device), batch);
    });

    test('treats another value of the same identity as a correction', async () => {
      const device = freshDevice();
      const first = reading({ device, value: 20, boot: 'a', seq: 1 });
      const second = reading({
        device,
        value: 21,
        boot: 'b',
        seq: 9,
        received: T0 + 9_000_000,
        quality: 'skewed',
      });
      await subject.store.readings.write([first]);
      assert.deepEqual(await subject.store.readings.write([second]), counts(1, 0));
      assert.deepEqual(await stored(subject.store, device), [second]);
      assert.deepEqual(await subject.store.readings.write([first]), counts(1, 0));
      assert.deepEqual(await stored(subject.store, device), [first]);
    });

    test('lets the last of equal identities in a batch win, and counts every row once', async () => {
      const device = freshDevice();
      const values = [1, 2, 2, 3, 1];
      const batch = values.map((value) => reading({ device, value }));
      assert.deepEqual(await subject.store.readings.write(batch), counts(4, 1));
      assert.deepEqual(
        (await stored(subject.store, device)).map(({ value }) => value),
        [1],
      );
    });

    test('distinguishes series that share a device, a metric or a time', async () => {
      const [one, two] = [freshDevice(), freshDevice()];
      const batch = [one, two].flatMap((device) =>
        ['humidity', 'temperature'].map((metric, index) => reading({ device, metric, value: index })),
      );
      assert.deepEqual(await subject.store.readings.write(batch), counts(4, 0));
      assert.deepEqual(await stored(subject.store, one), batch.slice(0, 2));
      assert.deepEqual(await stored(subject.store, two), batch.slice(2));
    });

    test('keeps every double exactly', async () => {
      const device = freshDevice();
      const batch = EXTREMES.map((value, index) => reading({ device, time: T0 + index, value }));
      const zero = reading({ device, time: T0 + 1000, value: -0 });
      await subject.store.readings.write([...batch, zero]);
      const values = (await stored(subject.store, device)).map(({ value }) => value);
      assert.equal(values.length, EXTREMES.length + 1);
      for (const [index, value] of [...EXTREMES, -0].entries()) {
        assert.ok(Object.is(values[index], value), `${value} came back as ${values[index]}`);
      }
    });

    test('keeps texts exactly, and distinguishes them from numbers', async () => {
      const device = freshDevice();
      const texts = [...UNICODE, '', '12', '-0', 'NaN', 'x'.repeat(4096)];
      const batch = texts.map((value, index) => reading({ device, time: T0 + index, value }));
      await subject.store.readings.write(batch);
      assert.deepEqual(await stored(subject.store, device), batch);
      const number = reading({ device, time: T0 + texts.indexOf('12'), value: 12 });
      assert.deepEqual(await subject.store.readings.write([number]), counts(1, 0));
      const back = await stored(subject.store, device, { from: number.time, to: number.time + 1 });
      assert.deepEqual(back, [number]);
    });

    test('keeps names of any script and distinguishes them by every character', async () => {
      const tag = freshDevice('unicode');
      const devices = ['Pumpe-é', 'pumpe-é', 'Pumpe-e', '水位/ponton', '\u{20000}'].map(
        (name) => `${tag}/${name}`,
      );
      const batch = devices.map((device, index) => reading({ device, metric: 'Füllstand', value: index }));
      assert.deepEqual(await subject.store.readings.write(batch), counts(devices.length, 0));
      for (const [index, device] of devices.entries()) {
        assert.deepEqual(await stored(subject.store, device), [batch[index]]);
      }
    });

    test('keeps the earliest and the latest possible time', async () => {
      const device = freshDevice();
      const batch = [0, Number.MAX_SAFE_INTEGER].map((time) => reading({ device, time, received: T0 }));
      await subject.store.readings.write(batch);
      assert.deepEqual(await stored(subject.store, device), batch);
    });

    test('rejects data that no store can keep, names the rows, and stores none of the batch', async () => {
      const device = freshDevice();
      const good = reading({ device });
      const bad: Reading[] = [
        { ...good, value: Number.NaN },
        { ...good, value: Number.NEGATIVE_INFINITY },
        { ...good, time: 1.5 },
        { ...good, time: -1 },
        { ...good, device: 'two  words' },
        { ...good, metric: '' },
        { ...good, value: 'half a pair \ud800' },
        { ...good, value: 'nul \0' },
        { ...good, value: 'x'.repeat(4097) },
      ];
      for (const row of bad) {
        const error = await rejection(subject.store.readings.write([good, row, good, row]), 'REJECTED');
        assert.deepEqual(error.rows, [1, 3], error.message);
      }
      assert.deepEqual(await stored(subject.store, device), []);
    });

    const most = target.largestCall ?? 100_000;
    test(`stores ${most} readings in one call`, { timeout: 120_000 }, async () => {
      const devices = Array.from({ length: 10 }, () => freshDevice('large'));
      const each = most / devices.length;
      const batch = devices.flatMap((device) => series(device, each));
      assert.deepEqual(await subject.store.readings.write(batch), counts(most, 0));
      const again = batch.slice(most / 2 - 500, most / 2 + 500);
      assert.deepEqual(await subject.store.readings.write(again), counts(0, 1000));
      for (const [index, device] of devices.entries()) {
        const back = await stored(subject.store, device);
        assert.deepEqual(back, batch.slice(index * each, (index + 1) * each));
      }
    });
  });
}

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { exitText, startProcess } from '@tidegauge/process';
import { freshDevice, reading, series, stored, T0 } from './data.ts';
import { openStore } from './open.ts';
import { type StoreTarget, useStore } from './target.ts';

const SECOND = 1_000_000;
const DAY = 86_400 * SECOND;

const WORKER = fileURLToPath(new URL('expiry-worker.ts', import.meta.url));

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

    test('continues after the expiring process was killed, and changes nothing else', {
      timeout: 300_000,
    }, async () => {
      const [first, days, perDay] = [T0 + 3 * DAY, 6, 600];
      const before = first + 5 * DAY;
      const timeOf = (number: number) => Math.floor(number / perDay) * DAY + (number % perDay) * 10 * SECOND;
      // The second device has old readings only.
      const devices = [freshDevice('kept'), freshDevice('gone'), freshDevice('kept')];
      const rows = new Map(
        devices.map((device, index) => [
          device,
          Array.from({ length: (index === 1 ? 5 : days) * perDay }, (_, number) =>
            reading({ device, time: first + timeOf(number), value: number }),
          ),
        ]),
      );
      // Its clock lets all marks of rollups become due.
      let now = first + 20 * DAY;
      const store = await openStore(subject.place.url, { clock: () => now });
      const rollupsOf = async (device: string) => {
        const query = { device, metric: 'temperature', from: first, to: first + days * DAY };
        const periods = store.capabilities.rollups ? (['minute', 'hour', 'day'] as const) : [];
        return Promise.all(
          periods.map(async (period) => (await store.rollups.read({ ...query, period })).rollups),
        );
      };
      const newOf = (device: string) => rows.get(device)!.filter(({ time }) => time >= before);
      try {
        for (const batch of rows.values()) await store.readings.write(batch);
        now += DAY;
        while (store.capabilities.rollups && (await store.rollups.work()).more);
        const rollups = await Promise.all(devices.map(rollupsOf));
        for (const parts of [1, 1, 2]) {
          await expireUntilKilled(subject.place.url, before, parts);
          for (const [index, device] of devices.entries()) {
            const left = await stored(store, device);
            const times = new Set(left.map(({ time }) => time));
            assert.deepEqual(
              left,
              rows.get(device)!.filter(({ time }) => times.has(time)),
              'what is left is as it was',
            );
            const kept = newOf(device);
            assert.deepEqual(left.slice(left.length - kept.length), kept);
            assert.deepEqual(await store.readings.latest([device]), left.slice(-1));
            assert.deepEqual(await rollupsOf(device), rollups[index]);
          }
        }
        await store.readings.expire(before);
        for (const [index, device] of devices.entries()) {
          const kept = newOf(device);
          assert.deepEqual(await stored(store, device), kept);
          assert.deepEqual(await store.readings.latest([device]), kept.slice(-1));
          assert.deepEqual(await rollupsOf(device), rollups[index]);
        }
        assert.equal((await store.readings.expire(before)) ?? 0, 0);
      } finally {
        await store.close();
      }
    });
  });
}

/** Runs a process that deletes old readings, and kills it after some parts, while it deletes the next one. */
async function expireUntilKilled(url: string, before: number, parts: number): Promise<void> {
  let output = '';
  const worker = startProcess({
    command: process.execPath,
    args: [WORKER, url, String(before)],
    stderr: 'inherit',
    onOutput: (text) => {
      output += text;
      // An engine can delete everything in one part.
      if (output.split('\n').length > parts || output.includes('done')) void worker.kill();
    },
  });
  const exit = await worker.exited;
  assert.equal(exit.signal, 'SIGKILL', `the process ended by itself: ${exitText(exit)}`);
}

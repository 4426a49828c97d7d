import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Reading } from '@tidegauge/readings';
import type { Order, RangeCursor } from '../src/index.ts';
import { collect, freshDevice, reading, series, stored, T0 } from './data.ts';
import { type StoreTarget, useStore } from './target.ts';

const SECOND = 1_000_000;

export function readingsRange(target: StoreTarget): void {
  describe('readings.range', () => {
    const subject = useStore(target);

    /** Three metrics that share most of their times, in ascending (time, metric) order. */
    async function threeMetrics(): Promise<{ device: string; all: Reading[] }> {
      const device = freshDevice();
      const metrics = ['Ölstand', 'humidity', 'temperature'];
      const all: Reading[] = [];
      for (let step = 0; step < 40; step += 1) {
        // In the order of code points, which is not alphabetical: Ö comes after t.
        for (const metric of ['humidity', 'temperature', 'Ölstand']) {
          if (step % (2 + metrics.indexOf(metric)) === 0 && metric !== 'temperature') continue;
          all.push(reading({ device, metric, time: T0 + step * SECOND, value: step }));
        }
      }
      await subject.store.readings.write(all.toReversed());
      return { device, all };
    }

    test('is empty for a device or a metric without readings', async () => {
      const device = freshDevice();
      assert.deepEqual(await stored(subject.store, device), []);
      await subject.store.readings.write(series(device, 3));
      assert.deepEqual(await stored(subject.store, device, { metric: 'pressure' }), []);
    });

    test('is ordered by time, then metric, newest first by default', async () => {
      const { device, all } = await threeMetrics();
      const { readings } = subject.store;
      assert.deepEqual(await collect(readings.range({ device, limit: 1000 })), all.toReversed());
      assert.deepEqual(
        await collect(readings.range({ device, limit: 1000, order: 'desc' })),
        all.toReversed(),
      );
      assert.deepEqual(await collect(readings.range({ device, limit: 1000, order: 'asc' })), all);
    });

    test('returns only the named metric', async () => {
      const { device, all } = await threeMetrics();
      const humidity = all.filter(({ metric }) => metric === 'humidity');
      assert.deepEqual(await stored(subject.store, device, { metric: 'humidity' }), humidity);
    });

    test('includes from and excludes to', async () => {
      const device = freshDevice();
      const batch = series(device, 10);
      await subject.store.readings.write(batch);
      const [from, to] = [batch[3]!.time, batch[7]!.time];
      assert.deepEqual(await stored(subject.store, device, { from, to }), batch.slice(3, 7));
      assert.deepEqual(
        await stored(subject.store, device, { from: from + 1, to: to + 1 }),
        batch.slice(4, 8),
      );
      assert.deepEqual(await stored(subject.store, device, { from }), batch.slice(3));
      assert.deepEqual(await stored(subject.store, device, { to }), batch.slice(0, 7));
      assert.deepEqual(await stored(subject.store, device, { from, to: from }), []);
      assert.deepEqual(await stored(subject.store, device, { from: to, to: from }), []);
      assert.deepEqual(await stored(subject.store, device, { from: -5, to: 0 }), []);
    });

    test('stops at the limit', async () => {
      const { device, all } = await threeMetrics();
      const { readings } = subject.store;
      assert.deepEqual(await collect(readings.range({ device, limit: 7 })), all.toReversed().slice(0, 7));
      assert.deepEqual(await collect(readings.range({ device, limit: 7, order: 'asc' })), all.slice(0, 7));
      const to = all[30]!.time;
      const before = all.filter(({ time }) => time < to);
      assert.deepEqual(await collect(readings.range({ device, to, limit: 1 })), before.slice(-1));
    });

    for (const order of ['asc', 'desc'] as const satisfies Order[]) {
      test(`pages ${order} by cursor, with equal times in several metrics, and returns each reading once`, async () => {
        const { device, all } = await threeMetrics();
        for (const limit of [1, 2, 5]) {
          const paged: Reading[] = [];
          let after: RangeCursor | undefined;
          for (;;) {
            const query = { device, order, limit, ...(after === undefined ? {} : { after }) };
            const page = await collect(subject.store.readings.range(query));
            paged.push(...page);
            if (page.length < limit) break;
            after = page.at(-1)!;
          }
          assert.deepEqual(paged, order === 'asc' ? all : all.toReversed(), `pages of ${limit}`);
        }
      });
    }

    test('continues after a cursor at which nothing is stored', async () => {
      const device = freshDevice();
      const batch = series(device, 4);
      await subject.store.readings.write(batch);
      const after = { time: T0 + 1.5 * SECOND, metric: 'anything' };
      assert.deepEqual(await stored(subject.store, device, { after }), batch.slice(2));
      const backwards = await stored(subject.store, device, { after, order: 'desc' });
      assert.deepEqual(backwards, batch.slice(0, 2).toReversed());
    });

    test('streams more than one page of the engine to a slow consumer', async () => {
      const device = freshDevice();
      const batch = [...series(device, 3000, 'a'), ...series(device, 2500, 'b')];
      await subject.store.readings.write(batch);
      let count = 0;
      let last = -1;
      for await (const { time } of subject.store.readings.range({ device, order: 'asc', limit: 1_000_000 })) {
        assert.ok(time >= last);
        last = time;
        count += 1;
        // A write during the range must neither wait for the reader nor disturb it.
        if (count % 1000 === 0) await subject.store.readings.write(series(freshDevice('other'), 10));
      }
      assert.equal(count, 5500);
    });

    test('can be ended early by a consumer', async () => {
      const device = freshDevice();
      await subject.store.readings.write(series(device, 2000));
      for await (const { value } of subject.store.readings.range({ device, order: 'asc', limit: 2000 })) {
        if (value === 3) break;
      }
      assert.equal((await stored(subject.store, device)).length, 2000);
    });

    test('refuses invalid queries with a TypeError', async () => {
      const device = freshDevice();
      const { readings } = subject.store;
      const ask = (query: object) => collect(readings.range({ device, limit: 10, ...query } as never));
      for (const query of [{ limit: 0 }, { limit: 1.5 }, { from: 0.5 }, { order: 'up' }, { device: 'a b' }]) {
        await assert.rejects(ask(query), TypeError, JSON.stringify(query));
      }
    });
  });
}

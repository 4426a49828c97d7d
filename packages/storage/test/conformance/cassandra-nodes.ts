import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Cassandra } from '@tidegauge/lab/cassandra';
import { CRASH_BATCH, crashBatch, series, stored } from '../../conformance/data.ts';
import { isRetryable, openStore, type StoreError } from '../../src/index.ts';

const BATCHES = 100;

/** Registers what only several nodes show. It needs three nodes, and kills one of them for good. */
export function describeNodes(cluster: Cassandra): void {
  describe('cassandra of three nodes', () => {
    test('at ONE, any node soon returns a written reading', async () => {
      const store = await openStore(`${cluster.url('one')}?rf=3&write=ONE&read=ONE`);
      const batch = series('d', 500);
      await store.readings.write(batch);
      const deadline = Date.now() + 10_000;
      while ((await stored(store, 'd')).length < batch.length && Date.now() < deadline) await delay(20);
      assert.deepEqual(await stored(store, 'd'), batch);
      await store.close();
    });

    test('at QUORUM, callers get no error when one node is killed during writes, and nothing is lost', async () => {
      const store = await openStore(`${cluster.url('quorum')}?rf=3&write=QUORUM&read=QUORUM`);
      let killing: Promise<void> | undefined;
      for (let number = 0; number < BATCHES; number += 4) {
        if (number === 32) killing = cluster.nodes[1]!.kill();
        // Several writes are in progress when the node is killed. None may fail.
        await Promise.all([0, 1, 2, 3].map((next) => store.readings.write(crashBatch('d', number + next))));
        await store.devices.register([`d-${number}`]);
      }
      await killing;
      assert.equal(cluster.nodes[1]!.running, false);
      const all = await stored(store, 'd');
      assert.equal(all.length, BATCHES * CRASH_BATCH);
      assert.deepEqual(all.slice(-CRASH_BATCH), crashBatch('d', BATCHES - 1));
      assert.equal((await store.devices.list({ limit: 1000 })).length, BATCHES / 4);
      await store.close();
    });

    test('at ALL, a write is TIMEOUT or late when a node fails, then UNAVAILABLE when others detect it', async () => {
      assert.equal(cluster.nodes[1]!.running, false);
      const all = await openStore(`${cluster.url('quorum')}?rf=3&write=ALL&read=ONE`);
      // Each coordinator detects the failure separately. Until then, it waits for the third replica.
      const noticed = async (call: () => Promise<unknown>): Promise<StoreError> => {
        for (const deadline = Date.now() + 60_000; ; ) {
          const error = await call().then(
            () => assert.fail('it succeeded with a node down'),
            (reason: unknown) => reason,
          );
          assert.ok(isRetryable(error), String(error));
          if (error.code === 'UNAVAILABLE' || Date.now() > deadline) return error;
        }
      };
      const error = await noticed(() => all.readings.write(crashBatch('e', 0)));
      assert.equal(error.code, 'UNAVAILABLE', error.message);
      assert.match(error.message, /consistency|ALL|replica/i);
      assert.equal((await noticed(() => all.health())).code, 'UNAVAILABLE');
      await all.close();
    });
  });
}

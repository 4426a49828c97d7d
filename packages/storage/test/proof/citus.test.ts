import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCitus } from '@tidegauge/lab/citus';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import type { Reading } from '@tidegauge/readings';
import {
  CRASH_BATCH,
  crashBatch,
  freshDevice,
  reading,
  rejection,
  series,
  stored,
  writeFirmly,
} from '../../conformance/data.ts';
import { isRetryable, openStore, type Store } from '../../src/index.ts';

/** Several times the interval at which the coordinators of tests recover transactions. */
const RECOVERY_MS = 20_000;

const started = await startOrSkip('citus', startCitus);
const cluster = 'server' in started ? started.server : null;
const skip = 'skip' in started ? started.skip : false;
after(() => cluster?.stop());

describe('citus', { skip }, () => {
  const { coordinator } = cluster!;

  /** An open store on a separate database, until the test ends. */
  async function fresh(
    t: { after(work: () => Promise<void>): void },
    options = '',
  ): Promise<{ store: Store; database: string; url: string }> {
    const database = await cluster!.createDatabase();
    const url = `${cluster!.url(database)}${options}`;
    const store = await openStore(url);
    t.after(() => store.close());
    return { store, database, url };
  }

  /** One row per line: table, kind, distribution column, shards, copies of each. */
  async function tables(database: string): Promise<string[]> {
    const sql = `
      select table_name, citus_table_type, distribution_column, shard_count, (
        select max(copies) from (
          select count(*) as copies from citus_shards s where s.table_name = t.table_name group by shardid
        ) as counted)
      from citus_tables t order by table_name::text`;
    return (await coordinator.query(sql, database)).trim().split('\n');
  }

  /** The number of shards of readings on each node that has some, in ascending order. */
  async function shardsByNode(database: string): Promise<number[]> {
    const sql = `select count(*) from citus_shards where table_name = 'readings'::regclass group by nodeport order by 1`;
    return (await coordinator.query(sql, database)).trim().split('\n').map(Number);
  }

  test('distributes readings and records over the workers with the shards and copies of the URL', async (t) => {
    const { store, database } = await fresh(t, '?shards=6&rf=2');
    await store.records.createTable('usertable', 2);
    assert.deepEqual(await tables(database), [
      'devices|reference|<none>|1|3',
      'readings|distributed|series|6|2',
      'series|reference|<none>|1|3',
      'tidegauge_rollups|distributed|device|6|2',
      'usertable|distributed|ycsb_key|6|2',
    ]);
    assert.deepEqual(await shardsByNode(database), [6, 6]);
  });

  test('uses one copy and 8 shards by default', async (t) => {
    const { store, database } = await fresh(t);
    await store.records.createTable('usertable', 1);
    const placed = await tables(database);
    assert.equal(placed[1], 'readings|distributed|series|8|1');
    assert.equal(placed.at(-1), 'usertable|distributed|ycsb_key|8|1');
    assert.deepEqual(await shardsByNode(database), [4, 4]);
  });

  test('more copies than there are workers are MISCONFIGURED, and no table is left incomplete', async () => {
    const database = await cluster!.createDatabase();
    const error = await rejection(openStore(`${cluster!.url(database)}?rf=3`), 'MISCONFIGURED');
    assert.match(error.message, /replication_factor/);
    assert.match(error.hint ?? '', /rf option/);
    await (await openStore(`${cluster!.url(database)}?rf=2`)).close();
    assert.equal((await tables(database)).length, 4);
  });

  test('distributes tables that the postgres backend created, with their rows', async (t) => {
    const database = await cluster!.createDatabase();
    const plain = await openStore(coordinator.url(database));
    const device = freshDevice();
    await plain.readings.write(series(device, 500));
    await plain.devices.register([device]);
    await plain.close();
    const store = await openStore(`${cluster!.url(database)}?shards=4`);
    t.after(() => store.close());
    assert.deepEqual(await stored(store, device), series(device, 500));
    assert.equal((await store.devices.get(device))?.name, device);
    assert.deepEqual(await shardsByNode(database), [2, 2]);
  });

  test('a statement on one series uses one shard', async (t) => {
    const { store, database } = await fresh(t, '?shards=4');
    await store.readings.write(series(freshDevice(), 10));
    const plan = await coordinator.query(
      'explain select time from readings where series = 1 and time >= 0 order by time limit 10',
      database,
    );
    assert.match(plan, /Task Count: 1/);
    assert.match(plan, /Index/);
  });

  test('one reading that is written with several values at once is stored as its last', async (t) => {
    const { store } = await fresh(t, '?shards=4&rf=2');
    const device = freshDevice();
    await store.readings.write([reading({ device, value: 1 })]);
    const values = [2, 1, 1, 3, 1];
    const batch = values.map((value, seq) => reading({ device, value, seq, boot: 'b' }));
    assert.deepEqual(await store.readings.write(batch), { stored: 4, duplicate: 1 });
    assert.deepEqual(await stored(store, device), [batch[4]]);
  });

  test('two writers of the same readings store each of them once', async (t) => {
    const { store } = await fresh(t, '?shards=4&rf=2');
    const devices = Array.from({ length: 20 }, () => freshDevice());
    for (let time = 1; time <= 5; time += 1) {
      const batch = devices.map((device) => reading({ device, time }));
      const results = await Promise.all(
        [batch, batch.toReversed()].map((rows) => store.readings.write(rows)),
      );
      assert.equal(results[0]!.stored + results[1]!.stored, 20);
    }
    for (const device of devices) assert.equal((await stored(store, device)).length, 5);
  });

  test('writers of the same shards take turns if the shards have several copies', async (t) => {
    const { store } = await fresh(t, '?shards=4&rf=2');
    const devices = Array.from({ length: 20 }, () => freshDevice());
    await store.readings.write(devices.map((device) => reading({ device, time: 1 })));
    const batches = Array.from({ length: 12 }, (_, batch) =>
      devices.map((device) => reading({ device, time: batch + 2 })),
    );
    // Two writers that block each other would fail after a second.
    const results = await Promise.all(batches.map((batch) => store.readings.write(batch)));
    for (const result of results) assert.deepEqual(result, { stored: 20, duplicate: 0 });
  });

  test('replicas that start at the same time on an empty database create its tables once', async () => {
    for (let round = 0; round < 3; round += 1) {
      const database = await cluster!.createDatabase();
      const url = `${cluster!.url(database)}?shards=4&rf=2`;
      const stores = await Promise.all([1, 2].map(() => openStore(url)));
      const devices = stores.map(() => freshDevice());
      await Promise.all(stores.map((store, index) => store.readings.write(series(devices[index]!, 20))));
      for (const device of devices) assert.equal((await stored(stores[0]!, device)).length, 20);
      await Promise.all(stores.map((store) => store.close()));
    }
  });

  test('a wrong password is MISCONFIGURED, and is not in the message', async () => {
    const place = `127.0.0.1:${coordinator.port}`;
    const error = await rejection(
      openStore(`citus://${coordinator.user}:guess@${place}/postgres`),
      'MISCONFIGURED',
    );
    assert.ok(error.message.includes(place));
    assert.match(error.message, /password authentication failed/);
    assert.ok(!error.message.includes('guess'));
  });

  test('a user needs the right to create tables and a login at the workers', async () => {
    const database = await cluster!.createDatabase();
    const user = `guest_${database}`;
    await coordinator.query(`create role ${user} login password 'guest'`, database);
    const url = `citus://${user}:guest@127.0.0.1:${coordinator.port}/${database}?shards=4`;
    const denied = await rejection(openStore(url), 'MISCONFIGURED');
    assert.match(denied.message, /permission denied for schema public/);
    await coordinator.query(`grant create on schema public to ${user}`, database);
    const stranger = await rejection(openStore(url), 'MISCONFIGURED');
    assert.match(stranger.hint ?? '', /pg_dist_authinfo/);
    await coordinator.query(`insert into pg_dist_authinfo values (0, '${user}', 'password=guest')`, database);
    const store = await openStore(url);
    const device = freshDevice();
    await store.readings.write(series(device, 50));
    assert.deepEqual(await stored(store, device), series(device, 50));
    await store.close();
  });

  test('a kill of the coordinator during writes loses and repeats nothing, with two copies', async (t) => {
    const { store } = await fresh(t, '?shards=4&rf=2');
    await writesThrough(store, async () => {
      await coordinator.kill();
      await coordinator.restart();
    });
  });

  for (const rf of [1, 2]) {
    test(`a kill of a worker during writes loses and repeats nothing, with rf=${rf}`, async (t) => {
      const { store } = await fresh(t, `?shards=4&rf=${rf}&timeout=5000`);
      const worker = cluster!.workers[1]!;
      await writesThrough(store, async () => {
        await worker.kill();
        const error = await store.readings
          .write(Array.from({ length: 50 }, (_, index) => reading({ device: freshDevice(), value: index })))
          .then(
            () => assert.fail('a write succeeded without the worker'),
            (reason: unknown) => reason,
          );
        assert.ok(isRetryable(error), String(error));
        await worker.restart();
      });
    });
  }

  test('while a worker is down, data with another copy can be read', async (t) => {
    const { store } = await fresh(t, '?shards=4&rf=2');
    const devices = Array.from({ length: 8 }, () => freshDevice());
    for (const device of devices) await store.readings.write(series(device, 20));
    const worker = cluster!.workers[0]!;
    await worker.kill();
    try {
      // A session detects the failure through its old connection. Then it uses another worker.
      const deadline = performance.now() + 20_000;
      for (const device of devices)
        assert.deepEqual(await readFirmly(store, device, deadline), series(device, 20));
    } finally {
      await worker.restart();
    }
  });

  test('a coordinator with a new worker continues, and moves shards to it on request', async (t) => {
    const { store, database } = await fresh(t, '?shards=6');
    const devices = Array.from({ length: 12 }, () => freshDevice());
    for (const device of devices) await store.readings.write(series(device, 200));
    await cluster!.addWorker(database);
    assert.deepEqual(await shardsByNode(database), [3, 3]);
    let moving = true;
    const move = async (): Promise<void> => {
      await coordinator.query('select citus_rebalance_start()', database);
      const deadline = performance.now() + 120_000;
      for (let state = ''; state !== 'finished'; ) {
        assert.ok(performance.now() < deadline, `the job is ${state} after two minutes`);
        state = (await coordinator.query('select state from citus_rebalance_status()', database)).trim();
      }
    };
    let written = 0;
    const writeMeanwhile = async (): Promise<void> => {
      for (; moving; written += 1) {
        await writeFirmly(
          store,
          devices.map((device) => reading({ device, metric: 'later', time: written + 1 })),
        );
      }
    };
    await Promise.all([writeMeanwhile(), move().finally(() => (moving = false))]);
    assert.deepEqual(await shardsByNode(database), [2, 2, 2]);
    for (const device of devices) {
      assert.deepEqual(await stored(store, device, { metric: 'temperature' }), series(device, 200));
      assert.equal((await stored(store, device, { metric: 'later' })).length, written);
    }
    await store.devices.register(devices);
    assert.equal((await tables(database))[0], 'devices|reference|<none>|1|4');
  });
});

/** Reads, and retries while the error is retryable. */
async function readFirmly(store: Store, device: string, deadline: number): Promise<Reading[]> {
  for (;;) {
    try {
      return await stored(store, device);
    } catch (error) {
      if (!isRetryable(error) || performance.now() > deadline) throw error;
    }
  }
}

/** Writes batches while `fault` affects a server. Then every batch must be stored exactly once. */
async function writesThrough(store: Store, fault: () => Promise<void>): Promise<void> {
  const device = freshDevice('fault');
  let happening: Promise<void> | null = null;
  for (let number = 0; number < 60; number += 1) {
    if (number === 20) happening = fault();
    await writeFirmly(store, crashBatch(device, number));
  }
  await happening;
  const expected = Array.from({ length: 60 }, (_, number) => crashBatch(device, number)).flat();
  assert.equal(expected.length, 60 * CRASH_BATCH);
  // Rows that a killed worker had prepared are hidden until Citus recovers the transaction.
  const deadline = performance.now() + RECOVERY_MS;
  let found = await stored(store, device);
  while (found.length < expected.length && performance.now() < deadline) {
    await sleep(200);
    found = await stored(store, device);
  }
  assert.deepEqual(found, expected);
}

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { findProgram } from '@tidegauge/lab/debian';
import { testWith } from '@tidegauge/lab/unavailable';
import { publish } from '@tidegauge/test-support/publisher';
import { settled, setUp, storedReadings } from './helpers.ts';

const test = await testWith('mosquitto', () => findProgram('mosquitto', 'mosquitto'));

test('without a spool nothing is acknowledged while the store rejects writes, and all messages are stored afterwards', async (context) => {
  const count = 30_000;
  const bench = await setUp(context);
  const ingest = await bench.start({
    STORE: `${bench.store}?busy=200`,
    MAX_IN_FLIGHT: '5000',
    SPOOL_MAX_BYTES: '0',
  });
  const lock = new DatabaseSync(bench.store.slice('sqlite:'.length));
  lock.exec('begin immediate');
  const published = publish({ port: bench.broker.port, count, devices: 100 });
  const stuck = await ingest.until(
    ({ readings, oldestUnstoredSeconds }) => readings.inFlight >= 5000 && oldestUnstoredSeconds > 2,
    20_000,
  );
  assert.equal(stuck.readings.stored, 0);
  assert.ok(stuck.balanced);
  assert.ok(stuck.readings.inFlight < 10_000, `${stuck.readings.inFlight} readings in memory`);
  assert.equal(stuck.mqtt.connected, true);
  assert.equal((await fetch(`${ingest.url}/readyz`)).status, 503);
  const refused = await fetch(`${ingest.url}/readings`, {
    method: 'POST',
    body: '1',
    headers: { 'content-type': 'text/plain' },
  });
  assert.equal(refused.status, 503);
  lock.exec('rollback');
  lock.close();
  await published;
  const ledger = await settled(ingest);
  assert.equal(ledger.readings.stored, count);
  assert.equal((await fetch(`${ingest.url}/readyz`)).status, 200);
  const names = Array.from({ length: 100 }, (_, device) => `bench/probe-${device}`);
  assert.equal((await storedReadings(bench.store, names)).length, count);
});

test('ingest reconnects to a broker that restarts, and is not ready meanwhile', async (context) => {
  const bench = await setUp(context);
  const ingest = await bench.start();
  await bench.broker.kill();
  await ingest.until(({ mqtt }) => !mqtt.connected, 10_000);
  const notReady = await fetch(`${ingest.url}/readyz`);
  assert.equal(notReady.status, 503);
  assert.match(await notReady.text(), /broker mqtt:\/\/127\.0\.0\.1:\d+ is not connected/);
  await bench.broker.restart();
  await ingest.until(({ mqtt }) => mqtt.connected, 30_000);
  await publish({ port: bench.broker.port, count: 100, devices: 10 });
  const ledger = await ingest.until(({ readings }) => readings.stored === 100, 10_000);
  assert.equal(ledger.mqtt.reconnects, 1);
});

test('a store that an operator must repair ends ingest with the reason, and nothing is acknowledged', async (context) => {
  const bench = await setUp(context);
  const ingest = await bench.start();
  const file = bench.store.slice('sqlite:'.length);
  const other = new DatabaseSync(file);
  other.exec('drop table recent; drop table readings');
  other.close();
  const { acknowledged } = await publish({ port: bench.broker.port, count: 10, devices: 1 });
  assert.equal(acknowledged, 10);
  assert.equal(await ingest.exited, 2);
  // The broker still has them: nothing was acknowledged. The operator has another store used in place of this one.
  rmSync(`${bench.directory}/tidegauge-ingest.sqlite.identity`);
  const again = await bench.start({ STORE: `sqlite:${bench.directory}/repaired.db` });
  const ledger = await again.until(({ readings }) => readings.stored === 10, 10_000);
  assert.ok(ledger.balanced);
});

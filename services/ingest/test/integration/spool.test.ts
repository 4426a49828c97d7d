import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { findProgram } from '@tidegauge/lab/debian';
import { testWith } from '@tidegauge/lab/unavailable';
import type { LedgerDocument } from '@tidegauge/readings';
import { publish } from '@tidegauge/test-support/publisher';
import { type Bench, settled, setUp, storedReadings } from './helpers.ts';

const test = await testWith('mosquitto', () => findProgram('mosquitto', 'mosquitto'));

const names = (count: number) => Array.from({ length: count }, (_, device) => `bench/probe-${device}`);
const drained = ({ readings }: LedgerDocument) => readings.spooled === 0 && readings.inFlight === 0;

/** Locks the store against writes until the returned function is called. */
function takeAway({ store }: Bench): () => void {
  const lock = new DatabaseSync(store.slice('sqlite:'.length));
  lock.exec('begin immediate');
  return () => {
    lock.exec('rollback');
    lock.close();
  };
}

test('while the store is unavailable messages are acknowledged from the spool, and all are stored afterwards', async (context) => {
  const count = 30_000;
  const bench = await setUp(context);
  const ingest = await bench.start({ STORE: `${bench.store}?busy=200`, MAX_IN_FLIGHT: '5000' });
  const giveBack = takeAway(bench);
  const published = publish({ port: bench.broker.port, count, devices: 100 });
  const away = await ingest.until(({ readings }) => readings.spooled === count, 60_000);
  assert.ok(away.balanced);
  assert.equal(away.readings.stored, 0);
  assert.equal((await published).acknowledged, count);
  assert.equal((await fetch(`${ingest.url}/readyz`)).status, 503);
  giveBack();
  const ledger = await ingest.until(drained, 60_000);
  assert.ok(ledger.balanced);
  assert.equal(ledger.readings.stored, count);
  assert.equal((await storedReadings(bench.store, names(100))).length, count);
  assert.deepEqual(readdirSync(`${bench.directory}/spool/tidegauge-ingest`), []);
  assert.equal(await ingest.stop(), 0);
});

test('messages acknowledged from the spool survive kill -9, and live readings do not wait for them', async (context) => {
  const count = 20_000;
  const bench = await setUp(context);
  const STORE = `${bench.store}?busy=200`;
  const first = await bench.start({ STORE });
  const giveBack = takeAway(bench);
  await publish({ port: bench.broker.port, count, devices: 100 });
  await first.until(({ readings }) => readings.spooled === count, 60_000);
  await first.kill();
  giveBack();
  const second = await bench.start({ STORE });
  const client = await bench.client();
  await client.publishAsync('sensors/bench/probe-0/temperature', '1', { qos: 1 });
  const ledger = await second.until(drained, 60_000);
  assert.ok(ledger.balanced);
  assert.equal(ledger.readings.received, count + 1);
  assert.equal(ledger.readings.stored, count + 1);
  assert.equal(await second.stop(), 0);
});

test('a correction is stored after the spooled reading that it corrects', async (context) => {
  const bench = await setUp(context);
  const ingest = await bench.start({ STORE: `${bench.store}?busy=200` });
  const client = await bench.client();
  const say = (t: string, v: number) =>
    client.publishAsync('sensors/site-1/t', JSON.stringify({ t, v }), { qos: 1 });
  const giveBack = takeAway(bench);
  // Each of them twice, the second a correction, while more than a batch waits before them.
  await publish({ port: bench.broker.port, count: 20_000, devices: 50 });
  for (let minute = 10; minute < 60; minute++) await say(`2026-11-21T14:${minute}:00Z`, 1);
  await ingest.until(({ readings }) => readings.spooled === 20_050, 60_000);
  giveBack();
  for (let minute = 10; minute < 60; minute++) await say(`2026-11-21T14:${minute}:00Z`, 2);
  // The broker acknowledged them. They are in order with a request over HTTP only after ingest has received them.
  await ingest.until(({ readings }) => readings.received === 20_100, 60_000);
  const posted = await fetch(`${ingest.url}/readings`, {
    method: 'POST',
    body: JSON.stringify({ device: 'site-1', metric: 't', t: '2026-11-21T14:10:00Z', v: 3 }),
    headers: { 'content-type': 'application/json' },
  });
  // HTTP readings may be refused until the store is found available again; the guarantee covers accepted readings.
  const last = posted.status === 202 ? 3 : 2;
  await ingest.until((ledger) => drained(ledger) && ledger.readings.received >= 20_100, 60_000);
  const stored = await storedReadings(bench.store, ['site-1']);
  assert.deepEqual(
    stored.map(({ value }) => value),
    [last, ...new Array<number>(49).fill(2)],
  );
});

test('when the spool is full messages wait at the broker, and none is lost', async (context) => {
  const count = 30_000;
  const bench = await setUp(context);
  const env = { STORE: `${bench.store}?busy=200`, MAX_IN_FLIGHT: '4000', SPOOL_MAX_BYTES: '1MiB' };
  const ingest = await bench.start(env);
  const giveBack = takeAway(bench);
  const published = publish({ port: bench.broker.port, count, devices: 100 });
  // The spool is full when nothing more arrives although more was published.
  let received = 0;
  let since = performance.now();
  const full = await ingest.until(({ readings }) => {
    if (readings.received !== received || readings.spooled === 0) since = performance.now();
    received = readings.received;
    return performance.now() - since > 2000;
  }, 60_000);
  assert.ok(full.readings.spooled > 4000);
  assert.ok(full.balanced);
  assert.ok(full.readings.received < count);
  giveBack();
  await published;
  await settled(ingest);
  const ledger = await ingest.until(drained, 60_000);
  assert.ok(ledger.balanced);
  assert.equal((await storedReadings(bench.store, names(100))).length, count);
});

test('a route with ack: stored waits for the store while others are spooled', async (context) => {
  const bench = await setUp(context);
  const ROUTES = `${bench.directory}/routes.yml`;
  writeFileSync(
    ROUTES,
    '- {name: careful, topic: "careful/{device}/{metric}", ack: stored}\n- {name: usual, topic: "sensors/{device+}/{metric}"}\n',
  );
  const ingest = await bench.start({ STORE: `${bench.store}?busy=200`, ROUTES });
  const client = await bench.client();
  const giveBack = takeAway(bench);
  for (let value = 0; value < 50; value++) {
    await client.publishAsync('careful/a/t', `${value}`, { qos: 1 });
    await client.publishAsync('sensors/b/t', `${value}`, { qos: 1 });
  }
  const away = await ingest.until(({ readings }) => readings.spooled === 50, 30_000);
  assert.equal(away.readings.inFlight, 50);
  giveBack();
  const ledger = await ingest.until(drained, 30_000);
  assert.equal(ledger.readings.stored, 100);
});

test('spooled messages that the store rejects are in quarantine before the spool deletes them', async (context) => {
  const bench = await setUp(context);
  const STORE = `${bench.store}?busy=200`;
  const first = await bench.start({ STORE });
  const client = await bench.client();
  const giveBack = takeAway(bench);
  for (let value = 0; value < 20; value++) await client.publishAsync('sensors/b/t', `${value}`, { qos: 1 });
  await first.until(({ readings }) => readings.spooled === 20, 30_000);
  await first.kill();
  giveBack();
  // The routes of the next process do not match the topic, so its messages can no longer be decoded.
  const ROUTES = `${bench.directory}/routes.yml`;
  writeFileSync(ROUTES, '- {name: other, topic: "other/{device}/{metric}"}\n');
  const second = await bench.start({ STORE, ROUTES });
  const ledger = await second.until(drained, 30_000);
  assert.ok(ledger.balanced);
  assert.equal(ledger.readings.quarantined, 20);
  assert.equal(await second.stop(), 0);
});

import assert from 'node:assert/strict';
import { findProgram } from '@tidegauge/lab/debian';
import { testWith } from '@tidegauge/lab/unavailable';
import { forEach } from '@tidegauge/parallel';
import { openStore } from '@tidegauge/storage';
import { publish } from '@tidegauge/test-support/publisher';
import { settled, setUp, storedReadings } from './helpers.ts';

const test = await testWith('mosquitto', () => findProgram('mosquitto', 'mosquitto'));

const DEVICES = 500;
const names = Array.from({ length: DEVICES }, (_, device) => `bench/probe-${device}`);

async function assertStoredOnce(store: string, count: number): Promise<void> {
  const readings = await storedReadings(store, names);
  assert.equal(readings.length, count);
  const distinct = new Set(readings.map(({ device, boot, seq }) => `${device} ${boot} ${seq}`));
  assert.equal(distinct.size, count);
}

test('200,000 QoS 1 messages at full speed are each stored once, although ingest is killed three times', async (context) => {
  const count = 200_000;
  const bench = await setUp(context);
  let ingest = await bench.start();
  const part = count / 4;
  for (let first = 0; first < count; first += part) {
    const published = publish({ port: bench.broker.port, count: part, devices: DEVICES, first });
    if (first + part < count) {
      // Each process stores some of its part before it is killed, so that every kill happens during work.
      await ingest.until(({ readings }) => readings.stored >= 0.1 * part, 60_000);
      await ingest.kill();
      ingest = await bench.start();
    }
    assert.equal((await published).acknowledged, part);
  }
  const ledger = await settled(ingest);
  assert.ok(ledger.balanced);
  assert.deepEqual([ledger.gaps.devices, ledger.gaps.missing, ledger.gaps.givenUp], [DEVICES, 0, 0]);
  assert.ok(ledger.gaps.since! < ledger.since, 'the ledger is older than the process');
  assert.equal(await ingest.stop(), 0);
  await assertStoredOnce(bench.store, count);
});

test('every reading that is stored has the unit of its message, although ingest is killed three times', async (context) => {
  const series = Array.from({ length: 6000 }, (_, n) => ({
    device: `unit/probe-${n}`,
    metric: 'temperature',
  }));
  const bench = await setUp(context);
  const client = await bench.client();
  let ingest = await bench.start();
  for (let start = 0; start < series.length; start += 2000) {
    const published = forEach(series.slice(start, start + 2000), 200, async ({ device }) => {
      const pack = [{ bn: `${device}/`, n: 'temperature', u: 'Cel', v: 21.5 }];
      await client.publishAsync(`sensors/${device}/temperature`, JSON.stringify(pack), { qos: 1 });
    });
    await ingest.until(({ readings }) => readings.stored >= 1, 60_000);
    await ingest.kill();
    ingest = await bench.start();
    await published;
  }
  await settled(ingest);
  assert.equal(await ingest.stop(), 0);
  const store = await openStore(bench.store);
  context.after(() => store.close());
  for (let start = 0; start < series.length; start += 1000) {
    const some = series.slice(start, start + 1000);
    assert.equal((await store.readings.latest(some.map(({ device }) => device))).length, some.length);
    const units = await store.readings.units(some);
    assert.deepEqual(new Set(units), new Set(['Cel']));
  }
});

test('a graceful stop under load loses nothing and acknowledges what it stored', async (context) => {
  const count = 60_000;
  const bench = await setUp(context);
  const first = await bench.start();
  const published = publish({ port: bench.broker.port, count, devices: DEVICES });
  await first.until(({ readings }) => readings.stored >= 10_000, 60_000);
  assert.equal(await first.stop(), 0);
  await published;
  const second = await bench.start();
  const ledger = await settled(second);
  assert.ok(ledger.balanced);
  // The first process acknowledged everything that it stored, so nothing is delivered twice.
  assert.equal(ledger.readings.duplicate, 0);
  assert.equal(await second.stop(), 0);
  await assertStoredOnce(bench.store, count);
});

test('two replicas share a group, and each message is stored by one of them', async (context) => {
  const count = 40_000;
  const bench = await setUp(context);
  const replicas = [
    await bench.start({ CLIENT_ID: 'ingest-1', SHARE_GROUP: 'ingest' }),
    await bench.start({ CLIENT_ID: 'ingest-2', SHARE_GROUP: 'ingest' }),
  ];
  await publish({ port: bench.broker.port, count, devices: DEVICES });
  const deadline = Date.now() + 60_000;
  let ledgers = await Promise.all(replicas.map((replica) => replica.ledger()));
  while (ledgers.reduce((sum, { readings }) => sum + readings.stored, 0) < count && Date.now() < deadline) {
    ledgers = await Promise.all(replicas.map((replica) => replica.ledger()));
  }
  for (const { readings, balanced } of ledgers) {
    assert.ok(balanced);
    assert.ok(readings.stored > 0, 'both took part');
  }
  assert.equal(
    ledgers.reduce((sum, { readings }) => sum + readings.received, 0),
    count,
  );
  for (const replica of replicas) assert.equal(await replica.stop(), 0);
  await assertStoredOnce(bench.store, count);
});

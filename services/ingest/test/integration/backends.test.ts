import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STORE_SERVERS } from '@tidegauge/lab/stores';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import { publish } from '@tidegauge/test-support/publisher';
import { setUp, storedReadings } from './helpers.ts';

const COUNT = 5000;
const DEVICES = 100;
const STORED_MS = 60_000;
const names = Array.from({ length: DEVICES }, (_, device) => `bench/probe-${device}`);

async function assertStoredOnce(store: string): Promise<void> {
  const readings = await storedReadings(store, names);
  assert.equal(readings.length, COUNT);
  assert.equal(new Set(readings.map(({ device, seq }) => `${device} ${seq}`)).size, COUNT);
  for (const { device, seq, value } of readings) {
    const number = seq! * DEVICES + Number(device.slice(device.lastIndexOf('-') + 1));
    assert.equal(value, (number % 1000) / 10, `${device} ${seq}`);
  }
}

for (const [name, { start }] of Object.entries(STORE_SERVERS)) {
  test(`the pipeline runs unchanged on ${name}`, async (context) => {
    const started = await startOrSkip(name, () => start(1));
    if ('skip' in started) return context.skip(started.skip);
    const { server } = started;
    context.after(() => server.stop());

    await context.test('ingest stores what is published, and the API reads it', async (step) => {
      const bench = await setUp(step);
      const store = await server.create('pipeline');
      const ingest = await bench.start({ STORE: store });
      await publish({ port: bench.broker.port, count: COUNT, devices: DEVICES });
      const ledger = await ingest.until(({ readings }) => readings.stored >= COUNT, STORED_MS);
      assert.ok(ledger.balanced);
      assert.equal(ledger.readings.stored, COUNT);
      const api = await startApiProcess({ STORE: store, INGEST: ingest.url });
      step.after(() => api.kill());
      const newest = await fetch(`${api.url}/v1/readings?device=${encodeURIComponent(names[7]!)}&limit=10`);
      assert.equal(newest.status, 200);
      const { readings } = (await newest.json()) as { readings: { device: string; seq: number }[] };
      const last = COUNT / DEVICES - 1;
      assert.deepEqual(
        readings.map(({ device, seq }) => [device, seq]),
        Array.from({ length: 10 }, (_, index) => [names[7], last - index]),
      );
      const device = await fetch(`${api.url}/v1/devices/${encodeURIComponent(names[7]!)}`);
      assert.equal(device.status, 200, 'it was registered on its first reading');
      assert.equal(await api.stop(), 0);
      assert.equal(await ingest.stop(), 0);
      await assertStoredOnce(store);
    });

    await context.test('two replicas that start at once on an empty store share the work', async (step) => {
      const bench = await setUp(step);
      const store = await server.create('replicas');
      const replicas = await Promise.all(
        ['ingest-1', 'ingest-2'].map((id) =>
          bench.start({ STORE: store, CLIENT_ID: id, SHARE_GROUP: 'ingest' }),
        ),
      );
      await publish({ port: bench.broker.port, count: COUNT, devices: DEVICES });
      const deadline = Date.now() + STORED_MS;
      let stored = 0;
      while (stored < COUNT) {
        assert.ok(Date.now() < deadline, `${stored} of ${COUNT} are stored`);
        const ledgers = await Promise.all(replicas.map((replica) => replica.ledger()));
        stored = ledgers.reduce((sum, { readings }) => sum + readings.stored, 0);
      }
      for (const replica of replicas) {
        assert.ok((await replica.ledger()).balanced);
        assert.equal(await replica.stop(), 0);
      }
      await assertStoredOnce(store);
    });
  });
}

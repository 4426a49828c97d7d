import assert from 'node:assert/strict';
import { rename, writeFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { waitUntil } from '@tidegauge/process';
import type { RoutesDocument } from '@tidegauge/readings';
import { startIngestWithBroker } from '../ingest-with-broker.ts';
import { settled, storedReadings } from '../integration/helpers.ts';

const WAIT = { timeoutMs: 30_000 };

async function setUp(context: TestContext, text: string) {
  const { store, ingest, client, routes } = await startIngestWithBroker(context, text);
  const write = async (changed: string) => {
    await writeFile(`${routes}.new`, changed);
    await rename(`${routes}.new`, routes);
  };
  const topics = async () => {
    const document = (await (await fetch(`${ingest.url}/routes`)).json()) as RoutesDocument;
    return document.routes.map(({ topic }) => topic);
  };
  const reload = () => fetch(`${ingest.url}/routes/reload`, { method: 'POST' });
  return { store, ingest, client, write, topics, reload };
}

test('a changed routes file is used within seconds, and no acknowledged message is lost or quarantined', async (context) => {
  const bench = await setUp(context, '- topic: old/{device}/{metric}\n- topic: kept/{device}/{metric}\n');
  const { client, ingest, store } = bench;
  const acknowledged: string[] = [];
  let isChanged = false;
  const publish = async (topic: string, n: number) => {
    const [device, metric] = [`${topic}-${n % 3}`, `m${n}`];
    await client.publishAsync(`${topic}/${device}/${metric}`, String(n), { qos: 1 });
    // A broker may acknowledge a message that nobody subscribes to any more.
    if (topic === 'kept' || !isChanged) acknowledged.push(`${device} ${metric} ${n}`);
  };
  for (let n = 0; n < 200; n++) await Promise.all([publish('old', n), publish('kept', n)]);
  isChanged = true;
  await bench.write('- topic: new/{device}/{metric}\n- topic: kept/{device}/{metric}\n');
  let n = 200;
  await waitUntil(
    'the new routes',
    async () => {
      for (const end = n + 20; n < end; n++) await publish('kept', n);
      return (await bench.topics())[0]!.startsWith('new/');
    },
    WAIT,
  );
  for (const end = n + 200; n < end; n++) await Promise.all([publish('kept', n), publish('new', n)]);
  await client.publishAsync('new/probe/temperature', '21.5', { qos: 1 });
  const ledger = await settled(ingest);
  assert.equal(ledger.readings.quarantined, 0);
  assert.equal(ledger.mqtt.reconnects, 0, 'the subscriptions change within the session');
  const devices = ['old', 'kept'].flatMap((topic) => [0, 1, 2].map((number) => `${topic}-${number}`));
  const stored = new Set(
    (await storedReadings(store, devices)).map(({ device, metric, value }) => `${device} ${metric} ${value}`),
  );
  assert.deepEqual(
    acknowledged.filter((reading) => !stored.has(reading)),
    [],
  );
  assert.deepEqual(
    (await storedReadings(store, ['probe'])).map(({ metric, value }) => [metric, value]),
    [['temperature', 21.5]],
  );
});

test('a file with a mistake changes nothing, and is reported by answer, readiness and metric until it is repaired', async (context) => {
  const bench = await setUp(context, '- topic: kept/{device}/{metric}\n');
  await bench.write('- topic: kept/{device}/{metric}\n  ackk: stored\n');
  const refused = await bench.reload();
  assert.equal(refused.status, 422);
  const { errors } = (await refused.json()) as { errors: { message: string }[] };
  assert.match(errors[0]!.message, /routes\.yml:2:3: \[1\]\.ackk: .*did you mean ack\?/);
  const ready = await fetch(`${bench.ingest.url}/readyz`);
  assert.equal(ready.status, 200);
  const { warnings } = (await ready.json()) as { warnings: string[] };
  assert.match(warnings.join(), /not those of the routes file/);
  const { trouble } = (await (await fetch(`${bench.ingest.url}/routes`)).json()) as RoutesDocument;
  assert.match(trouble ?? '', /the routes file is not used: .*routes\.yml:2:3/);
  const metrics = async () => (await fetch(`${bench.ingest.url}/metrics`)).text();
  assert.match(await metrics(), /^tidegauge_routes_stale 1$/m);
  await bench.client.publishAsync('kept/a/m', '1', { qos: 1 });
  await bench.ingest.until(({ readings }) => readings.stored === 1, 10_000);

  await bench.write('- topic: kept/{device}/{metric}\n- preset: tasmota\n');
  assert.equal((await bench.reload()).status, 200);
  assert.deepEqual(await (await fetch(`${bench.ingest.url}/readyz`)).json(), { status: 'ok' });
  assert.match(await metrics(), /^tidegauge_routes_stale 0$/m);
  const payload = '{"SI7021":{"Temperature":21.5},"TempUnit":"C"}';
  await bench.client.publishAsync('tele/attic/SENSOR', payload, { qos: 1 });
  await bench.ingest.until(({ readings }) => readings.stored === 2, 10_000);
  const { routes } = (await (await fetch(`${bench.ingest.url}/routes`)).json()) as RoutesDocument;
  assert.equal(routes[0]?.messages, 1, 'a route keeps its counts');
  assert.deepEqual(routes[1]?.units, [{ device: 'attic', metric: 'SI7021.Temperature', unit: 'Cel' }]);
});

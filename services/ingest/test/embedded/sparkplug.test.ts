import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startEmbeddedBroker } from '@tidegauge/lab';
import { waitUntil } from '@tidegauge/process';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';
import mqtt from 'mqtt';
import protobuf from 'protobufjs';
import { settled, storedReadings } from '../integration/helpers.ts';

const TIMESTAMP = 1_795_000_000_000;
const { Writer } = protobuf;

/** A payload of Sparkplug B with the metric `temp` of the type Double, alias 7: Sparkplug 3.0.0, section 6.4.1. */
function payload(seq: number, value: number, withName: boolean, timestamp = TIMESTAMP + seq * 1000): Buffer {
  const metric = Writer.create();
  if (withName) metric.uint32(0x0a).string('Inputs/temp').uint32(0x20).uint32(10);
  metric.uint32(0x10).uint64(7).uint32(0x69).double(value);
  const message = Writer.create().uint32(0x08).uint64(timestamp).uint32(0x12).bytes(metric.finish());
  return Buffer.from(message.uint32(0x18).uint64(seq).finish());
}

/** A directory for ingest, with a route for Sparkplug. */
async function makeSettings(): Promise<{ readonly DATA_DIR: string; readonly ROUTES: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-sparkplug-'));
  const routes = join(directory, 'routes.yml');
  await writeFile(routes, '- topic: spBv1.0/#\n  format: sparkplug-b\n');
  return { DATA_DIR: directory, ROUTES: routes };
}

/** A broker, ingest with a SQLite file, and the connection of an edge node. */
async function startPlant(context: TestContext) {
  const settings = await makeSettings();
  const store = `sqlite:${join(settings.DATA_DIR, 'store.db')}`;
  const broker = await startEmbeddedBroker({ port: 0 });
  const ingest = await startIngestProcess({ ...settings, STORE: store, BROKER: broker.url });
  const plant = { store, ingest, broker, node: await mqtt.connectAsync(broker.url) };
  context.after(async () => {
    await plant.node.endAsync(true);
    await ingest.kill();
    await plant.broker.close();
    await rm(settings.DATA_DIR, { recursive: true });
  });
  return plant;
}

test('an edge node receives a rebirth request, and what it sent before its birth can be replayed', async (context) => {
  const { store, ingest, node } = await startPlant(context);
  const commands: { topic: string; text: string }[] = [];
  node.on('message', (topic, bytes) => commands.push({ topic, text: bytes.toString('latin1') }));
  await node.subscribeAsync('spBv1.0/plant/NCMD/press');

  await node.publishAsync('spBv1.0/plant/DDATA/press/m1', payload(9, 20, false), { qos: 0 });
  await waitUntil('a rebirth request', () => commands.length > 0, { timeoutMs: 10_000 });
  assert.equal(commands[0]!.topic, 'spBv1.0/plant/NCMD/press');
  assert.match(commands[0]!.text, /Node Control\/Rebirth/);
  await settled(ingest);
  const { items } = (await (await fetch(`${ingest.url}/quarantine`)).json()) as {
    items: { reason: string; detail: string }[];
  };
  assert.deepEqual(
    items.map(({ reason }) => reason),
    ['no_birth'],
  );
  assert.match(items[0]!.detail, /a rebirth is requested/);

  await node.publishAsync('spBv1.0/plant/NBIRTH/press', payload(0, 1, true), { qos: 0 });
  await node.publishAsync('spBv1.0/plant/DBIRTH/press/m1', payload(1, 21, true), { qos: 0 });
  await node.publishAsync('spBv1.0/plant/DDATA/press/m1', payload(2, 22, false), { qos: 0 });
  await settled(ingest);
  const replayed = await fetch(`${ingest.url}/quarantine/replay`, { method: 'POST' });
  assert.equal(((await replayed.json()) as { stored: number }).stored, 1);
  const found = await storedReadings(store, ['plant/press', 'plant/press/m1']);
  assert.deepEqual(
    found.map(({ device, metric, value, time }) => [device, metric, value, time / 1000 - TIMESTAMP]),
    [
      ['plant/press', 'Inputs.temp', 1, 0],
      ['plant/press', '~online', 1, 0],
      ['plant/press/m1', 'Inputs.temp', 21, 1000],
      ['plant/press/m1', '~online', 1, 1000],
      ['plant/press/m1', 'Inputs.temp', 22, 2000],
      ['plant/press/m1', 'Inputs.temp', 20, 9000],
    ],
  );
  const metrics = await (await fetch(`${ingest.url}/metrics`)).text();
  assert.match(metrics, /^tidegauge_rebirth_requests_total 1$/m);
  assert.equal((await ingest.ledger()).balanced, true);
});

test('after a new connection, a message is not read with births of before', async (context) => {
  const plant = await startPlant(context);
  const { ingest, node, broker } = plant;
  await node.publishAsync('spBv1.0/plant/NBIRTH/press', payload(0, 1, true), { qos: 0 });
  await node.publishAsync('spBv1.0/plant/NDATA/press', payload(1, 2, false), { qos: 0 });
  await settled(ingest);
  await node.endAsync(true);
  await broker.close();
  plant.broker = await startEmbeddedBroker({ port: Number(new URL(broker.url).port) });
  plant.node = await mqtt.connectAsync(broker.url);
  await waitUntil(
    'the message',
    async () => {
      await plant.node.publishAsync('spBv1.0/plant/NDATA/press', payload(2, 3, false), { qos: 0 });
      return (await ingest.ledger()).readings.quarantined > 0;
    },
    { timeoutMs: 10_000 },
  );
});

test('a share group is refused, because each member would miss messages', async () => {
  const settings = await makeSettings();
  await assert.rejects(
    startIngestProcess({ ...settings, STORE: 'null:', SHARE_GROUP: 'ingest' }),
    /SHARE_GROUP is ingest, but the route default reads sparkplug-b/,
  );
  await rm(settings.DATA_DIR, { recursive: true });
});

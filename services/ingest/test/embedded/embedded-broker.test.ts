import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startEmbeddedBroker } from '@tidegauge/lab';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';
import mqtt from 'mqtt';
import { settled, storedReadings } from '../integration/helpers.ts';

const SENSORS = 4;
const ROUNDS = 300;

test('nothing acknowledged is lost through the embedded broker: QoS 0, 1 and 2, retained messages, and ingest not running', async (context) => {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-embedded-'));
  const broker = await startEmbeddedBroker({ port: 0 });
  const store = `sqlite:${join(directory, 'store.db')}`;
  const settings = { STORE: store, BROKER: broker.url, DATA_DIR: directory };
  let ingest = await startIngestProcess(settings);
  const clients = await Promise.all(
    Array.from({ length: SENSORS }, () => mqtt.connectAsync(broker.url, { reconnectPeriod: 0 })),
  );
  context.after(async () => {
    for (const client of clients) await client.endAsync(true);
    await ingest.kill();
    await broker.close();
    await rm(directory, { recursive: true });
  });

  const acknowledged = new Set<string>();
  const publishing: Promise<unknown>[] = [];
  const publishAll = async (from: number, to: number) => {
    for (let n = from; n < to; n += 1) {
      for (const [number, client] of clients.entries()) {
        const qos = (n % 3) as 0 | 1 | 2;
        const payload = JSON.stringify({ t: 1_795_000_000 + n, v: n });
        const sent = client
          .publishAsync(`sensors/probe-${number}/temperature`, payload, { qos, retain: n % 5 === 0 })
          .then(() => {
            if (qos > 0) acknowledged.add(`${number} ${n}`);
          });
        publishing.push(sent);
      }
      if (n % 20 === 0) await Promise.all(publishing.splice(0));
    }
    await Promise.all(publishing.splice(0));
  };
  await publishAll(0, ROUNDS);
  await ingest.kill();
  await publishAll(ROUNDS, 2 * ROUNDS);
  ingest = await startIngestProcess(settings);
  await publishAll(2 * ROUNDS, 3 * ROUNDS);
  const ledger = await settled(ingest);
  assert.equal(ledger.mqtt.reconnects, 0, 'the broker keeps the session');

  const devices = Array.from({ length: SENSORS }, (_, number) => `probe-${number}`);
  const stored = new Set(
    (await storedReadings(store, devices)).map(({ device, value }) => `${device.slice(6)} ${value}`),
  );
  const lost = [...acknowledged].filter((reading) => !stored.has(reading));
  assert.deepEqual(
    lost.slice(0, 10),
    [],
    `${lost.length} of ${acknowledged.size} acknowledged readings are lost`,
  );
});

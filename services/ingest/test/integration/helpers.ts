import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Mosquitto, startMosquitto } from '@tidegauge/lab';
import type { Reading } from '@tidegauge/readings';
import { openStore } from '@tidegauge/storage';
import { type IngestProcess, startIngestProcess } from '@tidegauge/test-support/ingest-process';
import mqtt, { type MqttClient } from 'mqtt';

export { settled } from '@tidegauge/test-support/ingest-process';

/** A broker, a directory and functions to start ingest on them. Everything is removed when the test ends. */
export interface Bench {
  readonly broker: Mosquitto;
  readonly directory: string;
  readonly store: string;
  start(env?: Readonly<Record<string, string>>): Promise<IngestProcess>;
  client(): Promise<MqttClient>;
}

export async function setUp(context: TestContext): Promise<Bench> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-ingest-'));
  const broker = await startMosquitto();
  const store = `sqlite:${join(directory, 'store.db')}`;
  const started: IngestProcess[] = [];
  const clients: MqttClient[] = [];
  context.after(async () => {
    for (const client of clients) await client.endAsync(true);
    for (const ingest of started) await ingest.kill();
    await broker.stop();
    await rm(directory, { recursive: true });
  });
  return {
    broker,
    directory,
    store,
    async start(env = {}) {
      const ingest = await startIngestProcess({
        STORE: store,
        BROKER: broker.url,
        DATA_DIR: directory,
        ...env,
      });
      started.push(ingest);
      return ingest;
    },
    async client() {
      const client = await mqtt.connectAsync(broker.url, { reconnectPeriod: 0 });
      clients.push(client);
      return client;
    },
  };
}

/** All stored readings of the given devices. */
export async function storedReadings(url: string, devices: readonly string[]): Promise<Reading[]> {
  const store = await openStore(url);
  try {
    const found: Reading[] = [];
    for (const device of devices) {
      for await (const reading of store.readings.range({ device, limit: 1_000_000, order: 'asc' }))
        found.push(reading);
    }
    return found;
  } finally {
    await store.close();
  }
}

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { startEmbeddedBroker } from '@tidegauge/lab';
import { type IngestProcess, startIngestProcess } from '@tidegauge/test-support/ingest-process';
import mqtt, { type MqttClient } from 'mqtt';

export interface IngestWithBroker {
  /** The data directory of ingest. */
  readonly directory: string;
  /** The URL of the SQLite file. */
  readonly store: string;
  /** The routes file. */
  readonly routes: string;
  readonly ingest: IngestProcess;
  /** A client of the broker. */
  readonly client: MqttClient;
}

/** Starts the embedded broker, ingest with SQLite and a routes file, and a client. All stop when the test ends. */
export async function startIngestWithBroker(context: TestContext, routes: string): Promise<IngestWithBroker> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-ingest-'));
  const file = join(directory, 'routes.yml');
  await writeFile(file, routes);
  const broker = await startEmbeddedBroker({ port: 0 });
  const store = `sqlite:${join(directory, 'store.db')}`;
  const ingest = await startIngestProcess({
    STORE: store,
    BROKER: broker.url,
    DATA_DIR: directory,
    ROUTES: file,
  });
  const client = await mqtt.connectAsync(broker.url, { reconnectPeriod: 0 });
  context.after(async () => {
    await client.endAsync(true);
    await ingest.kill();
    await broker.close();
    await rm(directory, { recursive: true });
  });
  return { directory, store, routes: file, ingest, client };
}

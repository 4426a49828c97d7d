import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '@tidegauge/process';
import { type IngestProcess, startIngestProcess } from '@tidegauge/test-support/ingest-process';
import mqtt from 'mqtt';
import { storedReadings } from '../integration/helpers.ts';

test('a sensor without a clock loses nothing when it or ingest starts again, and nothing is stored twice', async (context) => {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-clocks-'));
  const store = `sqlite:${join(directory, 'store.db')}`;
  const port = await freePort();
  const url = `mqtt://127.0.0.1:${port}`;
  let ingest: IngestProcess | null = null;
  const start = async () => {
    ingest = await startIngestProcess({ STORE: store, DATA_DIR: directory, LISTEN: url });
  };
  context.after(async () => {
    await ingest?.kill();
    await rm(directory, { recursive: true });
  });
  /** Publishes seconds since the start of the sensor with a value, in a new connection. */
  const publish = async (value: number, uptimes: readonly number[], dup = false) => {
    const client = await mqtt.connectAsync(url, {}, false);
    for (const time of uptimes)
      await client.publishAsync('sensors/attic/all', JSON.stringify({ time, value }), { qos: 1, dup });
    await client.endAsync();
  };
  await start();
  await publish(1, [12345, 12355, 12365]);
  await publish(2, [12345, 12355]);
  await ingest!.kill();
  await start();
  await publish(2, [12345, 12355], true);
  await publish(1, [12365], true);
  await publish(2, [12355, 12356]);
  await publish(3, [12345]);
  const readings = await storedReadings(store, ['attic']);
  assert.deepEqual(readings.map(({ value }) => value).toSorted(), [1, 1, 1, 2, 2, 2, 3]);
  for (const { time, received, quality } of readings) {
    assert.equal(quality, 'unsynced');
    assert.ok(time <= received && time > received - 100_000_000);
  }
});

import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startEmbeddedBroker } from '@tidegauge/lab';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';
import mqtt from 'mqtt';

async function setUp(context: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-ledger-'));
  const broker = await startEmbeddedBroker({ port: 0 });
  const client = await mqtt.connectAsync(broker.url, { reconnectPeriod: 0 });
  const undo: (() => Promise<unknown>)[] = [];
  context.after(async () => {
    await client.endAsync(true);
    for (const step of undo) await step();
    await broker.close();
    await rm(directory, { recursive: true });
  });
  return {
    directory,
    async start(env: Readonly<Record<string, string>> = {}) {
      const ingest = await startIngestProcess({
        STORE: `sqlite:${join(directory, 'store.db')}`,
        BROKER: broker.url,
        DATA_DIR: directory,
        ...env,
      });
      undo.push(() => ingest.kill());
      return ingest;
    },
    async publish(...numbers: number[]) {
      for (const seq of numbers) {
        const payload = JSON.stringify({ t: 1_790_000_000 + seq, v: seq, boot: 'b', seq });
        await client.publishAsync('sensors/site-1/probe/level', payload, { qos: 1 });
      }
    },
  };
}

for (const [how, stop] of [
  ['killed', 'kill'],
  ['stopped', 'stop'],
] as const) {
  test(`readings that were lost while ingest was ${how} are listed after its start, and the counts continue`, async (context) => {
    const bench = await setUp(context);
    const first = await bench.start();
    await bench.publish(0, 1, 3, 4);
    const before = await first.until(({ readings }) => readings.stored === 4, 30_000);
    await first[stop]();
    // A clean start deletes the queue of the broker: the next two readings are lost after the broker acknowledged them.
    await bench.publish(5, 6);
    const second = await bench.start({ CLEAN_START: 'true' });
    assert.equal((await second.ledger()).gaps.missing, 1);
    await bench.publish(7, 8);
    const { gaps } = await second.until(({ readings }) => readings.stored === 2, 30_000);
    const ranges = [
      [2, 2],
      [5, 6],
    ];
    assert.deepEqual(gaps.list, [
      { device: 'site-1/probe', boot: 'b', highest: 8, missing: 3, ranges, givenUp: 0, duplicates: 0 },
    ]);
    assert.equal(gaps.since, before.gaps.since);
    const metrics = await (await fetch(`${second.url}/metrics`)).text();
    assert.match(metrics, /^tidegauge_ledger_gap_readings_total 3$/m);
    await bench.publish(2, 5, 6);
    await second.until(({ gaps }) => gaps.missing === 0, 30_000);
  });
}

test('ingest starts with a ledger that cannot be read, and keeps that file', async (context) => {
  const bench = await setUp(context);
  await writeFile(join(bench.directory, 'tidegauge-ingest.ledger'), 'no ledger');
  const ingest = await bench.start();
  await bench.publish(0, 2);
  await ingest.until(({ gaps }) => gaps.missing === 1, 30_000);
  const files = await readdir(bench.directory);
  assert.ok(files.includes('tidegauge-ingest.ledger.damaged') && files.includes('tidegauge-ingest.ledger'));
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryDirectory } from '@tidegauge/process';
import type { Reading } from '@tidegauge/readings';
import { openStore, type Store, type WriteEffort } from '@tidegauge/storage';
import { httpMessage } from '../../src/raw-message.ts';
import { testPipeline } from '../test-pipeline.ts';

/** An ingest over SQLite, or over a store that does not name duplicates, and the sizes of its batches. */
async function setUp(context: TestContext, namesDuplicates: boolean) {
  const folder = temporaryDirectory('shared-commits');
  const real = await openStore(`sqlite:${join(folder.path, 's.db')}?synchronous=normal`);
  const sizes: number[] = [];
  const write = async (batch: readonly Reading[], effort?: WriteEffort) => {
    sizes.push(batch.length);
    return real.readings.write(batch, effort);
  };
  const store: Store = Object.create(real, {
    readings: { value: Object.assign(Object.create(real.readings), { write }) },
    capabilities: { value: { ...real.capabilities, namesDuplicates } },
  });
  const ingest = testPipeline(store, folder.path, 1000);
  context.after(async () => {
    ingest.pipeline.abort();
    await ingest.spool.close();
    ingest.quarantine.close();
    await real.close();
    folder.remove();
  });
  const deliver = (...times: readonly number[]) => {
    const readings = times.map((t) => ({ device: 'd', metric: 'm', t, v: t }));
    return ingest.pipeline.deliver(
      httpMessage('application/json', new URLSearchParams(), Buffer.from(JSON.stringify(readings))),
      'key a',
    );
  };
  const publish = () =>
    new Promise<void>((settled) => {
      const payload = Buffer.from('21.5');
      ingest.pipeline.accept(
        { topic: 'sensors/x/t', payload, qos: 1, retain: false, size: payload.length },
        { settled: () => settled() },
      );
    });
  return { sizes, deliver, publish };
}

for (const namesDuplicates of [true, false]) {
  test(`deliveries over HTTP have their own counts ${namesDuplicates ? 'in one commit' : 'and commits'}`, async (context) => {
    const { sizes, deliver, publish } = await setUp(context, namesDuplicates);
    await deliver(1_795_000_000, 1_795_000_001);
    sizes.length = 0;
    const [first, , second, third] = await Promise.all([
      deliver(1_795_000_000, 1_795_000_002, 1_795_000_001),
      publish(),
      deliver(1_795_000_003),
      deliver(1_795_000_003, 1_795_000_002, 1_795_000_004),
    ]);
    assert.deepEqual(first, { received: 3, stored: 1, duplicate: 2, quarantined: 0 });
    assert.deepEqual(second, { received: 1, stored: 1, duplicate: 0, quarantined: 0 });
    assert.deepEqual(third, { received: 3, stored: 1, duplicate: 2, quarantined: 0 });
    // A message is delivered alone, so the first of them does not wait for the others.
    assert.deepEqual(sizes, namesDuplicates ? [8] : [3, 1, 1, 3]);
  });
}

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory, waitUntil } from '@tidegauge/process';
import type { Logger } from '@tidegauge/service';
import { openStore } from '@tidegauge/storage';
import { NewHours } from '../../src/new-hours.ts';
import { defaultRoutes } from '../../src/routes-file.ts';
import { closeAfter, testPipeline } from '../test-pipeline.ts';

const WAIT = { timeoutMs: 20_000 };

test('a client may have 10,000 new hours at once, and then 1,000 in a second', () => {
  let now = 5000;
  const lines: unknown[] = [];
  const logger = { warn: (fields: unknown) => void lines.push(fields) } as unknown as Logger;
  const hours = new NewHours(logger, () => now);
  assert.equal(hours.add('a', 9000), 0);
  assert.equal(hours.add('a', 1000), 0);
  assert.equal(hours.add('a', 500), 500);
  assert.equal(hours.add('b', 10_000), 0);
  now += 500;
  assert.equal(hours.add('a', 100), 100);
  now += 60_000;
  assert.equal(hours.add('a', 10_001), 1);
  // Nobody waits longer than 10 s.
  assert.equal(hours.add('a', 100_000), 10_000);
  now += 10_000;
  assert.equal(hours.add('a', 10_000), 10_000);
  assert.deepEqual([hours.delayed, lines], [5, [{ client: 'a', waitMs: 500 }]]);
});

test('a message with too many new hours of its client is acknowledged later, or when ingest stops', async (context) => {
  const directory = temporaryDirectory('new-hours');
  const store = await openStore(`sqlite:${join(directory.path, 's.db')}?synchronous=normal`);
  const { pipeline, quarantine, spool } = testPipeline(
    store,
    directory.path,
    20_000,
    defaultRoutes('durable'),
  );
  closeAfter(context, { pipeline, quarantine, spool }, store, () => directory.remove());
  const settled: string[] = [];
  const t = Date.now() / 1000;
  const payloadOf = (name: string, devices: number) =>
    Buffer.from(
      JSON.stringify(Array.from({ length: devices }, (_, n) => ({ device: `${name}${n}`, t, v: 1 }))),
    );
  const send = (client: string, name: string, devices: number) => {
    const payload = payloadOf(name, devices);
    const origin = { client, settled: () => void settled.push(`${client} ${name}`) };
    pipeline.accept(
      { topic: 'sensors/site/t', payload, qos: 1, retain: false, size: payload.length },
      origin,
    );
  };
  send('flood', 'x', 10_000);
  await waitUntil('the first message', () => settled.length === 1, WAIT);
  send('flood', 'y', 5000);
  await pipeline.idle();
  send('flood', 'x', 10);
  await pipeline.idle();
  send('other', 'z', 100);
  await pipeline.idle();
  const message = { source: 'http', topic: 'sensors/site/t', format: 'auto', part: null } as const;
  await pipeline.deliver({ ...message, payload: payloadOf('over-http', 1000) }, 'flood');
  assert.deepEqual(settled, ['flood x', 'flood x', 'other z']);
  pipeline.stop();
  assert.deepEqual(settled.slice(3), ['flood y']);
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryDirectory } from '@tidegauge/process';
import { openStore } from '@tidegauge/storage';
import { AckDemand } from '../../src/ack-demand.ts';
import type { Origin } from '../../src/delivery.ts';
import { httpMessage } from '../../src/raw-message.ts';
import { closeAfter, testPipeline } from '../test-pipeline.ts';

const LONG_MS = 60_000;

/** A pipeline that holds messages for a minute. */
async function setUp(context: TestContext) {
  const directory = temporaryDirectory('pipeline-hold');
  const store = await openStore(`sqlite:${join(directory.path, 's.db')}`);
  const hold = { ms: LONG_MS, weight: 250 };
  const { pipeline, quarantine, spool } = testPipeline(store, directory.path, 1000, undefined, { hold });
  closeAfter(context, { pipeline, quarantine, spool }, store, () => directory.remove());
  const publish = (origin: Origin) => {
    const payload = Buffer.from('1');
    pipeline.accept(
      { topic: 'sensors/a/temperature', payload, qos: 1, retain: false, size: payload.length },
      origin,
    );
  };
  return { pipeline, publish };
}

/** The origin of a sensor that was found not to wait. */
function patient(): Origin {
  return { demand: new AckDemand(() => performance.now() - LONG_MS), settled() {} };
}

test('messages that nobody waits for are held, and committed together with the first that somebody waits for', async (context) => {
  const { pipeline, publish } = await setUp(context);
  const origin = patient();
  for (let count = 0; count < 10; count++) publish(origin);
  await sleep(20);
  assert.equal(pipeline.accounts.inFlight, 10);
  publish({ settled() {} });
  await pipeline.idle();
  assert.deepEqual([pipeline.accounts.stored, pipeline.batchReadings.count], [11, 1]);
});

test('a request over HTTP, and a stop, end the hold', async (context) => {
  const { pipeline, publish } = await setUp(context);
  publish(patient());
  const body = Buffer.from('[{"device":"b","metric":"m","v":1}]');
  const { stored } = await pipeline.deliver(httpMessage('application/json', new URLSearchParams(), body));
  assert.deepEqual([stored, pipeline.accounts.stored], [1, 2]);
  publish(patient());
  pipeline.stop();
  await pipeline.idle();
  assert.equal(pipeline.accounts.stored, 3);
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryDirectory } from '@tidegauge/process';
import { openStore } from '@tidegauge/storage';
import type { Inbound, Pipeline } from '../../src/pipeline.ts';
import { httpMessage } from '../../src/raw-message.ts';
import type { AckPolicy } from '../../src/routes.ts';
import { defaultRoutes } from '../../src/routes-file.ts';
import { Share } from '../../src/share.ts';
import { testPipeline } from '../test-pipeline.ts';

const MOST = 1000;

async function openPipeline(
  context: TestContext,
  ack: AckPolicy,
  onFull: (full: boolean) => void,
): Promise<Pipeline> {
  const directory = temporaryDirectory('share');
  const store = await openStore(`sqlite:${join(directory.path, 's.db')}`);
  const options = { maxInFlight: MOST, onFull };
  const { pipeline, quarantine, spool } = testPipeline(
    store,
    directory.path,
    100,
    defaultRoutes(ack),
    options,
  );
  context.after(async () => {
    await spool.close();
    await store.close();
    quarantine.close();
    directory.remove();
  });
  return pipeline;
}

function messageOf(number: number, payload: string): Inbound {
  const topic = `sensors/a/${number}`;
  return { topic, payload: Buffer.from(payload), qos: 1, retain: false, size: 40 };
}

for (const [what, ack, payload] of [
  ['readings', 'durable', '21.5'],
  ['readings that are acknowledged on arrival', 'received', '21.5'],
  ['payloads that cannot be decoded', 'durable', '{"'],
] as const) {
  test(`n clients that send without end have a part of n + 1 each: ${what}`, async (context) => {
    let wasFull = false;
    const pipeline = await openPipeline(context, ack, (full) => {
      wasFull ||= full;
    });
    const flood = (share: Share): number => {
      let sent = 0;
      for (; !share.isFull; sent++) pipeline.accept(messageOf(sent, payload), { share, settled() {} });
      return sent;
    };
    const changes: boolean[] = [];
    const shares = Array.from({ length: 4 }, () => new Share((full) => void changes.push(full)));
    assert.equal(flood(shares[0]!), MOST / 2);
    assert.equal(flood(shares[1]!), MOST / 4);
    for (const share of shares.slice(2)) flood(share);
    assert.equal(wasFull, false);
    assert.deepEqual(changes, [true, true, true, true]);
    await pipeline.idle();
    assert.deepEqual(
      shares.map(({ readings, bytes, isFull }) => [readings, bytes, isFull]),
      shares.map(() => [0, 0, false]),
    );
  });
}

test('requests over HTTP leave half of the room to sensors', async (context) => {
  let isFull = false;
  const pipeline = await openPipeline(context, 'durable', (full) => {
    isFull = full;
  });
  const readings = Array.from({ length: 2 * MOST }, (_, n) => ({
    ...{ device: 'd', metric: 'm', t: 1_700_000_000 + n, v: n },
  }));
  const query = new URLSearchParams();
  const body = Buffer.from(JSON.stringify(readings));
  const deliver = () => pipeline.deliver(httpMessage('application/json', query, body), 'a client');
  const requests = [deliver(), deliver()];
  assert.equal(isFull, false);
  let sent = 0;
  for (; !isFull; sent++) pipeline.accept(messageOf(sent, '21.5'), { settled() {} });
  assert.equal(sent, MOST / 2);
  const [first] = await Promise.all(requests);
  assert.equal(first!.received, 2 * MOST);
  await pipeline.idle();
  assert.equal(isFull, false);
  for (sent = 0; !isFull; sent++) pipeline.accept(messageOf(sent, '21.5'), { settled() {} });
  assert.equal(sent, MOST);
  await pipeline.idle();
});

test('a client with nothing in flight continues, however much others have', () => {
  const changes: boolean[] = [];
  const share = new Share((full) => void changes.push(full));
  share.count(1, 100, -50, -1000);
  assert.deepEqual(changes, [true]);
  share.count(-1, -100, -50, -1000);
  assert.deepEqual(changes, [true, false]);
});

test('a client is not paused by the end of its message: nothing would continue it', () => {
  const changes: boolean[] = [];
  const share = new Share((full) => void changes.push(full));
  share.count(1, 100, 50, 1000);
  share.count(-1, -100, -50, -1000);
  assert.deepEqual(changes, []);
});

for (const [what, readings, bytes] of [
  ['readings', 1, 0],
  ['bytes', 0, 1],
] as const) {
  test(`a client is paused when it has as many ${what} as are free, and continues at half of that`, () => {
    const changes: boolean[] = [];
    const share = new Share((full) => void changes.push(full));
    share.count(10 * readings, 10 * bytes, 11, 11);
    assert.deepEqual(changes, []);
    share.count(0, 0, 10, 11);
    share.count(0, 0, 11, 10);
    assert.deepEqual(changes, [true]);
    share.count(-readings, -bytes, 17, 17);
    assert.deepEqual(changes, [true]);
    share.count(0, 0, 18, 18);
    assert.deepEqual(changes, [true, false]);
  });
}

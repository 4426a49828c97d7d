import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Readiness } from '@tidegauge/service';

const never = () => new Promise<null>(() => {});

test('a service is ready when every check passes', async () => {
  assert.deepEqual(await new Readiness({ a: () => null, b: async () => null }).reasons(), []);
});

test('every failing check gives its reason, in order; a rejection counts as a reason', async () => {
  const readiness = new Readiness({
    broker: () => 'the broker is not connected',
    ingest: () => null,
    store: async () => {
      throw new Error('the store cannot be reached');
    },
    quarantine: () => {
      throw new Error('the disk is full');
    },
  });
  assert.deepEqual(await readiness.reasons(), [
    'the broker is not connected',
    'the store cannot be reached',
    'the disk is full',
  ]);
});

test('a check that hangs is reported within its time limit', async () => {
  const started = performance.now();
  const readiness = new Readiness({ 'the store': never, 'the broker': never }, 50);
  assert.deepEqual(await readiness.reasons(), [
    'the store did not answer within 50 ms',
    'the broker did not answer within 50 ms',
  ]);
  assert.ok(performance.now() - started < 2000);
});

test('a dependency that hangs is called once, however often readiness is requested', async () => {
  let calls = 0;
  const hung = Promise.withResolvers<null>();
  const readiness = new Readiness({ store: () => (++calls === 1 ? hung.promise : null) }, 20);
  await Promise.all(Array.from({ length: 20 }, () => readiness.reasons()));
  assert.equal((await readiness.reasons()).length, 1);
  assert.equal(calls, 1);
  hung.resolve(null);
  assert.deepEqual(await readiness.reasons(), []);
  assert.deepEqual(await readiness.reasons(), []);
  assert.ok(calls > 1, 'later requests check again');
});

test('a call without an answer is abandoned after 30 s, so that a recovery is detected', async (context) => {
  let now = 0;
  context.mock.method(performance, 'now', () => now);
  let calls = 0;
  const readiness = new Readiness({ store: () => (++calls === 1 ? never() : null) }, 10);
  assert.equal((await readiness.reasons()).length, 1);
  now = 29_999;
  assert.equal((await readiness.reasons()).length, 1);
  now = 30_000;
  assert.deepEqual(await readiness.reasons(), []);
  assert.equal(calls, 2);
});

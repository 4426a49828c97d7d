import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { QuarantineStepDocument, Reading } from '@tidegauge/readings';
import { createLogger, listen, problemHandler } from '@tidegauge/service';
import { openStore, type Store, StoreError } from '@tidegauge/storage';
import express from 'express';
import { Pipeline } from '../../src/pipeline.ts';
import { Quarantine } from '../../src/quarantine.ts';
import type { QuarantineEntry } from '../../src/quarantine-rows.ts';
import { stepHandlers } from '../../src/quarantine-steps.ts';
import { Router } from '../../src/routes.ts';
import { defaultRoutes } from '../../src/routes-file.ts';

const MIB = 1024 * 1024;

interface Bench {
  readonly quarantine: Quarantine;
  readonly store: Store;
  /** Runs before each write of the store. */
  hold: (batch: readonly Reading[]) => Promise<void>;
  post(
    path: string,
  ): Promise<{ readonly status: number; readonly body: QuarantineStepDocument & { detail: string } }>;
  /** Steps until the end; the sums, and how many requests that took. */
  walk(
    path: string,
    cursor?: string | null,
  ): Promise<{ tried: number; removed: number; stored: number; duplicate: number; requests: number }>;
}

/** Quarantine and pipeline over a real store whose writes can be held up, and the routes in question over HTTP. */
async function setUp(context: TestContext, patienceMs = 4000): Promise<Bench> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-steps-'));
  const logger = createLogger('ingest', 'silent');
  const real = await openStore(`sqlite:${join(directory, 'store.db')}?synchronous=normal`);
  const bench = { hold: async (_batch: readonly Reading[]) => {} };
  const write = async (batch: readonly Reading[]) => {
    await bench.hold(batch);
    return real.readings.write(batch);
  };
  const store: Store = Object.create(real, {
    readings: { value: Object.assign(Object.create(real.readings), { write }) },
  });
  const router = new Router(defaultRoutes('durable'));
  const quarantine = new Quarantine(join(directory, 'q.db'), 'i', 64 * MIB);
  const pipeline = new Pipeline({
    store,
    router,
    quarantine,
    spool: null,
    logger,
    maxBatch: 1000,
    paceMs: 0,
    maxInFlight: 1e6,
    maxInFlightBytes: 1e9,
    onFull: () => {},
    onBroken: (error) => assert.fail(String(error)),
  });
  const app = express();
  const { replay, discard } = stepHandlers({ pipeline, quarantine, router, instance: 'i', patienceMs });
  app.post('/quarantine/replay', replay);
  app.post('/quarantine/discard', discard);
  app.use(problemHandler(logger));
  const server = await listen(app, '127.0.0.1', 0, 'the test');
  context.after(async () => {
    bench.hold = async () => {};
    await pipeline.idle();
    pipeline.abort();
    await server.close(0);
    await real.close();
    quarantine.close();
    await rm(directory, { recursive: true });
  });
  const post: Bench['post'] = async (path) => {
    const response = await fetch(server.url + path, { method: 'POST' });
    return {
      status: response.status,
      body: (await response.json()) as Awaited<ReturnType<Bench['post']>>['body'],
    };
  };
  return Object.assign(bench, {
    quarantine,
    store: real,
    post,
    async walk(path: string, begin: string | null = null) {
      const sums = { tried: 0, removed: 0, stored: 0, duplicate: 0, requests: 0 };
      let cursor = begin;
      do {
        const next = cursor === null ? path : `${path}${path.includes('?') ? '&' : '?'}cursor=${cursor}`;
        let answer = await post(next);
        // Messages of the step before are still on their way to the store, as on a busy machine.
        while (answer.status === 503 && sums.requests++ < 200) {
          await new Promise((resolve) => setTimeout(resolve, 50));
          answer = await post(next);
        }
        const { status, body } = answer;
        assert.equal(status, 200, JSON.stringify(body));
        for (const key of ['tried', 'removed', 'stored', 'duplicate'] as const) sums[key] += body[key];
        assert.ok(sums.requests++ < 200, 'the walk does not end');
        cursor = body.next;
      } while (cursor !== null);
      return sums;
    },
  });
}

const START = Date.UTC(2026, 10, 21) * 1000;

/** A message of sensors/<n> that can be stored now, or not. */
function message(n: number, payload: string, reason = 'malformed'): QuarantineEntry {
  return {
    source: 'mqtt',
    topic: `sensors/probe-${n % 7}/temperature`,
    payload: Buffer.from(payload),
    format: 'auto',
    part: null,
    received: START + n * 1000,
    reason,
    detail: 'no',
    position: null,
    readings: 1,
  };
}

test('thousands of messages are replayed in bounded steps, in order, and messages that fail again stay', async (context) => {
  const bench = await setUp(context);
  const { quarantine } = bench;
  const total = 3000;
  const batch = Array.from({ length: total }, (_, n) =>
    message(n, n % 100 === 50 ? 'garbage {' : `{"t":${1_795_000_000 + n},"v":${n}}`),
  );
  // The same identity twice: the later message is the correction.
  batch.push(message(total, '{"t":1795000000,"v":-1}'));
  batch[total] = { ...batch[total]!, topic: batch[0]!.topic };
  quarantine.add(batch);

  const sums = await bench.walk('/quarantine/replay?limit=400');
  assert.equal(sums.tried, total + 1);
  assert.equal(sums.removed, total + 1 - 30);
  assert.equal(sums.stored + sums.duplicate, total + 1 - 30);
  assert.ok(sums.requests >= 8, `${sums.requests} requests`);
  assert.equal(quarantine.total, 30);
  assert.deepEqual(quarantine.list(1, null, null).reasons, { malformed: 30 });
  const corrected: Reading[] = [];
  for await (const reading of bench.store.readings.range({ device: 'probe-0', limit: 1, order: 'asc' }))
    corrected.push(reading);
  assert.equal(corrected[0]!.value, -1);
  // Another pass tries each remaining message once, and does nothing else.
  const again = await bench.walk('/quarantine/replay');
  assert.deepEqual([again.tried, again.removed], [30, 0]);
});

test('messages that the store rejects again stay with the new reason, and the pass ends', async (context) => {
  const bench = await setUp(context);
  bench.quarantine.add(Array.from({ length: 20 }, (_, n) => message(n, `${n}`, 'rejected')));
  bench.hold = async (batch) => {
    const rows = [...batch.keys()].filter((row) => Number(batch[row]!.value) % 2 === 1);
    if (rows.length > 0) throw new StoreError('REJECTED', 'odd today', { rows });
  };
  const sums = await bench.walk('/quarantine/replay?limit=3');
  assert.deepEqual([sums.tried, sums.removed, sums.stored], [20, 10, 10]);
  const { items, total } = bench.quarantine.list(100, null, null);
  assert.equal(total, 10);
  for (const item of items) assert.match(item.detail, /odd today/);
});

test('a store that does not answer costs bounded memory and time, and nothing is lost', async (context) => {
  const bench = await setUp(context, 500);
  const { quarantine } = bench;
  // JSON of 1 MiB each, in one reading.
  const large = (n: number) => `{"t":${1_795_000_000 + n},"v":${n}}${' '.repeat(MIB)}`;
  for (let n = 0; n < 30; n++) quarantine.add([message(n, large(n))]);
  const gate = Promise.withResolvers<void>();
  let held = 0;
  bench.hold = (batch) => {
    held += batch.length;
    return gate.promise;
  };
  const started = performance.now();
  const { status, body } = await bench.post('/quarantine/replay');
  assert.equal(status, 200);
  assert.deepEqual([body.tried, body.removed], [0, 0]);
  assert.notEqual(body.next, null);
  assert.ok(performance.now() - started < 4000);
  assert.ok(held <= 4, `${held} MiB were on their way at once`);
  // A second one would take the same memory again.
  const busy = await bench.post(`/quarantine/replay?cursor=${body.next}`);
  assert.equal(busy.status, 503);
  assert.match(busy.body.detail, /is still running/);
  assert.equal(quarantine.total, 30);

  gate.resolve();
  const deadline = performance.now() + 10_000;
  while (quarantine.total === 30 && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 20));
  await bench.walk('/quarantine/replay', body.next);
  assert.equal(quarantine.total, 0);
  let stored = 0;
  for (let n = 0; n < 7; n++) {
    for await (const _ of bench.store.readings.range({ device: `probe-${n}`, limit: 100 })) stored++;
  }
  assert.equal(stored, 30);
});

test('discard removes the selected messages, and none that arrive meanwhile', async (context) => {
  const bench = await setUp(context);
  const { quarantine } = bench;
  const reasons = ['malformed', 'invalid_time'];
  quarantine.add(Array.from({ length: 4000 }, (_, n) => message(n, 'x', reasons[n % 2])));
  const first = await bench.post('/quarantine/discard?reason=malformed&limit=1000');
  assert.deepEqual([first.body.removed, first.body.tried], [1000, 1000]);
  quarantine.add([message(5000, 'x', 'malformed')]);
  const rest = await bench.walk('/quarantine/discard?reason=malformed', first.body.next);
  assert.equal(rest.removed, 1000);
  assert.deepEqual(quarantine.list(1, null, null).reasons, { invalid_time: 2000, malformed: 1 });
  const until = new Date(START / 1000 + 99).toISOString();
  assert.equal((await bench.walk(`/quarantine/discard?until=${until}`)).removed, 50);
  assert.equal((await bench.walk('/quarantine/discard?instance=other')).removed, 0);
  assert.equal((await bench.walk('/quarantine/discard?reason=unknown_topic')).removed, 0);
  assert.equal((await bench.walk('/quarantine/discard?instance=i')).removed, 1951);
  assert.equal(quarantine.total, 0);
  for (const query of [
    'limit=0',
    'limit=1001',
    'cursor=1',
    'cursor=1.x',
    'until=soon',
    'reason=a&reason=b',
  ]) {
    const { status } = await bench.post(`/quarantine/discard?${query}`);
    assert.equal(status, 400, query);
  }
});

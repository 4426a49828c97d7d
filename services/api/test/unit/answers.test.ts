import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger, listen, problemHandler } from '@tidegauge/service';
import express from 'express';
import { type AnswerLimits, Answers, type List } from '../../src/answers.ts';
import { reading, startApi, until } from '../harness.ts';

/** A server whose only answer is a list of `count` texts. */
async function serve(
  t: TestContext,
  count: number,
  limits: Partial<AnswerLimits>,
  list: Partial<List<string>>,
) {
  const answers = new Answers(limits);
  const app = express();
  const seen = { read: 0, returned: 0 };
  async function* items() {
    try {
      for (let n = 0; n < count; n += 1) {
        seen.read += 1;
        yield `${n} `.padEnd(10_000, 'x');
      }
    } finally {
      seen.returned += 1;
    }
  }
  app.get('/', (_request, response) =>
    answers.list(response, {
      name: 'texts',
      items: items(),
      limit: 1000,
      sizeOf: (text) => text.length,
      toDocument: (text) => text,
      ...list,
    }),
  );
  app.use(problemHandler(createLogger('test', 'silent')));
  const server = await listen(app, '127.0.0.1', 0, 'the test');
  t.after(() => server.close(0));
  const stuck = (from: string): Socket => {
    const socket = connect({ host: '127.0.0.1', port: server.port, localAddress: from });
    t.after(() => socket.destroy());
    socket.on('error', () => {});
    socket.pause();
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    return socket;
  };
  const get = async () => {
    const response = await fetch(server.url);
    return {
      status: response.status,
      body: (await response.json()) as { texts: string[]; next: string | null },
    };
  };
  return { seen, get, stuck };
}

const next = (last: string) => `behind ${last.split(' ')[0]}`;

test('a list is sent in parts, ends at its limit or its size, and has a cursor for the rest', async (t) => {
  for (const [count, limit, got, cursor] of [
    [0, 10, 0, null],
    [3, 10, 3, null],
    [10, 10, 10, null],
    [11, 10, 10, 'behind 9'],
    [100, 100, 100, null],
    [101, 100, 100, 'behind 99'],
    [1000, 1000, 420, 'behind 419'],
  ] as const) {
    const { get, seen } = await serve(t, count, {}, { limit, next });
    const { status, body } = await get();
    assert.equal(status, 200);
    assert.deepEqual([body.texts.length, body.next], [got, cursor], `${count} by ${limit}`);
    assert.ok(body.texts.every((text, n) => text.startsWith(`${n} `)));
    assert.deepEqual(seen, { read: Math.min(count, got + 1), returned: 1 });
  }
});

test('a list without pages is sent completely, for any size', async (t) => {
  const { get } = await serve(t, 1000, {}, {});
  assert.equal((await get()).body.texts.length, 1000);
});

test('clients that do not read shorten pages, and block complete lists only until they leave', async (t) => {
  const limits = { bytes: 512 * 1024 };
  const paged = await serve(t, 1000, limits, { next });
  for (let n = 0; n < 10; n += 1) paged.stuck('127.0.0.2');
  await until('ten readers that do not read', () => paged.seen.read > 100);
  await sleep(100);
  assert.ok(paged.seen.read < 2500, `${paged.seen.read} items read for readers that took none`);
  const { status, body } = await paged.get();
  assert.equal(status, 200);
  assert.deepEqual([body.texts.length, body.next], [4, 'behind 3']);

  const whole = await serve(t, 1000, limits, {});
  const sockets = [whole.stuck('127.0.0.2'), whole.stuck('127.0.0.2')];
  await until('two readers that do not read', () => whole.seen.read > 100);
  assert.equal((await whole.get()).status, 503);
  for (const socket of sockets) socket.destroy();
  await until('room', async () => (await whole.get()).status === 200);
});

test('an error before the first part is a problem document, and a later one breaks off the answer', async (t) => {
  const fails = (at: number) =>
    (async function* () {
      for (let n = 0; n < at; n += 1) yield 'x'.repeat(10_000);
      throw new Error('broken');
    })();
  const early = await serve(t, 0, {}, { items: fails(2), next });
  assert.equal((await early.get()).status, 500);
  const late = await serve(t, 0, {}, { items: fails(50), next });
  await assert.rejects(late.get());
});

test('a client has half of the places, by its login from any address', async () => {
  const answers = new Answers({ reads: 4 });
  const running: string[] = [];
  const ends: (() => void)[] = [];
  const begin = (login: string | null, address: string, cost: 'page' | 'scan' | 'query', name: string) => {
    const principal = { kind: login === null ? 'open' : 'key', id: login };
    const response = { destroyed: false, locals: { principal }, req: { socket: { remoteAddress: address } } };
    void answers.read(response as never, cost, async () => {
      running.push(name);
      await new Promise<void>((end) => ends.push(end));
    });
  };
  for (const [cost, share] of [
    ['query', 1],
    ['scan', 2],
    ['page', 2],
  ] as const) {
    // Each request has another address.
    for (let n = 0; n < 8; n += 1) begin('one', `192.0.2.${n}`, cost, `${cost} of one`);
    for (let n = 0; n < 8; n += 1) begin('two', `192.0.2.${10 + n}`, cost, `${cost} of two`);
    begin(null, '192.0.2.99', cost, `${cost} of three`);
    assert.equal(running.filter((name) => name === `${cost} of one`).length, share);
    assert.equal(running.filter((name) => name === `${cost} of two`).length, share);
  }
  // All places of each cost are taken. A client that waits comes before the next reads of those that have some.
  assert.equal(running.length, 10);
  while (!running.includes('page of three')) {
    ends.shift()!();
    await sleep(0);
  }
  assert.ok(running.filter((name) => name === 'page of one').length <= 4, running.join());
});

test('all that stays in memory while it is sent is reserved', async (t) => {
  const held = await serve(t, 1000, { bytes: 2 ** 20 }, { held: () => 2 ** 20 });
  const socket = held.stuck('127.0.0.2');
  await until('a reader that does not read', () => held.seen.read > 0);
  assert.equal((await held.get()).status, 503);
  socket.destroy();
  await until('room', async () => (await held.get()).status === 200);
});

test('pages of large texts, latest readings, devices and records are complete', async (t) => {
  const api = await startApi(t, { config: { bodyLimit: 2 ** 20 } });
  const text = '\u{4e00}'.repeat(4096);
  for (let start = 0; start < 1200; start += 100) {
    const part = Array.from({ length: 100 }, (_, n) =>
      reading(start + n, { value: `${start + n} ${text}`.slice(0, 4096) }),
    );
    await api.store.readings.write(part);
  }
  const seen: number[] = [];
  let cursor = '';
  do {
    const path = `/v1/readings?device=site-3/boiler/probe-7&limit=10000&order=asc${cursor}`;
    const { status, body } = await api.call('GET', path);
    assert.equal(status, 200);
    assert.ok(JSON.stringify(body).length < 6 * 2 ** 20);
    for (const { value } of body.readings) seen.push(Number(value.split(' ')[0]));
    cursor = body.next === null ? '' : `&cursor=${body.next}`;
  } while (cursor !== '');
  assert.deepEqual(
    seen,
    Array.from({ length: 1200 }, (_, n) => n),
  );

  const names = ['a', 'b', 'c', 'd'];
  for (const device of names) {
    await api.store.readings.write(
      Array.from({ length: 400 }, (_, n) =>
        reading(n, { device, metric: `m${n}`, value: `x${n}`.padEnd(500) }),
      ),
    );
  }
  const latest = await api.call(
    'GET',
    `/v1/readings/latest?${names.map((name) => `device=${name}`).join('&')}`,
  );
  assert.equal(latest.body.readings.length, 1600);
  assert.equal(
    new Set(latest.body.readings.map((each: { device: string; metric: string }) => each.device + each.metric))
      .size,
    1600,
  );

  for (let n = 0; n < 150; n += 1) {
    const device = {
      name: `large/${String(n).padStart(3, '0')}`,
      site: 'large',
      city: null,
      kind: null,
      year: null,
    };
    await api.store.devices.put({
      ...device,
      attributes: { text: 'x'.repeat(4000), more: 'y'.repeat(4000) },
    });
  }
  const devices = await api.call('GET', '/v1/devices?site=large&limit=150');
  assert.equal(devices.body.devices.length, 150);
  assert.equal(devices.body.next, null);

  await api.store.records.createTable('large', 1);
  for (let n = 0; n < 30; n += 1)
    await api.store.records.insert('large', `k${100 + n}`, { field0: 'z'.repeat(300_000) });
  const { body } = await api.call('GET', '/v1/records/large?start=k105&count=20');
  assert.deepEqual(
    body.records.map(({ key }: { key: string }) => key),
    Array.from({ length: 20 }, (_, n) => `k${105 + n}`),
  );
});

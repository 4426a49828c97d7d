import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { byteBudget, createLogger, listen, problemHandler } from '@tidegauge/service';
import express from 'express';

async function until(what: string, isTrue: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1000 && !isTrue(); turn++) await sleep(10);
  assert.ok(isTrue(), `it took too long until ${what}`);
}

test('bodies beyond the budget are answered with 503 until an answer frees memory', async (t) => {
  const answers: (() => void)[] = [];
  const app = express();
  app.post('/', byteBudget(1500, 800), express.raw({ type: () => true }), (_request, response) => {
    answers.push(() => response.json({}));
  });
  app.use(problemHandler(createLogger('test', 'silent')));
  const server = await listen(app, '127.0.0.1', 0, 'the test');
  t.after(() => server.close(0));
  const send = () => fetch(server.url, { method: 'POST', body: 'x'.repeat(600) });

  const first = send();
  await until('the first', () => answers.length === 1);
  const second = await send();
  assert.equal(second.status, 503);
  assert.equal(second.headers.get('Retry-After'), '1');
  answers[0]!();
  assert.equal((await first).status, 200);
  const third = send();
  await until('the third', () => answers.length === 2);
  answers[1]!();
  assert.equal((await third).status, 200);
});

test('a refused body does not reach its handler, also when all of it has arrived', async (t) => {
  const sizes: number[] = [];
  const app = express();
  const parse = express.raw({ type: () => true });
  app.post('/', byteBudget(1500, 800), parse, ({ body }) => void sizes.push(body.length));
  app.use(problemHandler(createLogger('test', 'silent')));
  const server = await listen(app, '127.0.0.1', 0, 'the test');
  t.after(() => server.close(0));
  const send = (bytes: number) => {
    const socket = connect({ host: '127.0.0.1', port: server.port, allowHalfOpen: true });
    t.after(() => socket.destroy());
    socket.on('error', () => {});
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n${'x'.repeat(bytes)}`);
    return new Promise<string>((resolve) => void socket.once('data', (part) => resolve(part.toString())));
  };
  void send(601);
  await until('the first', () => sizes.length === 1);
  const refused = await Promise.all(Array.from({ length: 50 }, () => send(600)));
  for (const answer of refused) assert.match(answer, /^HTTP\/1\.1 503 /);
  await sleep(200);
  assert.deepEqual(sizes, [601]);
});

test('stalled uploads do not block others, and one client cannot use all of the memory', async (t) => {
  const app = express();
  const parse = express.raw({ type: () => true });
  app.post('/', byteBudget(4000, 2000), parse, ({ body }, response) => void response.send(`${body.length}`));
  app.use(problemHandler(createLogger('test', 'silent')));
  const server = await listen(app, '127.0.0.1', 0, 'the test');
  t.after(() => server.close(0));
  const upload = (from: string, announced: number, sent: number) => {
    const socket = connect({ host: '127.0.0.1', port: server.port, localAddress: from });
    t.after(() => socket.destroy());
    const client = { text: '', ended: false };
    socket.setEncoding('utf8').on('data', (part: string) => {
      client.text += part;
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      client.ended = true;
    });
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${announced}\r\n\r\n${'x'.repeat(sent)}`);
    return client;
  };
  const first = upload('127.0.0.1', 1000, 900);
  await sleep(20);
  const second = upload('127.0.0.1', 1000, 900);
  await sleep(20);
  // Within a second both uploads may continue, so a new body of this client is refused, and one of another is not.
  const third = upload('127.0.0.1', 500, 500);
  const other = upload('127.0.0.2', 500, 500);
  await until('both answers', () => /\r\n\r\n/.test(third.text) && /\r\n\r\n/.test(other.text));
  assert.match(third.text, /^HTTP\/1\.1 503 .*Retry-After: 1/s);
  assert.match(other.text, /^HTTP\/1\.1 200 .*\r\n500$/s);
  await sleep(1100);
  const fourth = upload('127.0.0.1', 500, 500);
  await until('the answer', () => /\r\n\r\n/.test(fourth.text));
  assert.match(fourth.text, /^HTTP\/1\.1 200 .*\r\n500$/s);
  await until('the oldest to be given up', () => first.ended);
  assert.match(first.text, /^HTTP\/1\.1 408 /);
  assert.equal(second.text, '');
});

test('several clients that take what they can leave room for one more', async (t) => {
  const app = express();
  app.post('/', byteBudget(4000, 900), express.raw({ type: () => true }), (_request, response) => {
    held.push(() => response.end());
  });
  app.use(problemHandler(createLogger('test', 'silent')));
  const server = await listen(app, '127.0.0.1', 0, 'the test');
  t.after(() => server.close(0));
  const held: (() => void)[] = [];
  /** Resolves to the status, or to 0 while the body is held. */
  const send = async (from: string) => {
    const before = held.length;
    const socket = connect({ host: '127.0.0.1', port: server.port, localAddress: from });
    t.after(() => socket.destroy());
    let text = '';
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 400\r\n\r\n${'x'.repeat(400)}`);
    await until('the body is held or refused', () => held.length > before || text.length > 0);
    return held.length > before ? 0 : Number(text.slice(9, 12));
  };
  const taken: number[] = [];
  for (const from of ['127.0.0.1', '127.0.0.2', '127.0.0.3']) {
    let count = 0;
    while ((await send(from)) === 0) count += 1;
    taken.push(count);
  }
  assert.deepEqual(taken, [5, 2, 1]);
  assert.equal(await send('127.0.0.4'), 0);
});

test('a body that announces more than one may have is refused with 413, also when others wait for memory', async (t) => {
  const app = express();
  app.post('/', byteBudget(2100, 700), express.raw({ type: () => true, limit: 700 }));
  app.use(problemHandler(createLogger('test', 'silent')));
  const server = await listen(app, '127.0.0.1', 0, 'the test');
  t.after(() => server.close(0));
  const answer = await fetch(server.url, { method: 'POST', body: 'x'.repeat(900) });
  assert.equal(answer.status, 413);
  assert.match(await answer.text(), /The body of 900 bytes is too large: at most 700 bytes are accepted/);
});

const TEXT = 'x'.repeat(900);
const COMPRESSED = { body: gzipSync(TEXT), headers: { 'Content-Encoding': 'gzip' } };

for (const [what, sent] of [
  ['a compressed body that is decompressed counts as the largest one, until its answer', COMPRESSED],
  ['a body counts until its answer', { body: TEXT }],
] as const) {
  for (const delayMs of [0, 20]) {
    test(`${what}${delayMs === 0 ? '' : ', also when it waited for its turn'}`, async (t) => {
      const answers: (() => void)[] = [];
      const app = express();
      // On a busy server the whole body has arrived before the request has its turn.
      if (delayMs > 0) app.use((_request, _response, next) => void setTimeout(next, delayMs));
      app.post('/', byteBudget(2500, 1000, true), express.raw({ type: () => true }), ({ body }, response) => {
        answers.push(() => response.send(`${body.length}`));
      });
      app.use(problemHandler(createLogger('test', 'silent')));
      const server = await listen(app, '127.0.0.1', 0, 'the test');
      t.after(() => server.close(0));
      const signal = AbortSignal.timeout(10_000);
      const send = () => fetch(server.url, { method: 'POST', ...sent, signal });
      const first = send();
      await until('the first', () => answers.length === 1);
      assert.equal((await send()).status, 503);
      answers[0]!();
      assert.equal(await (await first).text(), '900');
    });
  }
}

import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { waitUntil } from '@tidegauge/process';
import { now } from '@tidegauge/readings';
import { ConfigError, createLogger } from '@tidegauge/service';
import type { Alert } from '../../src/alerts/book.ts';
import { Channel, type Notice } from '../../src/alerts/channel.ts';
import { keyOf, signature, webhook } from '../../src/alerts/webhook.ts';

const WAIT = { timeoutMs: 30_000 };
const SECRET = 'a-secret-of-some-length';

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A real HTTP server that answers each request as `answer` does. */
async function startServer(
  context: TestContext,
  answer: (request: IncomingMessage, response: ServerResponse, number: number) => void,
) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    received.push({ headers: request.headers, body });
    answer(request, response, received.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const ids = () => received.map(({ headers }) => headers['webhook-id']);
  return { url: `http://127.0.0.1:${port}/hook`, port, received, ids };
}

function status(code: number) {
  return (_request: IncomingMessage, response: ServerResponse) => void response.writeHead(code).end();
}

function notice(n: number, more: Partial<Alert> = {}): Notice {
  const alert: Alert = {
    id: n.toString(16).padStart(24, '0'),
    rule: 'hot',
    severity: 'warning',
    kind: 'above',
    device: 'site/a',
    metric: 't',
    limit: 30,
    value: 31,
    since: now(),
    raised: now(),
    ended: null,
    reason: null,
    due: [],
    ...more,
  };
  return { event: alert.ended === null ? 'raised' : 'ended', alert };
}

function channelTo(url: string, secret: string | null = SECRET) {
  const done: string[] = [];
  const channel = new Channel(
    {
      name: 'webhook',
      version: '',
      send: webhook({ url, secret }),
      onDone: ({ alert }) => void done.push(alert.id.replace(/^0+/, '')),
      logger: createLogger('test', 'silent'),
      firstDelayMs: 5,
    },
    now,
  );
  return { channel, done };
}

test('a signature is that of Standard Webhooks', () => {
  // The test vector of the reference libraries.
  const key = keyOf('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
  assert.equal(
    signature(key, 'msg_p5jXN8AQM9LWM0D4loKWxJek', '1614265330', '{"test": 2432232314}'),
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  );
  assert.throws(() => keyOf('short'), ConfigError);
  assert.throws(() => keyOf('whsec_c2hvcnQ='), ConfigError);
});

test('a message has the alert, a stable identifier, a signature and the login of the URL', async (context) => {
  const server = await startServer(context, status(204));
  const { channel, done } = channelTo(server.url.replace('//', '//user:p%40ss@'));
  channel.push(notice(1));
  channel.push(notice(1, { ended: now(), reason: 'cleared' }));
  await waitUntil('both', () => done.length === 2, WAIT);
  assert.deepEqual(server.ids(), [`${'1'.padStart(24, '0')}.raised`, `${'1'.padStart(24, '0')}.ended`]);
  const { headers, body } = server.received[1]!;
  const { type, timestamp, data } = JSON.parse(body);
  assert.equal(type, 'alert.ended');
  assert.ok(Math.abs(Date.parse(timestamp) - Date.now()) < 60_000);
  assert.deepEqual([data.rule, data.state, data.reason, data.value], ['hot', 'ended', 'cleared', 31]);
  assert.equal(data.due, undefined);
  const [id, seconds] = [String(headers['webhook-id']), String(headers['webhook-timestamp'])];
  assert.equal(headers['webhook-signature'], signature(Buffer.from(SECRET), id, seconds, body));
  assert.equal(headers.authorization, `Basic ${Buffer.from('user:p@ss').toString('base64')}`);
  assert.deepEqual(channel.counts, { sent: 2, failed: 0, dropped: 0 });
});

test('an unavailable or failing server gets the messages later, each once and in order', async (context) => {
  const server = await startServer(context, (_request, response, number) => {
    if (number === 1) response.destroy();
    else response.writeHead(number < 4 ? 503 : 200).end('x'.repeat(1000));
  });
  const { channel, done } = channelTo(server.url);
  for (const n of [1, 2, 3]) channel.push(notice(n));
  await waitUntil('all', () => done.length === 3, WAIT);
  assert.deepEqual(done, ['1', '2', '3']);
  assert.equal(server.received.length, 6);
  assert.equal(new Set(server.ids().slice(0, 4)).size, 1, 'attempts have one identifier');
  assert.deepEqual([channel.counts.sent, channel.counts.failed, channel.waiting], [3, 3, 0]);
});

test('a server that hangs is left after five seconds, and one that sends without end is too', async (context) => {
  const server = await startServer(context, (_request, response, number) => {
    if (number === 1) return;
    if (number > 2) return void response.writeHead(200).end();
    response.writeHead(200);
    const more = () => response.destroyed || response.write('x'.repeat(65_536), more);
    more();
  });
  const { channel, done } = channelTo(server.url);
  const begun = performance.now();
  channel.push(notice(1));
  await waitUntil('the message', () => done.length === 1, WAIT);
  assert.equal(server.received.length, 3);
  const endless = await startServer(context, (_request, response) => {
    response.end(Buffer.alloc(1024 * 1024));
  });
  const send = webhook({ url: `${endless.url}?key=hidden`, secret: null });
  await assert.rejects(send(notice(1), new AbortController().signal), (error: Error) => {
    assert.match(error.message, /the answer of its URL is longer than/);
    return true;
  });
  assert.ok(performance.now() - begun < 15_000);
});

test('a redirect is not followed, and a message that is refused is given up without blocking others', async (context) => {
  const other = await startServer(context, status(200));
  const server = await startServer(context, (request, response) => {
    const isFirst = String(request.headers['webhook-id']).startsWith(`${'1'.padStart(24, '0')}.`);
    if (isFirst) response.writeHead(404).end();
    else response.writeHead(307, { Location: other.url }).end();
  });
  const { channel, done } = channelTo(server.url);
  channel.push(notice(1));
  channel.push(notice(2));
  await waitUntil('the end of the first', () => done.length === 1, WAIT);
  await waitUntil('attempts of the second', () => channel.counts.failed > 8, WAIT);
  channel.clear();
  assert.equal(channel.counts.dropped, 1);
  assert.equal(server.ids().filter((id) => id === `${'1'.padStart(24, '0')}.raised`).length, 5);
  assert.equal(other.received.length, 0, 'the target of the redirect receives nothing');
});

test('a client with many messages delays no other, and loses its own', async () => {
  const sent: string[] = [];
  const turns: (() => void)[] = [];
  const channel = new Channel(
    {
      name: 'webhook',
      version: '',
      send: ({ alert }) => {
        sent.push(alert.device);
        return new Promise((resolve) => turns.push(resolve));
      },
      onDone: () => {},
      logger: createLogger('test', 'silent'),
    },
    now,
  );
  for (let n = 0; n < 2500; n++) channel.push(notice(n, { device: `greedy/${n}` }));
  for (let n = 0; n < 3; n++) channel.push(notice(n, { device: `honest/${n}` }));
  assert.deepEqual([channel.waiting, channel.counts.dropped], [2000, 503]);
  for (let n = 0; n < 7; n++) {
    await waitUntil('the next one', () => turns.length > n, WAIT);
    turns[n]!();
  }
  const others = sent.filter((device) => device.startsWith('honest'));
  assert.deepEqual(others, ['honest/0', 'honest/1', 'honest/2']);
  channel.clear();
});

test('messages that wait are bounded in number and in age', async () => {
  const never = new Promise<void>(() => {});
  const dropped: number[] = [];
  let clock = now();
  const channel = new Channel(
    {
      name: 'webhook',
      version: '',
      send: () => never,
      onDone: ({ alert }) => void dropped.push(Number.parseInt(alert.id, 16)),
      logger: createLogger('test', 'silent'),
    },
    () => clock,
  );
  for (let n = 0; n < 2500; n++) channel.push(notice(n));
  assert.deepEqual([channel.waiting, channel.counts.dropped], [2000, 500]);
  // The first is under way.
  assert.deepEqual(
    dropped,
    Array.from({ length: 500 }, (_, n) => n + 1),
  );
  clock += 3600e6;
  assert.ok(channel.oldestSeconds > 3590, `${channel.oldestSeconds}`);
  channel.clear();
  assert.deepEqual([channel.waiting, channel.oldestSeconds], [0, 0]);
  const failing = new Channel(
    {
      name: 'webhook',
      version: '',
      send: () => Promise.reject(new Error('away')),
      onDone: () => {},
      logger: createLogger('test', 'silent'),
      firstDelayMs: 1,
    },
    () => clock + 25 * 3600e6,
  );
  failing.push(notice(1));
  await waitUntil('the end', () => failing.counts.dropped === 1, WAIT);
});

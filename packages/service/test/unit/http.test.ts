import assert from 'node:assert/strict';
import type { EventEmitter } from 'node:events';
import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { ConfigError, createLogger, listen, notFound, Problem, problemHandler } from '@tidegauge/service';
import express from 'express';
import { pino } from 'pino';

function app() {
  const built = express();
  built.get('/refused', () => {
    throw new Problem(429, 'Too many', 'Slow down.', {
      retryAfter: 3,
      errors: [{ path: '/n', message: 'too many' }],
    });
  });
  built.get('/broken', () => {
    throw new Error('secret detail');
  });
  built.post('/body', express.json({ limit: 10 }), (_request, response) => void response.send('ok'));
  built.use(notFound, problemHandler(createLogger('test', 'silent')));
  return built;
}

test('an error of a handler is answered with a problem document', async () => {
  const server = await listen(app(), '127.0.0.1', 0, '--port');
  try {
    const refused = await fetch(`${server.url}/refused`);
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get('content-type'), 'application/problem+json; charset=utf-8');
    assert.equal(refused.headers.get('retry-after'), '3');
    assert.deepEqual(await refused.json(), {
      type: 'about:blank',
      status: 429,
      title: 'Too many',
      detail: 'Slow down.',
      errors: [{ path: '/n', message: 'too many' }],
      instance: '/refused',
    });
    const broken = await fetch(`${server.url}/broken`);
    assert.equal(broken.status, 500);
    assert.doesNotMatch(await broken.text(), /secret detail/);
    assert.equal((await fetch(`${server.url}/nowhere`)).status, 404);
    const headers = { 'content-type': 'application/json' };
    const large = await fetch(`${server.url}/body`, { method: 'POST', headers, body: '"0123456789abc"' });
    assert.equal(large.status, 413);
  } finally {
    await server.close(0);
  }
});

test('a failure that repeats is logged once, and another one is logged too', async () => {
  const lines: { err: { message: string }; path: string }[] = [];
  const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const built = express();
  built.get('/down/:n', () => {
    throw new Error('the store is unavailable');
  });
  built.get('/other', () => {
    throw new TypeError('a defect');
  });
  built.use(problemHandler(logger));
  const server = await listen(built, '127.0.0.1', 0, '--port');
  try {
    for (let n = 0; n < 5; n++) assert.equal((await fetch(`${server.url}/down/${n}`)).status, 500);
    assert.equal((await fetch(`${server.url}/other`)).status, 500);
    const logged = lines.map(({ err, path }) => `${path} ${err.message}`);
    assert.deepEqual(logged, ['/down/0 the store is unavailable', '/other a defect']);
  } finally {
    await server.close(0);
  }
});

test('an error after the answer has begun is logged and not printed, and cuts the answer off', async (t) => {
  const lines: string[] = [];
  const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line).err.message) });
  const printed = t.mock.method(console, 'error', () => {});
  const built = express();
  built.get('/half', (_request, response) => {
    response.write('half of an answer');
    throw new Error('the store is unavailable');
  });
  built.post('/refused', (_request, response) => {
    response.status(503).end('busy');
    throw Object.assign(new Error('too large'), { status: 413, expose: true });
  });
  built.use(problemHandler(logger));
  const server = await listen(built, '127.0.0.1', 0, '--port');
  try {
    await assert.rejects(fetch(`${server.url}/half`).then((answer) => answer.text()));
    assert.equal((await fetch(`${server.url}/refused`, { method: 'POST' })).status, 503);
    assert.deepEqual(lines, ['the store is unavailable']);
    assert.equal(printed.mock.callCount(), 0);
  } finally {
    await server.close(0);
  }
});

test('a port in use is a configuration mistake, and the message names the flag to change', async () => {
  const first = await listen(app(), '127.0.0.1', 0, '--port');
  try {
    await assert.rejects(listen(app(), '127.0.0.1', first.port, '--port'), (error: unknown) => {
      assert.ok(error instanceof ConfigError);
      assert.match(
        error.message,
        new RegExp(`port ${first.port} on 127.0.0.1 is taken: choose another with --port`),
      );
      return true;
    });
  } finally {
    await first.close(0);
  }
});

test('an error of the listening socket is reported, and the server continues', async (context) => {
  const servers = new Set<EventEmitter>();
  const remember: RequestListener = ({ socket }, response) => {
    servers.add((socket as Socket & { server: EventEmitter }).server);
    response.end('ok');
  };
  const server = await listen(remember, '127.0.0.1', 0, '--port');
  context.after(() => server.close(0));
  await fetch(server.url);
  const warnings: string[] = [];
  const onWarning = ({ message }: Error) => warnings.push(message);
  process.on('warning', onWarning);
  context.after(() => process.off('warning', onWarning));
  const [real] = servers;
  for (let error = 0; error < 3; error++) real!.emit('error', new Error('accept EMFILE'));
  assert.equal((await fetch(server.url)).status, 200);
  assert.deepEqual(warnings, ['the HTTP server could not accept a connection: accept EMFILE']);
});

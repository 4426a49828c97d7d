import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  createLogger,
  createServiceApp,
  listen,
  Metrics,
  type ReadinessChecks,
  type ServiceAppOptions,
  type ServiceOperation,
} from '@tidegauge/service';
import type { RequestHandler } from 'express';

const LISTEN = '127.0.0.1';

const show: RequestHandler = (_request, response) => void response.json({ thing: 1 });
const change: RequestHandler = (_request, response) => void response.status(202).end();
const OPERATIONS: readonly ServiceOperation[] = [
  { id: 'getThing', method: 'get', path: '/thing', scope: 'read', handlers: [show] },
  { id: 'changeThing', method: 'post', path: '/thing', scope: 'write', handlers: [change] },
];

async function start(
  context: TestContext,
  checks: ReadinessChecks,
  more: Pick<ServiceAppOptions, 'operations' | 'token' | 'corsOrigins'> = {},
): Promise<string> {
  const app = createServiceApp({
    listen: LISTEN,
    logger: createLogger('test', 'silent'),
    metrics: new Metrics(),
    checks,
    timeoutMs: 50,
    ...more,
  });
  const server = await listen(app, LISTEN, 0, '--port');
  context.after(() => server.close(0));
  return server.url;
}

test('a ready service answers 200 on health, readiness and metrics', async (context) => {
  const url = await start(context, { store: () => null });
  for (const path of ['/healthz', '/readyz']) {
    const response = await fetch(`${url}${path}`);
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), { status: 'ok' });
  }
  const metrics = await fetch(`${url}/metrics`);
  assert.equal(metrics.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  assert.match(await metrics.text(), /^process_cpu_seconds_total /m);
});

test('while a store hangs, readiness answers 503 with the reason, and health answers 200', async (context) => {
  const url = await start(context, { 'the store': () => new Promise(() => {}) });
  const response = await fetch(`${url}/readyz`);
  assert.equal(response.status, 503);
  assert.equal(response.headers.get('retry-after'), '5');
  assert.deepEqual(await response.json(), {
    type: 'about:blank',
    status: 503,
    title: 'Not ready',
    detail: 'the store did not answer within 50 ms',
    instance: '/readyz',
  });
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
});

test('own operations need the token for changes only, and an unknown path is a problem document', async (context) => {
  const token = 'a-long-random-token';
  const url = await start(context, {}, { operations: OPERATIONS, token });
  assert.equal((await fetch(`${url}/thing`)).status, 200);
  assert.equal((await fetch(`${url}/thing`, { method: 'POST' })).status, 401);
  const headers = { authorization: `Bearer ${token}` };
  assert.equal((await fetch(`${url}/thing`, { method: 'POST', headers })).status, 202);
  const nowhere = await fetch(`${url}/nowhere`);
  assert.equal(nowhere.status, 404);
  assert.equal(nowhere.headers.get('content-type'), 'application/problem+json; charset=utf-8');
});

test('every answer has the security headers, and pages of the listed origins may use the service', async (context) => {
  const corsOrigins = ['https://app.example.org'];
  const url = await start(context, {}, { operations: OPERATIONS, token: null, corsOrigins });
  for (const path of ['/healthz', '/thing', '/metrics', '/nowhere']) {
    const { headers } = await fetch(`${url}${path}`);
    assert.equal(headers.get('x-content-type-options'), 'nosniff', path);
    assert.match(headers.get('content-security-policy') ?? '', /default-src 'self'/, path);
    assert.equal(headers.get('x-powered-by'), null, path);
  }
  const post = (origin: string) => fetch(`${url}/thing`, { method: 'POST', headers: { origin } });
  assert.equal((await post('https://evil.example')).status, 403);
  const allowed = await post('https://app.example.org');
  assert.deepEqual(
    [allowed.status, allowed.headers.get('access-control-allow-origin')],
    [202, 'https://app.example.org'],
  );
});

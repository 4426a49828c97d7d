import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  createLogger,
  createServiceApp,
  listen,
  Metrics,
  type ReadinessChecks,
  type ServiceAppOptions,
} from '@tidegauge/service';
import { Router } from 'express';

const LISTEN = '127.0.0.1';

async function start(
  context: TestContext,
  checks: ReadinessChecks,
  more: Pick<ServiceAppOptions, 'routes' | 'token'> = {},
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

test('own routes need the token for changes only, and an unknown path is a problem document', async (context) => {
  const routes = Router();
  routes.get('/thing', (_request, response) => void response.json({ thing: 1 }));
  routes.post('/thing', (_request, response) => void response.status(202).end());
  const token = 'a-long-random-token';
  const url = await start(context, {}, { routes, token });
  assert.equal((await fetch(`${url}/thing`)).status, 200);
  assert.equal((await fetch(`${url}/thing`, { method: 'POST' })).status, 401);
  const headers = { authorization: `Bearer ${token}` };
  assert.equal((await fetch(`${url}/thing`, { method: 'POST', headers })).status, 202);
  const nowhere = await fetch(`${url}/nowhere`);
  assert.equal(nowhere.status, 404);
  assert.equal(nowhere.headers.get('content-type'), 'application/problem+json; charset=utf-8');
});

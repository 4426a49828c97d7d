import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  changeKeys,
  createLogger,
  createServiceApp,
  listen,
  Metrics,
  newKey,
  openAccess,
} from '../../../src/index.ts';

test('a key at its limit gets 429, and other keys, the token and addresses are not affected', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-limits-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const apiKeys = join(folder, 'keys.json');
  const [one, two] = ['one', 'two'].map((name) =>
    newKey({ name, scopes: ['read'], devices: null, expires: null }, Date.now()),
  ) as [ReturnType<typeof newKey>, ReturnType<typeof newKey>];
  changeKeys(apiKeys, () => [one.key, two.key]);
  const logger = createLogger('test', 'silent');
  const metrics = new Metrics();
  const token = 'a-long-random-token';
  const access = openAccess(
    { httpListen: '0.0.0.0', token, variable: 'HTTP_TOKEN', apiKeys, clientRate: 5 },
    logger,
    metrics,
  );
  t.after(() => access.close());
  const app = createServiceApp({ listen: '0.0.0.0', logger, metrics, checks: {}, access });
  const server = await listen(app, '0.0.0.0', 0, 'PORT');
  t.after(() => server.close(0));
  const send = (credential: string) =>
    new Promise<{ status: number; retryAfter: number; type: string }>((resolve, reject) => {
      const headers = { Authorization: `Bearer ${credential}` };
      request({ host: '127.0.0.1', port: server.port, path: '/metrics', headers }, (response) => {
        response.resume();
        const { 'retry-after': retryAfter, 'content-type': type = '' } = response.headers;
        resolve({ status: response.statusCode!, retryAfter: Number(retryAfter), type });
      })
        .on('error', reject)
        .end();
    });
  const statuses = async (credential: string, count: number) => {
    const found: number[] = [];
    for (let index = 0; index < count; index++) found.push((await send(credential)).status);
    return found;
  };
  const first = await statuses(one.text, 30);
  assert.deepEqual(first.slice(0, 10), new Array(10).fill(200));
  assert.ok(first.includes(429));
  const { retryAfter, type } = await send(one.text);
  assert.equal(retryAfter, 1);
  assert.match(type, /problem\+json/);
  assert.deepEqual(await statuses(two.text, 10), new Array(10).fill(200));
  assert.deepEqual(await statuses(token, 50), new Array(50).fill(200));
  assert.match(await metrics.text(), /login_failures_total\{reason="limit"\} \d\d/);
});

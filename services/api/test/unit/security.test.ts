import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { type Api, startApi } from '../harness.ts';

/** The status of a request whose headers fetch would not send. */
function status(api: Api, method: string, path: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(api.url + path, { method, headers }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    });
    sent.on('error', reject).end();
  });
}

test('on loopback only local host names are served, to prevent DNS rebinding', async (t) => {
  const api = await startApi(t);
  for (const host of ['localhost:8080', '127.0.0.1', '[::1]:8080', 'LOCALHOST']) {
    assert.equal(await status(api, 'GET', '/healthz', { Host: host }), 200, host);
  }
  for (const host of [
    'evil.example',
    'evil.example:8080',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
  ]) {
    assert.equal(await status(api, 'GET', '/healthz', { Host: host }), 421, host);
  }
});

test('a page of another site can change nothing, and the live page can', async (t) => {
  const api = await startApi(t);
  await api.store.devices.register(['a']);
  const { host } = new URL(api.url);
  for (const origin of ['https://evil.example', 'null', `https://${host}.evil.example`]) {
    assert.equal(await status(api, 'DELETE', '/v1/devices/a', { Host: host, Origin: origin }), 403, origin);
  }
  assert.equal(await status(api, 'DELETE', '/v1/devices/a', { Host: host, Origin: `http://${host}` }), 204);
});

test('beyond loopback, a change needs the token, and reading does too unless reads are open', async (t) => {
  const token = 'a-long-and-random-token';
  const api = await startApi(t, { config: { httpListen: '0.0.0.0', apiToken: token } });
  assert.equal(await status(api, 'GET', '/v1/devices', { Host: '192.0.2.7:8080' }), 401);
  const open = await startApi(t, { config: { httpListen: '0.0.0.0', apiToken: token, openReads: true } });
  assert.equal(await status(open, 'GET', '/v1/devices', { Host: '192.0.2.7' }), 200);
  for (const authorization of ['', 'Bearer', 'Bearer wrong', `Basic ${token}`, `Bearer ${token}x`]) {
    const answer = await api.call('DELETE', '/v1/devices/a', { headers: { Authorization: authorization } });
    assert.equal(answer.status, 401, authorization);
    assert.match(answer.headers.get('WWW-Authenticate')!, /^Bearer/);
  }
  const answer = await api.call('DELETE', '/v1/devices/a', { headers: { Authorization: `Bearer ${token}` } });
  assert.equal(answer.status, 404);
});

test('every answer has headers against foreign code, and none that names the server', async (t) => {
  const api = await startApi(t);
  for (const path of [
    '/',
    '/docs',
    '/docs/try',
    '/openapi.json',
    '/v1/devices',
    '/nowhere',
    '/vendor/uplot/uPlot.iife.min.js',
  ]) {
    const { headers } = await api.call('GET', path);
    assert.match(headers.get('Content-Security-Policy')!, /default-src 'self'/, path);
    assert.equal(headers.get('X-Content-Type-Options'), 'nosniff', path);
    assert.equal(headers.get('X-Powered-By'), null, path);
  }
});

test('the page at /docs/try can use inline styles, and runs scripts of this server only', async (t) => {
  const api = await startApi(t);
  const { headers } = await api.call('GET', '/docs/try');
  const policy = headers.get('Content-Security-Policy')!;
  assert.match(policy, /style-src 'self' 'unsafe-inline'/);
  assert.doesNotMatch(policy, /script-src|unsafe-eval|https?:/);
  const reference = await api.call('GET', '/docs');
  assert.doesNotMatch(reference.headers.get('Content-Security-Policy')!, /unsafe/);
});

test('files outside the page’s folder are not served', async (t) => {
  const api = await startApi(t);
  for (const path of [
    '/../src/app.ts',
    '/%2e%2e/src/app.ts',
    '/vendor/uplot/../../package.json',
    '/vendor/uplot/..%2fpackage.json',
    '/vendor/swagger-ui/package.json',
    '/docs/../../src/app.ts',
    '/docs/%2e%2e/%2e%2e/src/app.ts',
  ]) {
    const found = await status(api, 'GET', path, { Host: 'localhost' });
    assert.ok(found === 404 || found === 403 || found === 400, `${path}: ${found}`);
  }
});

test('other methods of a path get 405 with the allowed ones, and HEAD is answered', async (t) => {
  const api = await startApi(t);
  const answer = await api.call('PUT', '/v1/readings', { body: {} });
  assert.equal(answer.status, 405);
  assert.deepEqual(answer.headers.get('Allow')!.split(', ').sort(), ['DELETE', 'GET', 'POST']);
  const head = await api.call('HEAD', '/v1/devices');
  assert.equal(head.status, 200);
  assert.equal(head.body, '');
});

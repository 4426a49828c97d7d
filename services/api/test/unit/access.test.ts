import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import * as jose from 'jose';
import { startApi } from '../harness.ts';

const TOKEN = 'a-long-and-random-token';
const LOGIN = { Authorization: `Bearer ${TOKEN}` };
const APP = 'https://app.example.org';

test('a token of an OIDC provider reads and writes as its claims say, through every path', async (t) => {
  const { privateKey, publicKey } = await jose.generateKeyPair('RS256');
  const jwk = { ...(await jose.exportJWK(publicKey)), kid: 'a', alg: 'RS256' };
  let isUp = true;
  const provider = createServer((_request, response) => {
    response.writeHead(isUp ? 200 : 500).end(JSON.stringify({ keys: [jwk] }));
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  t.after(() => provider.close());
  const issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  const oidc = {
    oidcIssuer: issuer,
    oidcAudience: ['gauge'],
    oidcJwks: `${issuer}/keys`,
    oidcDevicesClaim: 'site',
  };
  const api = await startApi(t, { config: { httpListen: '0.0.0.0', ...oidc } });
  const sign = async (claims: object) => {
    const jwt = new jose.SignJWT({ iss: issuer, aud: 'gauge', sub: 'ada', site: '*', ...claims });
    const text = await jwt
      .setProtectedHeader({ alg: 'RS256', kid: 'a' })
      .setExpirationTime('5m')
      .sign(privateKey);
    return { Authorization: `Bearer ${text}` };
  };
  isUp = false;
  const reader = await sign({ scope: 'openid tidegauge:read' });
  const early = await api.call('GET', '/v1/devices', { headers: reader });
  assert.deepEqual([early.status, early.headers.get('Retry-After')], [503, '10']);
  isUp = true;
  const fresh = await startApi(t, { config: { httpListen: '0.0.0.0', ...oidc } });
  const status = async (method: string, path: string, headers: Record<string, string>, body?: unknown) =>
    (await fresh.call(method, path, { headers, body })).status;
  assert.equal(await status('GET', '/v1/devices', reader), 200);
  assert.equal(await status('PUT', '/v1/devices/a', reader, {}), 403);
  const admin = await sign({ scope: 'tidegauge:admin' });
  assert.equal(await status('PUT', '/v1/records/t', admin, { fieldCount: 1 }), 204);
  // The second request is answered by the fast lane.
  for (const key of ['a', 'b']) {
    assert.equal(await status('PUT', `/v1/records/t/${key}`, admin, { fields: { field0: 'x' } }), 201);
    assert.equal(await status('GET', `/v1/records/t/${key}`, reader), 200);
    assert.equal(await status('PUT', `/v1/records/t/${key}x`, reader, { fields: { field0: 'x' } }), 403);
  }
  const limited = await sign({ scope: 'tidegauge:write', site: 'site-3' });
  assert.equal(await status('PUT', '/v1/devices/site-3/a', limited, {}), 201);
  assert.equal(await status('PUT', '/v1/devices/site-4', limited, {}), 403);
  assert.equal(
    await status('GET', '/v1/devices', await sign({ aud: 'other', scope: 'tidegauge:read' })),
    401,
  );
  assert.equal(
    await status('GET', '/v1/devices', await sign({ site: undefined, scope: 'tidegauge:read' })),
    401,
  );
  const { body } = await fresh.call('GET', '/v1/audit', { headers: admin });
  assert.deepEqual([body.entries[0].kind, body.entries[0].sender], ['oidc', 'ada']);
});

test('every change by a sender with a login is in the audit, refused ones too, without secrets', async (t) => {
  const api = await startApi(t, { config: { httpListen: '0.0.0.0', apiToken: TOKEN } });
  const send = (method: string, path: string, body?: unknown) =>
    api.call(method, path, { body, headers: LOGIN });
  await send('PUT', '/v1/devices/site-3', { city: 'secret-in-a-body' });
  await send('PATCH', '/v1/devices?city=Faro', { year: 2019 });
  await send('DELETE', '/v1/devices/nowhere');
  await send('PUT', '/v1/records/t', { fieldCount: 1 });
  for (const key of ['a', 'b', 'c']) await send('PUT', `/v1/records/t/${key}`, { fields: { field0: 'x' } });
  await send('GET', '/v1/devices');
  await api.call('PUT', '/v1/devices/site-3', { body: {} });
  const { body } = await send('GET', '/v1/audit?limit=10');
  const shown = body.entries.map((each: Record<string, unknown>) => [
    each.action,
    each.resource,
    each.outcome,
  ]);
  assert.deepEqual(shown.reverse(), [
    ['putDevice', '/v1/devices/site-3', 'done'],
    ['updateDevices', '/v1/devices?city=Faro', 'done'],
    ['deleteDevice', '/v1/devices/nowhere', 'refused'],
    ['createRecordTable', '/v1/records/t', 'done'],
    ['insertRecord', '/v1/records/t/a', 'done'],
  ]);
  assert.doesNotMatch(JSON.stringify(body), /secret|random-token/);
});

test('pages of the listed origins may use the API with a key, and others may not', async (t) => {
  const api = await startApi(t, {
    config: { httpListen: '0.0.0.0', apiToken: TOKEN, corsOrigins: [APP] },
  });
  const preflight = (origin: string) =>
    fetch(`${api.url}/v1/devices/a`, {
      method: 'OPTIONS',
      headers: { Origin: origin, 'Access-Control-Request-Method': 'PUT' },
    });
  const allowed = await preflight(APP);
  assert.equal(allowed.status, 204);
  assert.equal(allowed.headers.get('Access-Control-Allow-Origin'), APP);
  assert.match(allowed.headers.get('Access-Control-Allow-Headers')!, /Authorization/);
  assert.equal(allowed.headers.get('Access-Control-Allow-Credentials'), null);
  assert.match(allowed.headers.get('Vary')!, /Origin/);
  const put = (origin: string, headers: object = LOGIN) =>
    api.call('PUT', '/v1/devices/a', { body: {}, headers: { Origin: origin, ...headers } });
  const done = await put(APP);
  assert.deepEqual([done.status, done.headers.get('Access-Control-Allow-Origin')], [201, APP]);
  for (const origin of [
    'https://evil.example',
    `${APP}.evil.example`,
    'https://app.example.org:444',
    'http://app.example.org',
    'null',
  ]) {
    const refused = await preflight(origin);
    assert.notEqual(refused.status, 204, origin);
    const answer = await put(origin);
    assert.deepEqual([answer.status, answer.headers.get('Access-Control-Allow-Origin')], [403, null], origin);
  }
  // A read of the lane has the headers too.
  await api.call('PUT', '/v1/records/t', { body: { fieldCount: 1 }, headers: LOGIN });
  await api.call('PUT', '/v1/records/t/k', { body: { fields: { field0: 'x' } }, headers: LOGIN });
  const read = await api.call('GET', '/v1/records/t/k', { headers: { Origin: APP, ...LOGIN } });
  assert.deepEqual([read.status, read.headers.get('Access-Control-Allow-Origin')], [200, APP]);
  // The cookie of a session does not count for another site.
  const session = await api.call('POST', '/v1/session', { headers: LOGIN });
  const cookie = {
    Cookie: session.headers.get('Set-Cookie')!.split(';')[0],
    'X-CSRF-Token': session.body.csrf,
  };
  assert.equal((await put(APP, cookie)).status, 401);
});

test('foreign host names are refused beyond loopback too, also for the fast lane', async (t) => {
  const { request } = await import('node:http');
  const config = { httpListen: '0.0.0.0', apiToken: TOKEN, allowedHosts: ['gauge.example'] };
  const api = await startApi(t, { config });
  const status = (path: string, host: string) =>
    new Promise((resolve, reject) => {
      request(api.url + path, { headers: { ...LOGIN, Host: host } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', reject)
        .end();
    });
  for (const path of ['/v1/devices', '/v1/records/t/k', '/', '/healthz', '/metrics']) {
    assert.equal(await status(path, 'evil.example'), 421, path);
    assert.notEqual(await status(path, 'gauge.example:8080'), 421, path);
    assert.notEqual(await status(path, '192.0.2.7:8080'), 421, path);
  }
});

test('wrong tokens sent to GET /v1/session count as failed logins', async (t) => {
  const api = await startApi(t, { config: { httpListen: '0.0.0.0', apiToken: TOKEN } });
  const session = (token: string) =>
    api.call('GET', '/v1/session', { headers: { Authorization: `Bearer ${token}` } });
  for (let n = 0; n < 10; n += 1) assert.equal((await session(`a-wrong-token-${n}`)).body.sender, null);
  assert.notEqual((await session(TOKEN)).body.sender, null);
  const get = (headers: object) => api.call('GET', '/v1/devices', { headers: { ...headers } });
  assert.equal((await get({ Authorization: 'Bearer a-wrong-token' })).status, 429);
  assert.equal((await get(LOGIN)).status, 200);
});

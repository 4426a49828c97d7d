import assert from 'node:assert/strict';
import { generateKeyPairSync, sign as signBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEmbeddedBroker } from '@tidegauge/lab';
import { changeKeys, newKey, SCOPES, type Scope } from '@tidegauge/service';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';
import { storedReadings } from '../integration/helpers.ts';

// Who may do what at ingest's port. services/api/test/unit/keys.test.ts tests the same of the API.

const TOKEN = 'a-long-and-random-token';
const ADDED = { route: { topic: 'added/{device}' } };
const RELAYED = { version: 1, board: 'a-board-of-the-test', name: 'board', backlogBytes: 0, lagSeconds: 0 };

/** Every operation of the port with its scope. The live feed does not end; its request is ended after the status. */
const REQUESTS: readonly (readonly [scope: Scope, method: string, path: string, body?: string])[] = [
  ['read', 'GET', '/metrics'],
  ['read', 'GET', '/ledger'],
  ['read', 'GET', '/routes'],
  ['read', 'GET', '/quarantine'],
  ['read', 'GET', '/quarantine/1'],
  ['read', 'GET', '/alerts'],
  ['read', 'GET', '/live'],
  ['write', 'POST', '/readings?device=site-3/a&metric=m', '1'],
  ['write', 'POST', '/lines?db=site-3', 'm v=1'],
  ['write', 'POST', '/explain', '{"topic": "sensors/a/m", "payload": "1"}'],
  ['admin', 'GET', '/quarantine/causes'],
  // As Express compares paths, this is the same operation.
  ['admin', 'GET', '/Quarantine/CAUSES/'],
  ['admin', 'GET', '/passwords'],
  ['read', 'GET', '/retention'],
  ['admin', 'PUT', '/retention', '{"rules": []}'],
  ['admin', 'POST', '/retention/preview', '{"rules": []}'],
  ['admin', 'POST', '/passwords', '{"user": "a", "password": "b"}'],
  ['admin', 'DELETE', '/passwords?user=a'],
  ['admin', 'POST', '/routes', JSON.stringify(ADDED)],
  ['admin', 'POST', '/routes/reload'],
  ['admin', 'POST', '/quarantine/replay'],
  ['admin', 'POST', '/quarantine/discard'],
  ['admin', 'POST', '/quarantine/1/replay'],
  ['admin', 'DELETE', '/quarantine/1'],
  ['write', 'POST', '/relay', JSON.stringify(RELAYED)],
  ['read', 'GET', '/v1/relay'],
  ['admin', 'POST', '/relay/compare'],
  ['admin', 'DELETE', '/v1/relay/boards/1'],
];
/** Requests that a key of some devices may send. */
const OF_DEVICES = new Set(['/readings', '/lines', '/alerts', '/relay']);

async function setUp(context: TestContext, env: Readonly<Record<string, string>> = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-access-'));
  const file = join(directory, 'keys.json');
  const broker = await startEmbeddedBroker({ port: 0 });
  const store = `sqlite:${join(directory, 'store.db')}`;
  const ingest = await startIngestProcess({
    STORE: store,
    BROKER: broker.url,
    DATA_DIR: directory,
    HTTP_TOKEN: TOKEN,
    API_KEYS: file,
    OPEN_READS: 'false',
    ...env,
  });
  context.after(async () => {
    await ingest.kill();
    await broker.close();
    await rm(directory, { recursive: true });
  });
  /** Makes a key; its text. */
  const add = async (
    scopes: readonly Scope[],
    devices: string | null = null,
    expires: string | null = null,
  ) => {
    const { text, key } = newKey({ name: 'test', scopes, devices, expires }, Date.now());
    changeKeys(file, (keys) => [...keys, key]);
    // An unknown key causes a look at the file at most every 50 ms.
    await sleep(60);
    return text;
  };
  const send = async (method: string, path: string, headers: object, body?: string) => {
    const abort = new AbortController();
    const response = await fetch(ingest.url + path, {
      method,
      headers: { 'Content-Type': 'text/plain', ...headers } as Record<string, string>,
      signal: abort.signal,
      ...(body === undefined ? {} : { body }),
    });
    const detail = path === '/live' ? '' : await response.text();
    abort.abort();
    return { status: response.status, headers: response.headers, detail };
  };
  return { url: ingest.url, file, store, add, send };
}

const bearer = (text: string) => ({ Authorization: `Bearer ${text}` });

test("every operation of ingest's port refuses no key, a wrong, expired or revoked one, and one of another scope", async (context) => {
  const { add, send, file } = await setUp(context);
  const keys = { read: await add(['read']), write: await add(['write']), admin: await add(['admin']) };
  const expired = await add(['admin'], null, new Date(Date.now() - 1000).toISOString());
  const limited = await add(['read', 'write'], 'site-3');
  for (const [scope, method, path, body] of REQUESTS) {
    const status = async (headers: object) => (await send(method, path, headers, body)).status;
    const name = `${method} ${path}`;
    assert.equal(await status({}), 401, name);
    assert.equal(await status(bearer(expired)), 401, name);
    for (const own of SCOPES) {
      const isAllowed = own === scope || own === 'admin';
      const found = await status(bearer(keys[own]));
      if (isAllowed) assert.ok(found !== 401 && found !== 403, `${name} with ${own}: ${found}`);
      else assert.equal(found, 403, `${name} with ${own}`);
    }
    const isOfDevices = OF_DEVICES.has(path.split('?', 1)[0]!);
    assert.equal(
      await status(bearer(limited)),
      isOfDevices ? (method === 'GET' ? 200 : 202) : 403,
      `${name} with a limit`,
    );
  }
  assert.equal((await send('GET', '/ledger', bearer(`${keys.read}0`))).status, 401);
  for (const path of ['/healthz', '/readyz']) assert.equal((await send('GET', path, {})).status, 200);
  for (const path of ['/nowhere', '/audit']) assert.equal((await send('GET', path, {})).status, 401);
  // The same key as InfluxDB's clients send it.
  const basic = `Basic ${Buffer.from(`user:${keys.write}`).toString('base64')}`;
  for (const Authorization of [`Token ${keys.write}`, basic])
    assert.equal((await send('POST', '/lines?db=a', { Authorization }, 'm v=1')).status, 202);
  changeKeys(file, (all) => all.map((key) => ({ ...key, revoked: new Date().toISOString() })));
  await sleep(1500);
  for (const key of Object.values(keys))
    assert.equal((await send('GET', '/ledger', bearer(key))).status, 401);
  assert.equal((await send('GET', '/ledger', bearer(TOKEN))).status, 200);
});

test('what a key of some devices sends to ingest is stored below its device', async (context) => {
  const { add, send, store } = await setUp(context);
  const headers = bearer(await add(['write'], 'site-3'));
  const json = { ...headers, 'Content-Type': 'application/json' };
  const time = 1_795_000_000;
  const body = JSON.stringify([{ device: 'site-4/boiler', metric: 'm', t: time, v: 1 }]);
  assert.equal((await send('POST', '/readings', json, body)).status, 202);
  assert.equal((await send('POST', '/readings?device=site-3/b', json, body)).status, 202);
  assert.equal(
    (await send('POST', '/lines?db=house&precision=s', headers, `m,host=pi v=1 ${time}`)).status,
    202,
  );
  for (const device of ['site-4', 'site-30', 'site-', 'SITE-3']) {
    for (const query of [`device=${device}`, `device=${device}&device=site-3`]) {
      const answer = await send('POST', `/readings?${query}`, json, body);
      assert.equal(answer.status, 403, query);
      assert.match(answer.detail, /limited to site-3 and the devices below it/);
      assert.equal((await send('POST', `/lines?db=a&${query}`, headers, 'm v=1')).status, 403, query);
    }
  }
  // The first of several counts, for the check and for the readings.
  assert.equal((await send('POST', '/readings?device=site-3/c&device=site-4', json, body)).status, 202);
  const count = async (device: string) => (await storedReadings(store, [device])).length;
  for (const device of ['site-3', 'site-3/b', 'site-3/c'])
    assert.equal(await count(`${device}/site-4/boiler`), 1, device);
  assert.equal(await count('site-3/house/pi'), 1);
  for (const device of ['site-4', 'site-4/boiler', 'house/pi', 'site-4/site-4/boiler'])
    assert.equal(await count(device), 0, device);
});

test("a token of an OIDC provider is accepted at ingest's port as its claims say", async (context) => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'a', alg: 'RS256' };
  const provider = createServer((_request, response) => void response.end(JSON.stringify({ keys: [jwk] })));
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  context.after(() => provider.close());
  const issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  const { send } = await setUp(context, {
    OIDC_ISSUER: issuer,
    OIDC_AUDIENCE: 'gauge',
    OIDC_JWKS: `${issuer}/keys`,
  });
  const sign = (claims: object) => {
    const parts = [
      { alg: 'RS256', kid: 'a' },
      { iss: issuer, aud: 'gauge', sub: 'ada', exp: Math.floor(Date.now() / 1000) + 300, ...claims },
    ].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
    const signature = signBytes('RSA-SHA256', Buffer.from(parts.join('.')), privateKey);
    return bearer(`${parts.join('.')}.${signature.toString('base64url')}`);
  };
  const reader = sign({ scope: 'tidegauge:read' });
  assert.equal((await send('GET', '/ledger', reader)).status, 200);
  assert.equal((await send('POST', '/quarantine/discard', reader)).status, 403);
  const admin = sign({ scope: 'tidegauge:admin' });
  assert.equal((await send('POST', '/quarantine/discard', admin)).status, 200);
  const other = sign({ scope: 'tidegauge:admin', aud: 'other' });
  assert.equal((await send('GET', '/ledger', other)).status, 401);
});

test("ingest's port limits clients, and refuses foreign pages and names", async (context) => {
  const app = 'https://app.example.org';
  const { add, send, url } = await setUp(context, { CLIENT_RATE: '5', CORS_ORIGINS: app });
  const headers = bearer(await add(['admin']));
  const discard = (origin: string) => send('POST', '/quarantine/discard', { ...headers, Origin: origin });
  assert.equal((await discard('https://evil.example')).status, 403);
  const allowed = await discard(app);
  assert.deepEqual([allowed.status, allowed.headers.get('Access-Control-Allow-Origin')], [200, app]);
  assert.equal(allowed.headers.get('X-Content-Type-Options'), 'nosniff');
  const host = await new Promise((resolve, reject) => {
    const options = { headers: { Host: 'evil.example', ...headers } };
    request(`${url}/ledger`, options, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end();
  });
  assert.equal(host, 421);
  const statuses = await Promise.all(
    Array.from({ length: 40 }, async () => (await send('GET', '/ledger', headers)).status),
  );
  assert.ok(statuses.includes(429), String(statuses));
  assert.equal((await send('GET', '/ledger', bearer(TOKEN))).status, 200, 'other clients are not affected');
});

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { test } from 'node:test';
import { Cursors } from '../../src/cursor.ts';
import { IngestClient } from '../../src/ingest-client.ts';
import { type Answer, type Api, reading, startApi } from '../harness.ts';

/** The answer to bytes that no HTTP client would send. */
function raw(api: Api, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1', () => socket.write(request));
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('close', () => resolve(text)).on('error', reject);
  });
}

/** Checks for a problem document whose text does not come from a driver or from this code. */
function assertRefused(answer: Answer, what: string, status = 400): void {
  assert.equal(answer.status, status, `${what}: ${JSON.stringify(answer.body)}`);
  assert.match(answer.headers.get('Content-Type')!, /^application\/problem\+json/, what);
  assert.doesNotMatch(answer.body.detail, /sqlite|postgres|TypeError|undefined|at .*\.ts/i, what);
}

const DEVICE = 'device=site-3/boiler/probe-7';

test('a bucket of any length is answered', async (t) => {
  const api = await startApi(t);
  await api.store.readings.write([reading(1)]);
  for (const bucket of ['104249992d', '999999999d', '999999999h', '1ms', '104249991d']) {
    const answer = await api.call(
      'GET',
      `/v1/readings/aggregate?${DEVICE}&metric=temperature&from=2026-11-21T00:00:00Z&to=2026-11-21T00:00:05Z&bucket=${bucket}`,
    );
    assert.equal(answer.status, 200, `${bucket}: ${JSON.stringify(answer.body)}`);
  }
  const wide = `/v1/readings/aggregate?${DEVICE}&metric=temperature&from=0&to=2254-06-05T00:00:00Z&bucket=999999999d`;
  assert.equal((await api.call('GET', wide)).body.buckets[0].count, 1);
});

test('a forged cursor is refused, for any content', async (t) => {
  const api = await startApi(t, { config: { apiToken: 'a-long-and-random-token' } });
  const rows = Array.from({ length: 5 }, (_, second) => reading(second));
  await api.ingest.commit(rows);
  const headers = { Authorization: 'Bearer a-long-and-random-token' };
  for (const name of ['a', 'b', 'c']) await api.call('PUT', `/v1/devices/${name}`, { body: {}, headers });
  for (let item = 0; item < 3; item += 1) api.ingest.refuse('t', 'malformed', 'no', 'x');
  const lists = ['/v1/devices?limit=1', `/v1/readings?${DEVICE}&limit=1`, '/v1/quarantine?limit=1'];
  const keys = [
    ['devices', null, null, null, null],
    ['readings', 'site-3/boiler/probe-7', null, null, null, 'desc'],
    ['quarantine', null],
  ];
  const bodies = [
    '',
    '[]',
    '{}',
    'null',
    '[1]',
    '["x"]',
    '[{}]',
    '[1e400,"x"]',
    '[null,null]',
    '[[],[]]',
    '[0.5,"a"]',
    '[-1,"a"]',
    '[1,"a b"]',
    '["http://127.0.0.1:1",7]',
    '\u0000',
  ];
  for (const [index, list] of lists.entries()) {
    const { next } = (await api.call('GET', list)).body;
    assert.equal((await api.call('GET', `${list}&cursor=${next}`)).status, 200, list);
    for (const body of bodies) {
      for (const key of [...keys, []]) {
        // The format of version 0.1.0, and signatures that an attacker may try.
        const digest = createHash('sha256').update(JSON.stringify(key)).update('\0').update(body).digest();
        for (const length of [9, 16, 32]) {
          const forged = Buffer.concat([digest.subarray(0, length), Buffer.from(body)]).toString('base64url');
          assertRefused(await api.call('GET', `${list}&cursor=${forged}`), `${index} ${body}`);
        }
      }
    }
    // A change in any byte makes the cursor invalid.
    const bytes = Buffer.from(next, 'base64url');
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1 << (at % 8);
      assertRefused(await api.call('GET', `${list}&cursor=${changed.toString('base64url')}`), `byte ${at}`);
    }
    for (const cursor of ['', 'x', '%00', 'a'.repeat(1024), `${next}=`, next.slice(1)]) {
      assertRefused(await api.call('GET', `${list}&cursor=${cursor}`), `${list} ${cursor}`);
    }
  }
});

const isAny = (_value: unknown): _value is unknown => true;

test('a cursor is valid on other replicas and after a restart, but not with another secret', () => {
  const secret = 'a-long-and-random-token';
  const cursor = new Cursors(secret).write(['a'], [1, 'b']);
  assert.deepEqual(new Cursors(secret).read(['a'], cursor, isAny), [1, 'b']);
  const without = new Cursors(null).write(['a'], [1, 'b']);
  assert.deepEqual(new Cursors(null).read(['a'], without, isAny), [1, 'b']);
  for (const other of [null, 'another-random-token']) {
    assert.throws(() => new Cursors(other).read(['a'], cursor, isAny), /cursor/);
  }
  assert.throws(() => new Cursors(secret).read(['b'], cursor, isAny), /cursor/);
});

test('U+0000 is refused before it reaches a store', async (t) => {
  const api = await startApi(t);
  await api.call('PUT', '/v1/records/usertable', { body: { fieldCount: 1 } });
  const requested: string[] = [];
  const list = api.store.devices.list.bind(api.store.devices);
  t.mock.method(api.store.devices, 'list', (query: Parameters<typeof list>[0]) => {
    requested.push(JSON.stringify(query));
    return list(query);
  });
  for (const path of [
    '/v1/devices?city=%00',
    '/v1/devices?site=a%00b',
    '/v1/devices?kind=%00',
    '/v1/devices?%00=1',
    '/v1/devices/%00',
    '/v1/devices/a%00b',
    `/v1/readings?${DEVICE}%00`,
    `/v1/readings?${DEVICE}&metric=%00`,
    `/v1/readings?${DEVICE}&from=%00`,
    '/v1/readings/latest?device=a&device=%00',
    '/v1/records/usertable?start=%00',
    '/v1/records/usertable/%00',
    '/v1/records/usertable/a%00',
    '/v1/quarantine/%00',
    '/v1/live?device=%00',
  ]) {
    assertRefused(await api.call('GET', path), path);
  }
  const patch = await api.call('PATCH', '/v1/devices?city=%00', { body: { city: 'x' } });
  assertRefused(patch, 'PATCH');
  assert.deepEqual(requested, []);
  const bodies: [string, string, unknown][] = [
    ['PUT', '/v1/devices/a', { city: 'a\0' }],
    ['PATCH', '/v1/devices?city=b', { kind: '\0' }],
    ['PUT', '/v1/devices/a', { attributes: { a: '\0' } }],
    ['PUT', '/v1/devices/a', { attributes: { '\0': 1 } }],
    ['PUT', '/v1/records/usertable/a', { fields: { field0: 'a\0' } }],
    ['PATCH', '/v1/records/usertable/a', { fields: { field0: '\0' } }],
  ];
  for (const [method, path, body] of bodies) {
    assertRefused(await api.call(method, path, { body }), `${method} ${path} ${JSON.stringify(body)}`);
  }
});

test('a request with two Host headers, or with none, is refused on every code path', async (t) => {
  const api = await startApi(t);
  await api.call('PUT', '/v1/records/usertable', { body: { fieldCount: 1 } });
  await api.call('PUT', '/v1/records/usertable/k', { body: { fields: { field0: 'a' } } });
  for (const path of ['/healthz', '/v1/records/usertable/k', '/']) {
    for (const hosts of [
      ['localhost', 'localhost'],
      ['localhost', 'evil.example'],
      ['evil.example', 'localhost'],
    ]) {
      const lines = hosts.map((host, index) => `${index ? 'HOST' : 'Host'}: ${host}\r\n`).join('');
      const answer = await raw(api, `GET ${path} HTTP/1.1\r\n${lines}Connection: close\r\n\r\n`);
      assert.match(answer, /^HTTP\/1\.1 400 /, `${path} ${hosts}`);
      assert.match(answer, /application\/problem\+json/);
      assert.match(answer, /Host/);
    }
    const none = await raw(api, `GET ${path} HTTP/1.1\r\nConnection: close\r\n\r\n`);
    assert.match(none, /^HTTP\/1\.1 400 /, path);
  }
});

test('a request that the HTTP parser refuses is answered with a problem document', async (t) => {
  const api = await startApi(t);
  const names = Array.from({ length: 200 }, (_, index) => `device=${'a'.repeat(190)}${index}`).join('&');
  const long = await raw(
    api,
    `GET /v1/readings/latest?${names} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
  );
  assert.match(long, /^HTTP\/1\.1 400 /);
  assert.match(long, /application\/problem\+json[\s\S]*16 KiB/);
  const bad = await raw(api, 'GET / HTTP/1.1\r\nHost: localhost\r\nbad header\r\n\r\n');
  assert.match(bad, /^HTTP\/1\.1 400 [\s\S]*application\/problem\+json/);
});

test('every JSON body has bounds, which an encoding cannot evade', async (t) => {
  const api = await startApi(t);
  const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`;
  const send = async (method: string, path: string, type: string, body: string | Uint8Array) => {
    const answer = await fetch(api.url + path, { method, headers: { 'content-type': type }, body });
    return [answer.status, ((await answer.json()) as { detail: string }).detail] as const;
  };
  for (const [method, path] of [
    ['PUT', '/v1/devices/a'],
    ['POST', '/v1/annotations'],
    ['POST', '/v1/records/t'],
    ['POST', '/v1/routes'],
    ['PUT', '/v1/retention'],
  ] as const) {
    const refused = [413, 'The body has arrays and objects nested deeper than 32 levels.'];
    assert.deepEqual(await send(method, path, 'application/json', deep), refused, path);
    const [status] = await send(
      method,
      path,
      'application/json; charset=utf-16le',
      Buffer.from(deep, 'utf16le'),
    );
    assert.equal(status, 415, path);
  }
});

test('an empty start means the beginning', async (t) => {
  const api = await startApi(t);
  await api.call('PUT', '/v1/records/usertable', { body: { fieldCount: 1 } });
  assert.equal((await api.call('GET', '/v1/records/usertable?start=')).status, 200);
  assert.equal((await api.call('GET', '/v1/records/usertable?start=&count=1')).status, 200);
});

test('a feed that sends something other than readings fails', async (t) => {
  const lines = [
    'null',
    '5',
    '"x"',
    '[]',
    '{}',
    '{"id":"1"}',
    '{"readings":[]}',
    '{"id":"1","readings":5}',
    '{"id":"1","readings":[null]}',
    '{"id":"1","readings":[{}]}',
    '{"id":"1","readings":[{"device":5,"metric":{},"time":""}]}',
    '{"id":"1","missed":"x"}',
    '{"id":"1","missed":-1}',
    '{',
    '\u0000',
  ];
  const api = await startApi(t);
  let line = '';
  api.ingest.intercept = (request, response) => {
    if (request.url !== '/live') return false;
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' }).end(`${line}\n`);
    return true;
  };
  const client = new IngestClient({ urls: [api.ingest.url], timeoutMs: 5000 });
  t.after(() => client.close());
  for (line of lines) {
    await assert.rejects(async () => {
      for await (const _ of client.live(api.ingest.url, AbortSignal.timeout(5000))) assert.fail(line);
    }, /line of the live feed/);
  }
});

test('with an invalid URL of ingest, requests fail and live clients stay connected', async (t) => {
  const api = await startApi(t, { ingest: ['http://ingest:94640'] });
  const abort = new AbortController();
  const live = await fetch(`${api.url}/v1/live`, { signal: abort.signal });
  assert.equal(live.status, 200);
  assert.equal((await api.call('GET', '/v1/ledger')).status, 503);
  assert.equal((await api.call('GET', '/v1/quarantine')).status, 503);
  abort.abort();
  assert.equal((await api.call('GET', '/healthz')).status, 200);
});

test('a number that is infinite is refused, also in a filter', async (t) => {
  const api = await startApi(t);
  for (const [method, path] of [
    ['GET', '/v1/devices?limit=1e999'],
    ['GET', `/v1/devices?year=${'9'.repeat(400)}`],
    ['GET', '/v1/devices?year=-1e999'],
    ['PATCH', '/v1/devices?year=1e999'],
    ['GET', '/v1/records/t?count=1e999'],
  ] as const) {
    const { status, body } = await api.call(method, path, method === 'PATCH' ? { body: { year: 1 } } : {});
    assert.equal(status, 400, path.slice(0, 40));
    assert.match(body.detail, /^\/query\/(limit|year|count)/);
  }
});

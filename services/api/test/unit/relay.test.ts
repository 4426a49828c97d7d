import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { changeKeys, newKey, type Scope } from '@tidegauge/service';
import { type Api, reading, startApi, until } from '../harness.ts';

/** A request that ingest received. */
interface Passed {
  readonly url: string;
  readonly sender: string | undefined;
  readonly body: string;
}

/** An API with keys, and an ingest that answers requests of the relay. */
async function start(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-relay-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const apiKeys = join(folder, 'keys.json');
  const keyOf = (scopes: readonly Scope[], devices: string | null) => {
    const { text, key } = newKey({ name: 'board', scopes, devices, expires: null }, Date.now());
    changeKeys(apiKeys, (keys) => [...keys, key]);
    return { Authorization: `Bearer ${text}` };
  };
  const board = keyOf(['write'], 'site-3');
  const reader = keyOf(['read'], null);
  const api = await startApi(t, {
    config: { httpListen: '0.0.0.0', apiToken: 'a-long-and-random-token', apiKeys, openReads: false },
  });
  const passed: Passed[] = [];
  const answer = { status: 202, text: '{"centre":"c"}' };
  api.ingest.intercept = (request, response) => {
    if (!request.url!.startsWith('/relay')) return false;
    const sender = request.headers['tidegauge-sender'] as string | undefined;
    let body = '';
    request.on('data', (part: Buffer) => {
      body += part.toString();
    });
    request.on('end', () => {
      passed.push({ url: request.url!, sender, body });
      response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(answer.text);
    });
    return true;
  };
  return { api, passed, answer, board, reader };
}

const send = (api: Api, headers: Readonly<Record<string, string>>, body: Uint8Array<ArrayBuffer>) =>
  fetch(`${api.url}/v1/relay`, {
    method: 'POST',
    headers: { 'Content-Encoding': 'gzip', 'Content-Type': 'application/x-ndjson', ...headers },
    body,
  });

test('a request of a board reaches ingest decompressed, with its key and the devices of the key', async (t) => {
  const { api, passed, answer, board, reader } = await start(t);
  const body = '{"version":1}\n{"device":"site-3/a"}\n';
  const first = await send(api, board, gzipSync(body));
  assert.deepEqual([first.status, await first.text()], [202, '{"centre":"c"}']);
  assert.equal(passed.length, 1);
  assert.deepEqual([passed[0]!.url, passed[0]!.body], ['/relay?device=site-3', body]);
  assert.match(passed[0]!.sender!, /^key /);
  Object.assign(answer, {
    status: 503,
    text: '{"title":"Cannot store now","detail":"the store is unavailable"}',
  });
  assert.equal((await send(api, board, gzipSync(body))).status, 503);
  assert.equal((await send(api, board, gzipSync(Buffer.alloc(2 ** 21)))).status, 413);
  assert.equal((await send(api, {}, gzipSync(body))).status, 401);
  assert.equal((await send(api, reader, gzipSync(body))).status, 403);
});

test('the relay of all ingest processes is shown to readers of all devices', async (t) => {
  const { api, answer, board, reader } = await start(t);
  Object.assign(answer, { status: 200, text: '{"instance":"ingest-1","centres":[],"boards":[]}' });
  const found = await fetch(`${api.url}/v1/relay`, { headers: reader });
  assert.deepEqual(await found.json(), {
    instances: [{ instance: 'ingest-1', centres: [], boards: [] }],
    unreachable: [],
  });
  assert.equal((await fetch(`${api.url}/v1/relay`, { headers: board })).status, 403);
});

test('ingest compares the days on which the API changed readings', async (t) => {
  const { api, passed } = await start(t);
  const headers = { Authorization: 'Bearer a-long-and-random-token' };
  const device = 'site-3/boiler/probe-7';
  await api.store.readings.write([reading(0), reading(60)]);
  await api.store.devices.register([device]);
  const range = 'metric=temperature&from=2026-11-21T00:00:00Z&to=2026-11-23T00:00:00Z';
  const marked = await api.call('POST', `/v1/readings/wrong?device=${device}&${range}`, { headers });
  assert.equal(marked.body.changed, 2);
  const note = { device, from: '2026-11-20T14:00:00Z', text: 'serviced' };
  assert.equal((await api.call('POST', '/v1/annotations', { body: note, headers })).status, 201);
  await until('both requests', () => passed.length === 2);
  const days = passed.map(({ url }) => new URL(url, 'http://ingest').searchParams);
  assert.deepEqual(
    days.map((query) => [query.get('device'), query.get('from'), query.get('to')]),
    [
      [device, '2026-11-21', '2026-11-22'],
      [device, '2026-11-20', '2026-11-20'],
    ],
  );
});

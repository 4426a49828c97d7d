import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import mqtt from 'mqtt';
import { startIngestWithApi, TOKEN } from '../ingest-with-api.ts';
import { settled, storedReadings } from '../integration/helpers.ts';

const TIME = 1_795_000_000;

interface Sent {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: answers have several shapes
  readonly body: any;
}

/** Ingest and the API, and functions that send to them and read what they stored. */
async function start(context: TestContext, env: Readonly<Record<string, string>> = {}) {
  const { api, broker, ingest, limitedKey, store } = await startIngestWithApi(context, env);
  const send = async (path: string, init: RequestInit = {}): Promise<Sent> => {
    const response = await fetch(`${api}${path}`, init);
    const text = await response.text();
    const isJson = /json/.test(response.headers.get('Content-Type') ?? '');
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  };
  const write = (path: string, body: string | Uint8Array, headers: Record<string, string> = {}) =>
    send(path, {
      method: 'POST',
      body: typeof body === 'string' ? body : Uint8Array.from(body),
      headers: { Authorization: `Token ${TOKEN}`, 'Content-Type': 'text/plain; charset=utf-8', ...headers },
    });
  const stored = async (device: string) =>
    (await storedReadings(store, [device])).map(({ metric, value, time }) => [
      metric,
      value,
      time / 1e6 - TIME,
    ]);
  return { broker, limitedKey, ingest, send, write, stored };
}

test('clients of InfluxDB 1.x write lines, and receive its answers', async (context) => {
  const { send, write, stored, ingest } = await start(context);
  const ping = await send('/ping');
  assert.equal(ping.status, 204);
  assert.match(ping.headers.get('X-Influxdb-Version') ?? '', /^1\.8/);
  assert.equal((await send('/ping?verbose=true')).status, 200);
  assert.equal((await send('/ping', { method: 'HEAD' })).status, 204);
  assert.equal((await send('/health')).body.status, 'pass');

  // The statement of Telegraf's output "influxdb" before it writes.
  const basic = `Basic ${Buffer.from(`telegraf:${TOKEN}`).toString('base64')}`;
  const created = await send('/query', {
    method: 'POST',
    body: new URLSearchParams({ q: 'CREATE DATABASE "telegraf"' }),
    headers: { Authorization: basic },
  });
  assert.deepEqual([created.status, created.body], [200, { results: [{ statement_id: 0 }] }]);
  const shown = await send('/query?q=SHOW%20DATABASES', { headers: { Authorization: basic } });
  assert.equal(shown.body.results[0].series[0].name, 'databases');
  const select = await send('/query?q=SELECT%20*%20FROM%20cpu', { headers: { Authorization: basic } });
  assert.match(select.body.results[0].error, /GET \/v1\/readings/);

  const lines = `cpu,cpu=cpu0,host=pi usage_idle=99.5,usage_user=0.5 ${TIME}000000000\nmem,host=pi used=1024i ${TIME}000000000\n`;
  const path = '/write?db=telegraf';
  const first = await write(path, gzipSync(lines), { 'Content-Encoding': 'gzip', Authorization: basic });
  assert.deepEqual([first.status, first.body], [204, '']);
  assert.deepEqual(await stored('telegraf/pi/cpu:cpu0'), [
    ['cpu.usage_idle', 99.5, 0],
    ['cpu.usage_user', 0.5, 0],
  ]);
  assert.deepEqual(await stored('telegraf/pi'), [['mem.used', 1024, 0]]);
  assert.equal((await write(path, lines)).status, 204, 'the same lines again');
  assert.equal(
    (await write(`${path}&rp=week&precision=s&u=x&p=${TOKEN}`, `m v=1 ${TIME}`, { Authorization: '' }))
      .status,
    401,
  );
  const parameters = await send(`${path}&rp=week&precision=s&consistency=one&u=x&p=${TOKEN}`, {
    method: 'POST',
    body: `m v=1 ${TIME}`,
  });
  assert.equal(parameters.status, 204);
  assert.deepEqual(await stored('telegraf/week'), [['m.v', 1, 0]]);

  const partial = await write(`${path}&precision=s`, `a v=1 ${TIME}\nb v=\nc v=2 ${TIME}`);
  assert.equal(partial.status, 400);
  assert.equal(
    partial.body.error,
    'partial write: unable to parse "b v=": missing field value (line 2) dropped=1',
  );
  assert.deepEqual(await stored('telegraf'), [
    ['a.v', 1, 0],
    ['c.v', 2, 0],
  ]);
  const { readings, balanced } = await ingest.ledger();
  assert.equal(readings.quarantined, 1, 'the refused line is in quarantine');
  assert.ok(balanced);

  const refusals: [Promise<Sent>, number, RegExp][] = [
    [write('/write', 'a v=1'), 400, /database is required/],
    [write(`${path}&precision=d`, 'a v=1'), 400, /invalid precision "d"/],
    [write(`${path}&consistency=some`, 'a v=1'), 400, /consistency/],
    [write(path, 'x', { 'Content-Encoding': 'gzip' }), 400, /not gzip/],
    [write(path, 'x', { 'Content-Encoding': 'br' }), 415, /send gzip/],
    [write(path, gzipSync(Buffer.alloc(2 << 20)), { 'Content-Encoding': 'gzip' }), 413, /too large/],
    [write(path, Buffer.alloc(2 << 20)), 413, /too large/],
    [write(path, 'a v=1', { Authorization: 'Token wrong' }), 401, /wrong/],
    [send('/write?db=a', { headers: { Authorization: basic } }), 405, /GET is not a method/],
  ];
  for (const [answer, status, error] of refusals) {
    const { status: got, body } = await answer;
    assert.equal(got, status, JSON.stringify(body));
    assert.match(body.error, error);
  }
  assert.equal((await write(path, '')).status, 204);
});

test('clients of InfluxDB 2.x write lines, and receive its answers', async (context) => {
  const { write, stored, ingest } = await start(context);
  const path = '/api/v2/write?org=home&bucket=house';
  assert.equal((await write(path, 'm,device=probe-7 v=1')).status, 204);
  assert.equal((await stored('house/probe-7')).length, 1);
  assert.equal((await write(`${path}&precision=ms`, `m,device=p v=1 ${TIME}500`)).status, 204);
  assert.deepEqual(await stored('house/p'), [['m.v', 1, 0.5]]);

  const malformed = await write(path, 'm v=1\nm v\n');
  assert.equal(malformed.status, 400);
  assert.equal(malformed.body.code, 'invalid');
  assert.match(malformed.body.message, /unable to parse "m v": missing fields \(line 2\)/);
  assert.deepEqual(await stored('house'), [], 'nothing of it is stored');

  const ahead = await write(`${path}&precision=s`, `m v=1 ${TIME}\nm v=2 9000000000`);
  assert.equal(ahead.status, 422);
  assert.equal(ahead.body.code, 'unprocessable entity');
  assert.match(ahead.body.message, /^failure writing points to database: partial write: .* dropped=1$/s);
  assert.deepEqual(await stored('house'), [['m.v', 1, 0]]);
  assert.equal((await ingest.ledger()).readings.quarantined, 2);

  for (const [body, query, status, code, message] of [
    ['', path, 400, 'invalid', /writing requires points/],
    ['m v=1', '/api/v2/write?org=home', 400, 'invalid', /bucket is required/],
  ] as const) {
    const answer = await write(query, body);
    assert.deepEqual([answer.status, answer.body.code], [status, code]);
    assert.match(answer.body.message, message);
  }
  const many = Array.from({ length: 15_000 }, (_, n) => `m,device=many v=${n}i ${TIME + n}`).join('\n');
  assert.equal((await write(`${path}&precision=s`, many)).status, 204);
  assert.equal((await stored('house/many')).length, 15_000);
});

test('a key with a limit of devices writes below its device only', async (context) => {
  const { limitedKey, write, send, stored, ingest } = await start(context);
  const Authorization = `Token ${limitedKey}`;
  const path = '/api/v2/write?org=home&bucket=house&precision=s';
  assert.equal((await write(path, `m,host=pi v=1 ${TIME}\nm v=`, { Authorization })).status, 400);
  assert.equal((await write(path, `m,host=pi v=1 ${TIME}`, { Authorization })).status, 204);
  assert.equal((await write('/write?db=site-4&precision=s', `m v=2 ${TIME}`, { Authorization })).status, 204);
  assert.deepEqual(await stored('site-3/house/pi'), [['m.v', 1, 0]]);
  assert.deepEqual(await stored('site-3/site-4'), [['m.v', 2, 0]]);
  assert.deepEqual(await stored('site-4'), []);
  const query = {
    method: 'POST',
    body: new URLSearchParams({ q: 'SHOW DATABASES' }),
    headers: { Authorization },
  };
  assert.equal((await send('/query', query)).status, 200);
  await fetch(`${ingest.url}/quarantine/replay`, { method: 'POST' });
  assert.equal((await ingest.ledger()).readings.quarantined, 1, 'the refused payload has its limit too');
});

test('line protocol over MQTT uses the settings of its route', async (context) => {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-routes-'));
  context.after(() => rm(directory, { recursive: true }));
  const routes = join(directory, 'routes.yml');
  await writeFile(
    routes,
    `- topic: telegraf/{device}\n  format: influx\n  influx: {device: '{cpu}', metric: '{field}', precision: s}\n`,
  );
  const { broker, ingest, stored } = await start(context, { ROUTES: routes });
  const client = await mqtt.connectAsync(broker.url);
  await client.publishAsync(
    'telegraf/pi',
    `cpu,cpu=cpu0,host=pi usage=5 ${TIME}\nmem,host=pi used=2 ${TIME}`,
    { qos: 1 },
  );
  await settled(ingest);
  await client.endAsync();
  assert.deepEqual(await stored('pi/cpu0'), [['usage', 5, 0]]);
  assert.deepEqual(await stored('pi'), [['used', 2, 0]]);
});

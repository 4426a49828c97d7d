import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, get, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { constants, gunzipSync } from 'node:zlib';
import { type Reading, unknownDevice } from '@tidegauge/readings';
import type { Response } from 'express';
import { parquetReadObjects } from 'hyparquet';
import { Answers } from '../../src/answers.ts';
import { ndjson } from '../../src/export/ndjson.ts';
import { sendExport } from '../../src/export/send.ts';
import { ReadingUnits } from '../../src/reading-units.ts';
import { type Api, reading, startApi } from '../harness.ts';

const EXTREMES = [Number.MAX_VALUE, -Number.MAX_VALUE, 5e-324, -0, 0, 0.1, 1e21, -123.456];
const TEXTS = [
  '',
  'open',
  '21.5',
  'a "quoted", text',
  'two\nlines\r\n',
  '# complete: 1 rows',
  'ünïcode 🌊',
  '=1+1',
];

/** Units by device and metric. Other series have none. */
const UNITS: Readonly<Record<string, string>> = {
  'site-1/boiler temperature': 'Cel',
  'Zoo temperature': '"a", unit',
};

/** Readings of three devices, with texts, extreme doubles and a correction. */
async function fill({ store }: Api): Promise<Reading[]> {
  const of = (
    device: string,
    metric: string,
    values: readonly (number | string)[],
    more: Partial<Reading> = {},
  ) => values.map((value, index) => reading(index, { device, metric, value, ...more }));
  const readings = [
    ...of('site-1/boiler', 'state', TEXTS, { boot: '', seq: 0 }),
    ...of('site-1/boiler', 'temperature', EXTREMES, { boot: 'b"1', seq: 9007199254740991 }),
    ...of('site-2/pump', 'temperature', [1, 2, 3], { quality: 'skewed' }),
    ...of('Zoo', 'temperature', [4]),
  ];
  await store.readings.write(readings.map((each) => ({ ...each, value: 99 })));
  await store.readings.write(readings);
  await store.readings.setUnits(
    Object.entries(UNITS).map(([name, unit]) => {
      const [device, metric] = name.split(' ') as [string, string];
      return { device, metric, unit };
    }),
  );
  for (const [name, city] of [
    ['site-1/boiler', 'Faro'],
    ['site-2/pump', 'Porto'],
    ['Zoo', 'Faro'],
  ] as const)
    await store.devices.put({ ...unknownDevice(name), city });
  // By device, in the order of code points.
  return [...readings.slice(-1), ...readings.slice(0, -1)];
}

interface Download {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  /** Whether the body has the end that HTTP requires. */
  readonly complete: boolean;
}

function download(
  api: Api,
  query: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Download> {
  return new Promise((resolve, reject) => {
    const request = get(`${api.url}/v1/export?${query}`, { headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', () => {});
      response.on('close', () =>
        resolve({
          status: response.statusCode!,
          headers: response.headers,
          body: Buffer.concat(parts),
          complete: response.complete,
        }),
      );
    });
    request.on('error', reject);
  });
}

const linesOf = (body: Buffer) =>
  body
    .toString()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));

/** The reading of a line, for a comparison with what was stored. */
const stored = ({ device, metric, time, value, received, quality, boot, seq }: Reading) => ({
  device,
  metric,
  time: new Date(time / 1000).toISOString().replace('Z', '000Z'),
  value,
  received: new Date(received / 1000).toISOString().replace('Z', '000Z'),
  quality,
  ...(boot === null ? {} : { boot }),
  ...(seq === null ? {} : { seq }),
  ...(Object.hasOwn(UNITS, `${device} ${metric}`) ? { unit: UNITS[`${device} ${metric}`] } : {}),
});

/** Fields of a CSV text (RFC 4180): null without quotes and characters. */
function parseCsv(text: string): (string | null)[][] {
  const rows: (string | null)[][] = [];
  const pattern = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/gy;
  for (let row: (string | null)[] = []; pattern.lastIndex < text.length; ) {
    const [, quoted, plain, end] = pattern.exec(text)!;
    row.push(quoted === undefined ? plain! || null : quoted.replaceAll('""', '"'));
    if (end === ',') continue;
    rows.push(row);
    row = [];
  }
  return rows;
}

for (const kind of ['SQLite', 'JSON'] as const) {
  test(`every format has every reading exactly, from ${kind}`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'tidegauge-export-'));
    t.after(() => rm(folder, { recursive: true }));
    const api = await startApi(t, { storeUrl: kind === 'SQLite' ? null : `json:${folder}/readings` });
    const readings = await fill(api);
    await assertExact(api, readings);
  });
}

async function assertExact(api: Api, readings: readonly Reading[]): Promise<void> {
  const lines = await download(api, '');
  assert.equal(lines.status, 200);
  assert.match(lines.headers['content-disposition']!, /filename="readings\.ndjson"/);
  const documents = linesOf(lines.body);
  assert.deepEqual(documents.pop(), { complete: true, rows: readings.length });
  assert.deepEqual(documents, readings.map(stored));

  const { body } = await download(api, 'format=csv');
  const [names, ...rows] = parseCsv(body.toString());
  assert.deepEqual(names, [
    'device',
    'metric',
    'time',
    'value',
    'text',
    'received',
    'quality',
    'boot',
    'seq',
    'unit',
  ]);
  assert.deepEqual(
    rows.map(([device, metric, time, number, text, received, quality, boot, seq, unit]) => ({
      device,
      metric,
      time,
      value: number === null ? text : Number(number),
      received,
      quality,
      ...(boot === null ? {} : { boot }),
      ...(seq === null ? {} : { seq: Number(seq) }),
      ...(unit === null ? {} : { unit }),
    })),
    readings.map(stored),
  );

  const file = (await download(api, 'format=parquet')).body;
  const objects = await parquetReadObjects({ file: new Uint8Array(file).buffer });
  const iso = (time: unknown) => (time as Date).toISOString().replace('Z', '000Z');
  assert.deepEqual(
    objects.map(({ device, metric, time, value, text, received, quality, boot, seq, unit }) => ({
      device,
      metric,
      time: iso(time),
      value: value ?? text,
      received: iso(received),
      quality,
      ...(boot == null ? {} : { boot }),
      ...(seq == null ? {} : { seq: Number(seq) }),
      ...(unit == null ? {} : { unit }),
    })),
    readings.map(stored),
  );
}

test('devices, groups, metrics and times select what is exported', async (t) => {
  const api = await startApi(t);
  await fill(api);
  await api.store.readings.write([reading(1, { device: 'gone' })]);
  const cases: [query: string, names: string[]][] = [
    ['', ['Zoo temperature', 'site-1/boiler state', 'site-1/boiler temperature', 'site-2/pump temperature']],
    ['device=site-2/pump&device=Zoo', ['Zoo temperature', 'site-2/pump temperature']],
    ['device=gone', ['gone temperature']],
    ['prefix=site-1', ['site-1/boiler state', 'site-1/boiler temperature']],
    ['prefix=site', []],
    ['city=Faro&metric=temperature', ['Zoo temperature', 'site-1/boiler temperature']],
    ['metric=state&metric=none', ['site-1/boiler state']],
    ['prefix=site-2&city=Faro', []],
  ];
  for (const [query, names] of cases) {
    const found = linesOf((await download(api, query)).body).slice(0, -1);
    assert.deepEqual([...new Set(found.map(({ device, metric }) => `${device} ${metric}`))], names, query);
  }
  const part = 'device=site-1/boiler&metric=temperature&from=2026-11-21T00:00:02Z&to=2026-11-21T00:00:04Z';
  assert.deepEqual(
    linesOf((await download(api, part)).body).map(({ value }) => value),
    [EXTREMES[2], EXTREMES[3], undefined],
  );
  assert.equal((await download(api, 'device=nothing&format=csv')).body.toString().split('\r\n').length, 2);
});

test('an export is compressed when the client accepts gzip, and HEAD has no body', async (t) => {
  const api = await startApi(t);
  await fill(api);
  const plain = await download(api, 'format=csv');
  const zipped = await download(api, 'format=csv', { 'Accept-Encoding': 'gzip' });
  assert.equal(zipped.headers['content-encoding'], 'gzip');
  assert.deepEqual(gunzipSync(zipped.body), plain.body);
  const parquet = await download(api, 'format=parquet', { 'Accept-Encoding': 'gzip' });
  assert.equal(parquet.headers['content-encoding'], undefined);
  const head = await api.call('HEAD', '/v1/export');
  assert.equal(head.status, 200);
  assert.equal(head.body, '');
});

const MANY = 20_000;

/** Two devices with many readings each. */
async function fillMany(api: Api, count = MANY): Promise<void> {
  const text = 'x'.repeat(100);
  for (const device of ['a', 'b']) {
    await api.store.devices.register([device]);
    const readings = Array.from({ length: count }, (_, index) =>
      reading(index, { device, value: index % 2 === 0 ? index : `${text}${index}` }),
    );
    await api.store.readings.write(readings);
  }
}

test('an export whose connection is cut again and again continues after the last complete line', async (t) => {
  const api = await startApi(t);
  await fillMany(api, 5000);
  for (const format of ['ndjson', 'csv']) {
    const whole = (await download(api, `format=${format}&trailer=true`)).body.toString();
    let text = '';
    let requests = 0;
    for (let after = ''; !text.includes('complete'); requests += 1) {
      text += await cutDownload(api, `format=${format}&trailer=true${after}`, 100_000 + 33_333 * requests);
      text = text.slice(0, text.lastIndexOf('\n') + 1);
      after = afterOf(text.trimEnd().split('\n').at(-1)!, format);
    }
    assert.ok(requests > 3, `${requests} requests`);
    const withoutCount = (each: string) => each.slice(0, each.trimEnd().lastIndexOf('\n') + 1);
    assert.equal(withoutCount(text), withoutCount(whole));
  }
});

/** The text of an export until its connection is cut. */
function cutDownload(api: Api, query: string, bytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = get(`${api.url}/v1/export?${query}`, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
        if (text.length >= bytes) request.destroy();
      });
      response.on('error', () => {}).on('close', () => resolve(text));
    });
    request.on('error', (error: NodeJS.ErrnoException) => error.code === 'ECONNRESET' || reject(error));
  });
}

/** What a client adds to its request to continue after a line. */
function afterOf(line: string, format: string): string {
  if (line.includes('complete')) return '';
  const [device, metric, time] =
    format === 'csv'
      ? parseCsv(`${line}\r\n`)[0]!
      : (({ device, metric, time }) => [device, metric, time])(JSON.parse(line));
  return `&afterDevice=${device}&afterMetric=${metric}&afterTime=${time}`;
}

test('a position continues in every order of devices, also when its device or metric is gone', async (t) => {
  const api = await startApi(t);
  await fill(api);
  const after = (device: string, metric: string, second: number, more = '') =>
    `afterDevice=${device}&afterMetric=${metric}&afterTime=${encodeURIComponent(`2026-11-21T00:00:0${second}Z`)}${more}`;
  const cases: [query: string, count: number][] = [
    [after('A', 'z', 0), 20],
    [after('Zoo', 'temperature', 0), 19],
    [after('site-1/boiler', 'state', 7), 11],
    [after('site-1/boiler', 'state', 3), 15],
    [after('site-1/boiler', 'sz', 0), 11],
    [after('site-1/c', 'a', 0), 3],
    [after('site-2/pump', 'temperature', 2), 0],
    [after('site-1/boiler', 'state', 7, '&prefix=site-1'), 8],
    [after('site-1/boiler', 'state', 7, '&device=site-1/boiler&device=Zoo'), 8],
    [after('site-1/boiler', 'state', 7, '&metric=temperature'), 11],
  ];
  for (const [query, count] of cases) {
    assert.equal(linesOf((await download(api, query)).body).at(-1)!.rows, count, query);
  }
});

test('a store that fails during an export: a line with the reason, and no complete answer', async (t) => {
  const api = await startApi(t);
  await fillMany(api);
  for (const [format, headers] of [
    ['ndjson', {}],
    ['ndjson', { 'Accept-Encoding': 'gzip' }],
    ['csv', {}],
    ['parquet', {}],
  ] as const) {
    const failed = await failingDownload(t, api, format, headers);
    assert.equal(failed.complete, false, format);
    if (format === 'parquet') {
      await assert.rejects(
        parquetReadObjects({ file: new Uint8Array(failed.body).buffer }),
        /footer|parquet/,
      );
      continue;
    }
    const text = 'Accept-Encoding' in headers ? unzipStart(failed.body) : failed.body.toString();
    const lines = text.trimEnd().split('\n');
    const last = lines.at(-1)!;
    if (format === 'csv')
      assert.match(last, /^# failed after \d+ rows: the database does not accept connections/);
    else {
      const { complete, rows, error } = JSON.parse(last);
      assert.equal(complete, false);
      assert.equal(rows, lines.length - 1);
      assert.match(error, /the database does not accept connections/);
    }
  }
  // Before the first reading, the failure is a problem document.
  api.outage.cut = true;
  const { status, body } = await api.call('GET', '/v1/export?format=csv');
  assert.equal(status, 503);
  assert.match(body.detail, /does not accept connections/);
});

/** An export during which the store becomes unavailable: its client stops reading after the first part. */
async function failingDownload(
  t: TestContext,
  api: Api,
  format: string,
  headers: Readonly<Record<string, string>>,
): Promise<Download> {
  const request = get(`${api.url}/v1/export?format=${format}`, { headers });
  t.after(() => request.destroy());
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.on('error', () => {});
  const closed = new Promise((resolve) => response.on('close', resolve));
  const parts: Buffer[] = [];
  response.on('data', (part: Buffer) => parts.push(part));
  await once(response, 'data');
  response.pause();
  api.outage.cut = true;
  response.resume();
  await closed;
  api.outage.cut = false;
  return {
    status: response.statusCode!,
    headers: response.headers,
    body: Buffer.concat(parts),
    complete: response.complete,
  };
}

function unzipStart(bytes: Buffer): string {
  return gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }).toString();
}

test('a client that does not read stops the export, and others go on', async (t) => {
  const api = await startApi(t);
  await fillMany(api);
  const slow = get(`${api.url}/v1/export`);
  t.after(() => slow.destroy());
  const [response] = (await once(slow, 'response')) as [IncomingMessage];
  response.pause();
  await sleep(500);
  const { body } = await download(api, 'device=a&to=2026-11-21T00:00:02Z');
  assert.equal(linesOf(body).at(-1)!.rows, 2);
  let bytes = 0;
  response.on('data', (part: Buffer) => {
    bytes += part.length;
  });
  response.resume();
  await once(response, 'end');
  assert.ok(bytes > 2 * MANY * 100);
});

test('a client that reads a little from time to time does not keep its memory for ever', async (t) => {
  const api = await startApi(t);
  async function* endless(): AsyncGenerator<Reading> {
    for (let index = 0; ; index++) yield reading(index, { device: 'a', value: 'x'.repeat(1000) });
  }
  const options = {
    format: ndjson,
    writer: ndjson.write({ continues: false, trailer: true }),
    gzip: false,
    units: new ReadingUnits(api.store),
    isCurrent: () => true,
    patienceMs: 300,
    explain: String,
  };
  const server = createServer((_request, response) => {
    void sendExport(response as Response, new Answers(), endless(), options);
  });
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  t.after(() => client.destroy());
  client.on('error', () => {}).write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  // Takes a chunk of the system, and then waits.
  client.on('data', () => {
    client.pause();
    setTimeout(() => client.resume(), 1000);
  });
  const [socket] = (await once(server, 'connection')) as [Socket];
  await once(socket, 'close', { signal: AbortSignal.timeout(20_000) });
});

test('mistakes are reported with their path', async (t) => {
  const api = await startApi(t);
  const cases: [query: string, path: string, message: RegExp][] = [
    ['format=xml', '/query/format', /ndjson, csv, parquet/],
    ['device=a&prefix=b', '/query/device', /leave out prefix/],
    ['device=a&city=Faro', '/query/device', /leave out prefix, site, city/],
    ['device=a%20b', '/query/device/0', /pattern|segment/],
    ['from=yesterday', '/query/from', /not a time|pattern/],
    ['afterDevice=a', '/query/afterDevice', /together/],
    ['afterDevice=a&afterMetric=m&afterTime=0&format=parquet', '/query/afterDevice', /cannot be continued/],
    ['colour=red', '/query/colour', /unknown/],
  ];
  for (const [query, path, message] of cases) {
    const { status, body } = await api.call('GET', `/v1/export?${query}`);
    assert.equal(status, 400, query);
    assert.equal(body.errors[0].path, path, query);
    assert.match(body.errors[0].message, message);
  }
});

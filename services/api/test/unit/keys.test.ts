import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AlertDocument, formatTime } from '@tidegauge/readings';
import { changeKeys, newKey, type Scope } from '@tidegauge/service';
import { runHere } from '@tidegauge/test-support/run-here';
import { DEVICE_OPERATIONS } from '../../src/device-limit.ts';
import { program } from '../../src/keys.ts';
import { readOpenApi } from '../../src/openapi.ts';
import { type Api, reading, startApi, until } from '../harness.ts';

const TOKEN = 'a-long-and-random-token';

interface Keys {
  readonly api: Api;
  /** Makes a key and resolves to its header when the API accepts it. */
  add(scopes: readonly Scope[], devices?: string | null, expires?: string | null): Promise<Header>;
  revoke(header: Header): void;
}

type Tags = { readonly device: string };
type Header = { readonly Authorization: string };

/** An API that listens for others, with a token and a file of keys. */
async function start(t: TestContext, config: object = {}): Promise<Keys> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-keys-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'keys.json');
  const api = await startApi(t, {
    config: { httpListen: '0.0.0.0', apiToken: TOKEN, apiKeys: path, ...config },
  });
  return {
    api,
    async add(scopes, devices = null, expires = null) {
      const { text, key } = newKey({ name: 'test', scopes, devices, expires }, Date.now());
      changeKeys(path, (keys) => [...keys, key]);
      const header = { Authorization: `Bearer ${text}` };
      // Unknown keys cause a look at the file at most every 50 ms.
      await sleep(60);
      return header;
    },
    revoke(header) {
      const id = header.Authorization.split('_')[1];
      const revoked = new Date().toISOString();
      changeKeys(path, (keys) => keys.map((key) => (key.id === id ? { ...key, revoked } : key)));
    },
  };
}

/** Every operation with a request that its schema accepts, by its id. */
const REQUESTS: Readonly<Record<string, readonly [method: string, path: string, body?: unknown]>> = {
  listReadings: ['GET', '/v1/readings?device=site-3/boiler'],
  deliverReadings: ['POST', '/v1/readings', [{ device: 'site-3/boiler', metric: 'm', v: 1 }]],
  deleteReadings: ['DELETE', '/v1/readings?device=site-3/boiler&to=2026-11-21T00:00Z'],
  latestReadings: ['GET', '/v1/readings/latest?device=site-3/boiler'],
  aggregateReadings: [
    'GET',
    '/v1/readings/aggregate?device=site-3&metric=m&from=2026-11-21T00:00Z&bucket=1d',
  ],
  aggregateSeries: ['GET', '/v1/readings/series?device=site-3&metric=m&from=2026-11-21T00:00Z&bucket=1d'],
  listWrongReadings: ['GET', '/v1/readings/wrong?device=site-3&metric=m&from=2026-11-21T00:00Z'],
  markReadings: ['POST', '/v1/readings/wrong?device=site-3/boiler&metric=m&from=2026-11-21T00:00Z'],
  restoreReadings: ['DELETE', '/v1/readings/wrong?device=site-3/boiler&metric=m&from=2026-11-21T00:00Z'],
  groupReadings: ['GET', '/v1/readings/groups?by=day'],
  exportReadings: ['GET', '/v1/export'],
  listAnnotations: ['GET', '/v1/annotations?device=site-3/boiler'],
  createAnnotation: [
    'POST',
    '/v1/annotations',
    { device: 'site-3/boiler', from: '2026-11-21T00:00Z', text: 'x' },
  ],
  // After createAnnotation, because a series without a reading has no unit.
  setUnit: ['PUT', '/v1/readings/unit?device=site-3/boiler&metric=annotation', { unit: 'Cel' }],
  updateAnnotation: ['PUT', `/v1/annotations/${annotationId('site-3/boiler')}`, { text: 'y' }],
  deleteAnnotation: ['DELETE', `/v1/annotations/${annotationId('site-3/boiler')}`],
  listDevices: ['GET', '/v1/devices'],
  updateDevices: ['PATCH', '/v1/devices?city=Faro', { year: 2019 }],
  getDevice: ['GET', '/v1/devices/site-3/boiler'],
  putDevice: ['PUT', '/v1/devices/site-3/boiler', { city: 'Faro' }],
  updateDevice: ['PATCH', '/v1/devices/site-3/boiler', { city: 'Faro' }],
  deleteDevice: ['DELETE', '/v1/devices/site-3/boiler'],
  scanRecords: ['GET', '/v1/records/t'],
  insertRecords: ['POST', '/v1/records/t', { records: [{ key: 'k', fields: { field0: 'x' } }] }],
  createRecordTable: ['PUT', '/v1/records/t', { fieldCount: 1 }],
  dropRecordTable: ['DELETE', '/v1/records/t'],
  readRecord: ['GET', '/v1/records/t/k'],
  insertRecord: ['PUT', '/v1/records/t/k', { fields: { field0: 'x' } }],
  updateRecord: ['PATCH', '/v1/records/t/k', { fields: { field0: 'x' } }],
  deleteRecord: ['DELETE', '/v1/records/t/k'],
  getLedger: ['GET', '/v1/ledger'],
  listMissing: ['GET', '/v1/ledger/missing'],
  explain: ['POST', '/v1/explain', { topic: 'sensors/site-3/boiler/temperature', payload: '21.5' }],
  addRoute: ['POST', '/v1/routes', { route: { preset: 'zigbee2mqtt' } }],
  listAlerts: ['GET', '/v1/alerts'],
  listAlertRules: ['GET', '/v1/alerts/rules'],
  putAlertRule: ['PUT', '/v1/alerts/rules/hot', { metric: 'm', above: 30 }],
  deleteAlertRule: ['DELETE', '/v1/alerts/rules/hot'],
  listAlertReceivers: ['GET', '/v1/alerts/receivers'],
  putAlertReceiver: ['PUT', '/v1/alerts/receivers/phone', { kind: 'ntfy', url: 'https://ntfy.sh/a' }],
  deleteAlertReceiver: ['DELETE', '/v1/alerts/receivers/phone'],
  testAlertReceiver: ['POST', '/v1/alerts/receivers/phone/test'],
  listQuarantine: ['GET', '/v1/quarantine'],
  listQuarantineCauses: ['GET', '/v1/quarantine/causes'],
  replayQuarantine: ['POST', '/v1/quarantine/replay'],
  discardQuarantine: ['POST', '/v1/quarantine/discard'],
  getQuarantineItem: ['GET', '/v1/quarantine/ingest-1.1'],
  discardQuarantineItem: ['DELETE', '/v1/quarantine/ingest-1.1'],
  replayQuarantineItem: ['POST', '/v1/quarantine/ingest-1.1/replay'],
  listKeys: ['GET', '/v1/keys'],
  createKey: ['POST', '/v1/keys', { name: 'made by the test', scopes: ['read'] }],
  revokeKey: ['DELETE', '/v1/keys/0123456789'],
  listPasswords: ['GET', '/v1/passwords'],
  setPassword: ['POST', '/v1/passwords', { user: 'site-3', replace: true }],
  removePassword: ['DELETE', '/v1/passwords?user=site-3'],
  getRetention: ['GET', '/v1/retention'],
  setRetention: ['PUT', '/v1/retention', { rules: [{ keep: 'raw:30d' }] }],
  previewRetention: ['POST', '/v1/retention/preview', { rules: [] }],
  listBackups: ['GET', '/v1/backups'],
  requestBackup: ['POST', '/v1/backups'],
  listAudit: ['GET', '/v1/audit'],
  beginSession: ['POST', '/v1/session'],
  endSession: ['DELETE', '/v1/session'],
  metrics: ['GET', '/metrics'],
  tsdbVersion: ['GET', '/api/version'],
  tsdbAggregators: ['GET', '/api/aggregators'],
  tsdbFilters: ['GET', '/api/config/filters'],
  tsdbSuggest: ['GET', '/api/suggest?type=metrics'],
  tsdbLookUp: ['GET', '/api/search/lookup?m=temperature'],
  tsdbQuery: ['GET', '/api/query?start=1h-ago&m=sum:temperature'],
  tsdbPostQuery: [
    'POST',
    '/api/query',
    { start: 0, queries: [{ aggregator: 'sum', metric: 'temperature' }] },
  ],
};
/** The live stream does not end, and health needs no key. */
const OTHERS = new Set(['live', 'healthz', 'readyz', 'getSession']);

/** The id of the first annotation of a device on 2026-11-21. */
function annotationId(device: string): string {
  return Buffer.from(`${Date.UTC(2026, 10, 21) * 1000} ${device}`).toString('base64url');
}

function operations() {
  const { paths, security } = readOpenApi();
  return Object.values(paths).flatMap((item) =>
    Object.entries(item)
      .filter(([method]) => method !== 'parameters')
      .map(([, operation]) => ({ security, ...(operation as { operationId: string }) })),
  ) as { operationId: string; security: readonly Record<string, readonly string[]>[] }[];
}

async function send({ api }: Keys, id: string, headers: object): Promise<number> {
  const [method, path, body] = REQUESTS[id]!;
  const answer = await api.call(method, path, { body, headers: { ...headers } as Record<string, string> });
  return answer.status;
}

test('every operation refuses a request without a key, with a wrong key, and with a key of another scope', async (t) => {
  const keys = await start(t);
  const scopes = {
    read: await keys.add(['read']),
    write: await keys.add(['write']),
    admin: await keys.add(['admin']),
  };
  const ids = operations().filter(({ operationId }) => !OTHERS.has(operationId));
  assert.deepEqual(ids.map(({ operationId }) => operationId).sort(), Object.keys(REQUESTS).sort());
  for (const { operationId, security } of ids) {
    const needed = security[0]!.key![0]!.replace('metrics', 'read');
    assert.equal(await send(keys, operationId, {}), 401, `${operationId} without a key`);
    for (const [scope, header] of Object.entries(scopes)) {
      const status = await send(keys, operationId, header);
      const what = `${operationId} needs ${needed}, the key has ${scope}: ${status}`;
      if (scope === needed || scope === 'admin') assert.ok(status !== 401 && status !== 403, what);
      else assert.equal(status, 403, what);
    }
  }
  const [, id] = scopes.admin.Authorization.split('_');
  for (const wrong of [
    `tg_${id}_${'0'.repeat(48)}`,
    `tg_${'0'.repeat(10)}_${'0'.repeat(48)}`,
    'tg_',
    TOKEN.slice(1),
  ]) {
    assert.equal(await send(keys, 'listDevices', { Authorization: `Bearer ${wrong}` }), 401, wrong);
  }
  assert.equal(
    await send(keys, 'dropRecordTable', { Authorization: `Bearer ${TOKEN}` }),
    204,
    'API_TOKEN is an admin',
  );
});

test('pages, the OpenAPI document and health need no key', async (t) => {
  const { api } = await start(t);
  for (const path of [
    '/',
    '/main.js',
    '/docs',
    '/docs/try',
    '/docs/try.js',
    '/openapi.json',
    '/healthz',
    '/readyz',
    '/vendor/uplot/uPlot.min.css',
  ])
    assert.equal((await api.call('GET', path)).status, 200, path);
  for (const path of ['/nowhere', '/v1', '/metrics', '/v1/live', '/docsx'])
    assert.equal((await api.call('GET', path)).status, 401, path);
});

test('a key as the password of Basic and as a Token is accepted', async (t) => {
  const keys = await start(t);
  const { Authorization } = await keys.add(['read']);
  const text = Authorization.split(' ')[1]!;
  const basic = `Basic ${Buffer.from(`any:${text}`).toString('base64')}`;
  for (const header of [basic, `Token ${text}`, `bearer ${text}`])
    assert.equal(await send(keys, 'listDevices', { Authorization: header }), 200, header);
  for (const header of [
    `Basic ${Buffer.from(text).toString('base64')}`,
    'Basic !',
    'Basic Og==',
    `Digest ${text}`,
    text,
  ])
    assert.equal(await send(keys, 'listDevices', { Authorization: header }), 401, header);
});

test('an expired or revoked key is refused within two seconds, and its live stream ends', async (t) => {
  const keys = await start(t);
  const expired = await keys.add(['admin'], null, new Date(Date.now() - 1000).toISOString());
  assert.equal(await send(keys, 'listDevices', expired), 401);
  const header = await keys.add(['read', 'write']);
  assert.equal(await send(keys, 'listDevices', header), 200);
  keys.revoke(header);
  await until('the refusal', async () => (await send(keys, 'listDevices', header)) === 401);
  assert.equal(await send(keys, 'putDevice', header), 401);
});

test('an export ends soon after its key was revoked, and is not complete', async (t) => {
  const keys = await start(t);
  const many = Array.from({ length: 40_000 }, (_, index) =>
    reading(index, { device: 'a', value: 'x'.repeat(200) }),
  );
  await keys.api.ingest.commit(many);
  const header = await keys.add(['read']);
  const response = await fetch(`${keys.api.url}/v1/export`, {
    headers: { ...header, 'Accept-Encoding': 'identity' },
  });
  const reader = response.body!.getReader();
  await reader.read();
  keys.revoke(header);
  await until('the refusal', async () => (await send(keys, 'listDevices', header)) === 401);
  let text = '';
  await assert.rejects(async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += Buffer.from(value).toString();
    }
  });
  const last = JSON.parse(text.trimEnd().split('\n').at(-1)!);
  assert.equal(last.complete, false);
  assert.match(last.error, /revoked/);
});

test('a key of some devices reads and changes these only, and other operations refuse it', async (t) => {
  const keys = await start(t);
  const { api } = keys;
  const mine = ['site-3', 'site-3/boiler', 'site-3/z'];
  const others = ['site-2/boiler', 'site-3-x', 'site-30', 'site-4'];
  await api.ingest.commit([...mine, ...others].map((device, index) => reading(index, { device })));
  const header = await keys.add(['admin'], 'site-3');
  for (const id of Object.keys(REQUESTS)) {
    const status = await send(keys, id, header);
    if (DEVICE_OPERATIONS.has(id)) assert.ok(status < 300, `${id}: ${status}`);
    else assert.equal(status, 403, id);
  }
  const call = (method: string, path: string, body?: unknown) =>
    api.call(method, path, { body, headers: header });
  for (const device of [...others, 'site-', 'nowhere', 'SITE-3']) {
    for (const [method, path, body] of [
      ['GET', `/v1/devices/${device}`],
      ['PUT', `/v1/devices/${device}`, {}],
      ['PATCH', `/v1/devices/${device}`, { year: 1 }],
      ['DELETE', `/v1/devices/${device}`],
      ['GET', `/v1/readings?device=${device}`],
      ['GET', `/v1/readings/latest?device=site-3&device=${device}`],
      ['GET', `/v1/readings/latest?prefix=${device}`],
      ['GET', `/v1/readings/aggregate?device=${device}&metric=m&from=0&bucket=1d`],
      ['GET', `/v1/readings/series?device=site-3&device=${device}&metric=m&from=0&bucket=9000d`],
      ['GET', `/v1/readings/groups?by=all&prefix=${device}`],
      ['GET', `/v1/export?device=site-3&device=${device}`],
      ['GET', `/v1/export?prefix=${device}`],
      ['POST', `/v1/readings?device=${device}`, { metric: 'm', v: 1 }],
      ['DELETE', `/v1/readings?device=${device}&from=0`],
      ['GET', `/v1/readings/wrong?device=site-3&device=${device}&metric=m&from=0`],
      ['POST', `/v1/readings/wrong?device=${device}&metric=m&from=0`],
      ['DELETE', `/v1/readings/wrong?device=${device}&metric=m&from=0`],
      ['PUT', `/v1/readings/unit?device=${device}&metric=m`, { unit: 'Cel' }],
      ['GET', `/v1/annotations?device=site-3&device=${device}`],
      ['POST', '/v1/annotations', { device, from: '2026-11-21T00:00Z', text: 'x' }],
      ['PUT', `/v1/annotations/${annotationId(device)}`, { text: 'x' }],
      ['DELETE', `/v1/annotations/${annotationId(device)}`],
      ['GET', `/v1/live?device=${device}`],
      ['GET', `/v1/alerts?device=${device}`],
    ] as const) {
      const answer = await call(method, path, body);
      assert.equal(answer.status, 403, `${method} ${path}`);
      assert.match(answer.body.detail, /^The key is limited to site-3 and the devices below it/);
    }
  }
  assert.equal((await call('POST', '/v1/annotations', { from: '2026-11-21T00:00Z', text: 'x' })).status, 403);
  assert.equal((await call('GET', '/v1/readings?city=Faro')).status, 403);
  const grouped = (await call('GET', '/v1/readings/groups?by=device')).body.groups;
  assert.deepEqual(
    grouped.map(({ key }: { key: string }) => key),
    mine,
  );
  const latest = (await call('GET', '/v1/readings/latest')).body.readings;
  // The loop above has deleted the registration of the other one.
  assert.deepEqual(
    latest.map(({ device }: { device: string }) => device),
    ['site-3', 'site-3/z'],
  );
  for (const query of ['', '?prefix=site-3', '?afterDevice=a&afterMetric=m&afterTime=0']) {
    const lines = String((await call('GET', `/v1/export${query}`)).body)
      .trim()
      .split('\n')
      .slice(0, -1);
    const names = lines.map((line) => (JSON.parse(line) as { device: string }).device);
    // The loop above has deleted the registration of the other one.
    assert.deepEqual([...new Set(names)], ['site-3', 'site-3/z'], query);
  }
});

test('a list of devices for a key of some devices has these only, on every page and with every filter', async (t) => {
  const keys = await start(t);
  const { store } = keys.api;
  const names = [
    'site-3',
    'site-3-a',
    'site-3.b',
    'site-30',
    'site-2',
    'a',
    'z',
    ...Array.from({ length: 120 }, (_, n) => `site-3/${n}`),
  ];
  for (const name of names)
    await store.devices.put({
      name,
      site: null,
      city: name.length % 2 ? 'Faro' : 'Porto',
      kind: null,
      year: 2019,
      attributes: {},
    });
  const header = await keys.add(['read'], 'site-3');
  const all = await keys.add(['read']);
  const read = async (query: string, headers: Header) => {
    const found: string[] = [];
    let cursor = '';
    do {
      const { body } = await keys.api.call('GET', `/v1/devices?limit=7${query}${cursor}`, {
        headers: { ...headers },
      });
      found.push(...body.devices.map(({ name }: { name: string }) => name));
      cursor = body.next === null ? '' : `&cursor=${encodeURIComponent(body.next)}`;
    } while (cursor !== '');
    return found;
  };
  const isMine = (name: string) => name === 'site-3' || name.startsWith('site-3/');
  assert.deepEqual(await read('', header), names.filter(isMine).sort());
  const everything = await read('&city=Faro', all);
  assert.deepEqual(await read('&city=Faro', header), everything.filter(isMine));
  assert.equal((await read('', all)).length, names.length);
  // A cursor of another key is not accepted.
  const { body } = await keys.api.call('GET', '/v1/devices?limit=1', { headers: { ...all } });
  const stolen = await keys.api.call('GET', `/v1/devices?limit=1&cursor=${encodeURIComponent(body.next)}`, {
    headers: { ...header },
  });
  assert.equal(stolen.status, 400);
});

test('a key of some devices finds these only through the requests of OpenTSDB, whatever the filters', async (t) => {
  const keys = await start(t);
  const { api } = keys;
  const [mine, others] = [
    ['site-3', 'site-3/boiler'],
    ['site-2/boiler', 'site-3-x', 'site-30'],
  ];
  await api.ingest.commit(mine.map((device) => reading(1, { device, metric: 'mine' })));
  await api.ingest.commit(others.map((device) => reading(1, { device, metric: 'others' })));
  await api.ingest.commit([...mine, ...others].map((device) => reading(2, { device, metric: 'all' })));
  const headers = { ...(await keys.add(['read'], 'site-3')) };
  const get = async (path: string) => (await api.call('GET', path, { headers })).body;
  // Another sender must not fill the names.
  await api.call('GET', '/api/suggest?type=metrics', { headers: { Authorization: `Bearer ${TOKEN}` } });
  assert.deepEqual(await get('/api/suggest?type=metrics'), ['all', 'mine']);
  assert.deepEqual(await get('/api/suggest?type=tagv'), mine);
  for (const filter of ['', '{device=*}', '{device=site-2/boiler|site-3/boiler|site-3}', '{prefix=*}']) {
    const found = await get(`/api/search/lookup?m=${encodeURIComponent(`*${filter}`)}`);
    assert.deepEqual(
      [...new Set(found.results.map(({ tags }: { tags: Tags }) => tags.device))],
      mine,
      filter,
    );
    const body = await get(`/api/query?start=0&m=${encodeURIComponent(`none:all${filter}`)}`);
    assert.deepEqual(
      body.map(({ tags }: { tags: Tags }) => tags.device),
      mine,
      filter,
    );
  }
  assert.deepEqual(await get('/api/query?start=0&m=none:others{device=site-2/boiler}'), []);
});

test('what a key of some devices delivers is stored below its device, whatever the body names', async (t) => {
  const keys = await start(t);
  const header = { ...(await keys.add(['write'], 'site-3')) };
  const body = [{ device: 'site-4/boiler', metric: 'm', v: 1 }];
  assert.equal((await keys.api.call('POST', '/v1/readings', { body, headers: header })).status, 202);
  await keys.api.call('POST', '/v1/readings?device=site-3/b', { body, headers: header });
  // Ingest resolves the names of the body below this device: packages/readings/src/naming.ts.
  const queries = keys.api.ingest.delivered.map(({ url }) =>
    new URL(url, 'http://x').searchParams.get('device'),
  );
  assert.deepEqual(queries, ['site-3', 'site-3/b']);
});

test('the live stream of a key of some devices has their readings only, without ids and counts', async (t) => {
  const keys = await start(t);
  const { api } = keys;
  const header = await keys.add(['read'], 'site-3');
  const abort = new AbortController();
  const response = await fetch(`${api.url}/v1/live`, {
    headers: { ...header, 'Last-Event-ID': 'x-1-1' },
    signal: abort.signal,
  });
  t.after(() => abort.abort());
  let text = '';
  void (async () => {
    for await (const chunk of response.body!) text += Buffer.from(chunk).toString();
  })().catch(() => {});
  await until('the feed', () => api.ingest.listeners === 1);
  const devices = ['site-4', 'site-3-x', 'site-3/boiler'];
  await api.ingest.commit(devices.map((device) => reading(1, { device })));
  await until('the reading', () => text.includes('site-3/boiler'));
  assert.match(text, /event: readings\ndata: \{"readings":\[\{"device":"site-3\/boiler"/);
  assert.doesNotMatch(text, /site-4|site-3-x|^id:/m);
  assert.ok(text.includes(formatTime(reading(1).time)));
});

test('with OPEN_READS reads need no key and changes do; a wrong key is refused', async (t) => {
  const keys = await start(t, { openReads: true });
  assert.equal(await send(keys, 'listDevices', {}), 200);
  assert.equal(await send(keys, 'metrics', {}), 200);
  assert.equal(await send(keys, 'putDevice', {}), 401);
  assert.equal(await send(keys, 'listDevices', { Authorization: 'Bearer wrong' }), 401);
});

test('the metrics token reads metrics only, and OPEN_METRICS opens these only', async (t) => {
  const keys = await start(t, { metricsToken: 'the-token-of-prometheus' });
  const header = { Authorization: 'Bearer the-token-of-prometheus' };
  assert.equal(await send(keys, 'metrics', header), 200);
  assert.equal(await send(keys, 'listDevices', header), 401);
  assert.equal(await send(keys, 'putDevice', header), 401);
  const open = await start(t, { openMetrics: true });
  assert.equal(await send(open, 'metrics', {}), 200);
  assert.equal(await send(open, 'getLedger', {}), 401);
});

test('the read token reads everything and changes nothing, also as the password of Basic', async (t) => {
  const token = 'the-token-of-grafana';
  const keys = await start(t, { readToken: token });
  const basic = `Basic ${Buffer.from(`grafana:${token}`).toString('base64')}`;
  for (const Authorization of [`Bearer ${token}`, basic]) {
    assert.equal(await send(keys, 'listDevices', { Authorization }), 200);
    assert.equal(await send(keys, 'tsdbPostQuery', { Authorization }), 200);
    assert.equal(await send(keys, 'metrics', { Authorization }), 200);
    for (const id of ['putDevice', 'deliverReadings', 'listAudit'])
      assert.equal(await send(keys, id, { Authorization }), 403, id);
  }
});

test('on loopback, the first key makes changes need one, and reads stay open', async (t) => {
  const keys = await start(t, { httpListen: '127.0.0.1', apiToken: null });
  assert.equal(await send(keys, 'putDevice', {}), 201);
  const header = await keys.add(['write']);
  await until('the refusal', async () => (await send(keys, 'putDevice', {})) === 401);
  assert.equal(await send(keys, 'putDevice', header), 200);
  assert.equal(await send(keys, 'listDevices', {}), 200);
});

test('a key of some devices sees the alerts and the counts of these only', async (t) => {
  const keys = await start(t);
  const alert = (device: string): AlertDocument => ({
    id: '0'.repeat(24),
    rule: 'hot',
    severity: 'warning',
    state: 'active',
    kind: 'above',
    device,
    metric: 'm',
    limit: 1,
    value: 2,
    since: null,
    raised: formatTime(0),
    ended: null,
    reason: null,
  });
  keys.api.ingest.alerts = ['site-3', 'site-3/a', 'site-30', 'site-2'].map(alert);
  const headers = { ...(await keys.add(['read'], 'site-3')) };
  const { body } = await keys.api.call('GET', '/v1/alerts', { headers });
  assert.deepEqual(
    body.alerts.map(({ device }: AlertDocument) => device),
    ['site-3', 'site-3/a'],
  );
  assert.equal(body.active.warning, 2);
  const below = await keys.api.call('GET', '/v1/alerts?device=site-3/a', { headers });
  assert.equal(below.body.alerts.length, 1);
});

test('keys create warns while no key may change everything', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-keys-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const create = (scope: string) =>
    runHere(program, 'create', 'x', '--scopes', scope, '--api-keys', join(folder, 'keys.json'));
  assert.match((await create('read')).stderr, /warning: no key has the scope admin, .*--scopes admin/);
  assert.doesNotMatch((await create('admin')).stderr, /warning/);
  assert.doesNotMatch((await create('read')).stderr, /warning/);
});

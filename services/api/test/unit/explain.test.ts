import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type CauseDocument, formatNames, statefulFormats } from '@tidegauge/readings';
import { changeKeys, newKey, type Scope, withKey } from '@tidegauge/service';
import { readOpenApi } from '../../src/openapi.ts';
import { FakeIngest } from '../fake-ingest.ts';
import { startApi } from '../harness.ts';

const TOKEN = 'a-long-and-random-token';
const MESSAGE = { topic: 'tele/attic/SENSOR', payload: '{"t":21.5}' };

function cause(topic: string, count: number, second: number): CauseDocument {
  const received = `2026-11-21T14:00:0${second}.000000Z`;
  return {
    reason: 'unknown_topic',
    route: null,
    topic,
    count,
    last: { id: `ingest-1.${second}`, topic, detail: 'it matches no route', received },
    fix: `add a route: - topic: ${topic}`,
    proposals: [{ topic }],
  };
}

test('a message is explained by ingest, and bad requests do not reach it', async (t) => {
  const api = await startApi(t);
  const answer = await api.call('POST', '/v1/explain', {
    body: { ...MESSAGE, route: { preset: 'tasmota' } },
  });
  assert.equal(answer.status, 200);
  assert.equal(answer.body.route.name, 'default');
  assert.deepEqual(api.ingest.explained, [{ ...MESSAGE, route: { preset: 'tasmota' } }]);
  const refused = async (body: unknown, status: number, detail: RegExp) => {
    const refusal = await api.call('POST', '/v1/explain', { body });
    assert.equal(refusal.status, status, JSON.stringify(refusal.body));
    assert.match(refusal.body.detail, detail);
  };
  await refused({ topic: 'a' }, 400, /body\/payload: is required/);
  await refused({ ...MESSAGE, topic: 'a/#' }, 400, /body\/topic: .*without \+, #/);
  await refused({ ...MESSAGE, payload: 'a*', encoding: 'base64' }, 400, /body\/payload: .*base64/);
  await refused({ ...MESSAGE, fromat: 'json' }, 400, /did you mean format/);
  await refused({ ...MESSAGE, format: 'senml-jsno' }, 400, /did you mean senml-json/);
  await refused({ ...MESSAGE, route: {} }, 400, /body\/route/);
  await refused({ ...MESSAGE, payload: 'x'.repeat(70_000) }, 413, /too large/);
  const drop = Array.from({ length: 10_001 }, () => 1);
  await refused({ ...MESSAGE, route: { topic: 'a', mapping: { drop } } }, 413, /more than 10000 values/);
  assert.equal(api.ingest.explained.length, 1);
  const media = await api.call('POST', '/v1/explain', {
    body: '1',
    headers: { 'Content-Type': 'text/plain' },
  });
  assert.equal(media.status, 415);
});

test('the formats of the document are those of the readings package', () => {
  const { paths } = readOpenApi() as unknown as {
    // biome-ignore lint/suspicious/noExplicitAny: one schema of the document
    paths: Record<string, any>;
  };
  const { properties } = paths['/v1/explain'].post.requestBody.content['application/json'].schema;
  assert.deepEqual(properties.format.enum, [...formatNames, ...Object.keys(statefulFormats)]);
});

test('causes of all ingest processes are merged, the most frequent first', async (t) => {
  const other = await FakeIngest.start((await startApi(t)).store, 'ingest-2');
  t.after(() => other.stop());
  const first = await startApi(t, { timeoutMs: 1000 });
  const api = await startApi(t, { ingest: [first.ingest.url, other.url] });
  first.ingest.causes = [cause('a/{device}', 3, 1), cause('b/{device}', 4, 1)];
  other.causes = [cause('a/{device}', 2, 5)];
  const { status, body } = await api.call('GET', '/v1/quarantine/causes');
  assert.equal(status, 200);
  assert.deepEqual(
    body.causes.map((each: CauseDocument) => [each.topic, each.count, each.last.id]),
    [
      ['a/{device}', 5, 'ingest-1.5'],
      ['b/{device}', 4, 'ingest-1.1'],
    ],
  );
  assert.deepEqual([body.messages, body.total, body.unlisted, body.unreachable], [9, 9, 0, []]);
  const many = Array.from({ length: 300 }, (_, n) => cause(`t-${n}/{device}`, 1, 1));
  other.causes = many;
  const bounded = await api.call('GET', '/v1/quarantine/causes');
  assert.deepEqual([bounded.body.causes.length, bounded.body.unlisted, bounded.body.total], [200, 102, 307]);
});

test('a route is added to all ingest processes, with an audit entry, and a refusal of all of them is passed on', async (t) => {
  const other = await FakeIngest.start((await startApi(t)).store, 'ingest-2');
  t.after(() => other.stop());
  const first = await startApi(t);
  const api = await startApi(t, { ingest: [first.ingest.url, other.url], config: { apiToken: TOKEN } });
  const headers = { Authorization: `Bearer ${TOKEN}` };
  const body = { route: { preset: 'zigbee2mqtt' } };
  const added = await api.call('POST', '/v1/routes', { body, headers });
  assert.equal(added.status, 200);
  assert.deepEqual(added.body.instances.map(({ instance }: { instance: string }) => instance).sort(), [
    'ingest-1',
    'ingest-2',
  ]);
  assert.deepEqual([first.ingest.routes, other.routes], [[body], [body]]);
  const audit = await api.call('GET', '/v1/audit', { headers });
  assert.deepEqual(
    audit.body.entries.map(({ action, outcome }: Record<string, string>) => [action, outcome]),
    [['addRoute', 'done']],
  );

  const detail = 'the routes file routes.yml cannot be written: EROFS: it is mounted read-only.';
  const problem = JSON.stringify({ title: 'Routes file not writable', detail });
  first.ingest.intercept = (request, response) => {
    if (request.url !== '/routes') return false;
    response.writeHead(409, { 'Content-Type': 'application/problem+json' }).end(problem);
    return true;
  };
  const partly = await api.call('POST', '/v1/routes', { body, headers });
  assert.equal(partly.status, 200);
  assert.equal(partly.body.unreachable[0].reason, detail);
  other.intercept = first.ingest.intercept;
  const refused = await api.call('POST', '/v1/routes', { body, headers });
  assert.deepEqual([refused.status, refused.body.detail], [409, detail]);
  assert.equal((await api.call('POST', '/v1/routes', { body: { route: 1 }, headers })).status, 400);
  assert.equal((await api.call('POST', '/v1/routes', { body: {}, headers })).status, 400);
});

test('causes and routes need the scope admin, an explanation write, and a key of some devices gets none of them', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-explain-'));
  t.after(() => rm(directory, { recursive: true }));
  const apiKeys = join(directory, 'keys.json');
  const make = (scopes: readonly Scope[], devices: string | null = null) => {
    const made = newKey({ name: `${scopes}`, scopes, devices, expires: null }, Date.now());
    changeKeys(apiKeys, (keys) => withKey(keys, made.key, Date.now()));
    return { Authorization: `Bearer ${made.text}` };
  };
  const [admin, write, read, limited] = [
    make(['admin']),
    make(['write']),
    make(['read']),
    make(['read', 'write'], 'site-3'),
  ];
  const api = await startApi(t, { config: { httpListen: '0.0.0.0', apiKeys } });
  const statuses = async (headers: Record<string, string>) => [
    (await api.call('POST', '/v1/explain', { body: MESSAGE, headers })).status,
    (await api.call('GET', '/v1/quarantine/causes', { headers })).status,
    (await api.call('POST', '/v1/routes', { body: { route: { preset: 'tasmota' } }, headers })).status,
  ];
  assert.deepEqual(await statuses(admin), [200, 200, 200]);
  assert.deepEqual(await statuses(write), [200, 403, 403]);
  assert.deepEqual(await statuses(read), [403, 403, 403]);
  assert.deepEqual(await statuses(limited), [403, 403, 403]);
  assert.deepEqual(await statuses({}), [401, 401, 401]);
  assert.deepEqual([api.ingest.explained.length, api.ingest.routes.length], [2, 1]);
});

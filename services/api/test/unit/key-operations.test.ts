import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Api, startApi, until } from '../harness.ts';

const TOKEN = 'a-long-and-random-token';
const OWNER = { Authorization: `Bearer ${TOKEN}` };

async function start(t: TestContext, config: object = { apiToken: TOKEN }): Promise<Api & { file: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-key-operations-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const apiKeys = join(folder, 'keys.json');
  return { ...(await startApi(t, { config: { apiKeys, ...config } })), file: apiKeys };
}

test('a key is made, shown once, listed without its text, and revoked', async (t) => {
  const api = await start(t);
  const sent = { name: 'gateway', scopes: ['write'], devices: 'site-3', expiresInDays: 30 };
  const made = await api.call('POST', '/v1/keys', { body: sent, headers: OWNER });
  assert.equal(made.status, 201);
  assert.equal(made.headers.get('Cache-Control'), 'no-store');
  const { text, key } = made.body;
  assert.equal(Date.parse(key.expires) - Date.parse(key.created), 30 * 86_400_000);
  const headers = { Authorization: `Bearer ${text}` };
  const device = (name: string) =>
    api.call('PUT', `/v1/devices/${name}`, { body: { city: 'Faro' }, headers });
  await until('the key', async () => (await device('site-3/a')).status !== 401);
  assert.equal((await device('site-4/a')).status, 403);
  const listed = await api.call('GET', '/v1/keys', { headers: OWNER });
  assert.deepEqual(listed.body, { keys: [{ ...key, state: 'valid' }] });
  assert.doesNotMatch(readFileSync(api.file, 'utf8'), new RegExp(text));
  assert.equal((await api.call('DELETE', `/v1/keys/${key.id}`, { headers: OWNER })).status, 204);
  await until('the refusal', async () => (await device('site-3/a')).status === 401);
  const { body: after } = await api.call('GET', '/v1/keys', { headers: OWNER });
  assert.equal(after.keys[0].state, 'revoked');
  assert.equal((await api.call('DELETE', '/v1/keys/0123456789', { headers: OWNER })).status, 404);
  const { body: audit } = await api.call('GET', '/v1/audit', { headers: OWNER });
  const changes = audit.entries.filter(({ kind }: { kind: string }) => kind === 'token');
  assert.deepEqual(
    changes.map(({ action, outcome }: { action: string; outcome: string }) => `${action} ${outcome}`),
    ['revokeKey refused', 'revokeKey done', 'createKey done'],
  );
  assert.doesNotMatch(JSON.stringify([after, audit]), new RegExp(text));
});

test('a key that cannot be used is refused, and the file stays', async (t) => {
  const api = await start(t);
  const key = { name: 'a', scopes: ['read'] };
  for (const wrong of [
    { ...key, name: '' },
    { ...key, name: 'a\nb' },
    { ...key, scopes: [] },
    { ...key, scopes: ['root'] },
    { ...key, scopes: ['read', 'read'] },
    { ...key, devices: '../a' },
    { ...key, expiresInDays: 0 },
    { ...key, expiresInDays: 1e9 },
    { ...key, sha256: '0' },
  ])
    assert.equal((await api.call('POST', '/v1/keys', { body: wrong, headers: OWNER })).status, 400);
  // Its length is counted otherwise in the file.
  for (const wrong of [
    { ...key, name: '🔑'.repeat(60) },
    { name: 'a', scopes: ['admin'], devices: 'site-3' },
  ])
    assert.equal((await api.call('POST', '/v1/keys', { body: wrong, headers: OWNER })).status, 409);
  assert.deepEqual((await api.call('GET', '/v1/keys', { headers: OWNER })).body, { keys: [] });
});

test('the first key of an installation without a login is for an administrator', async (t) => {
  const api = await start(t, {});
  const refused = await api.call('POST', '/v1/keys', { body: { name: 'a', scopes: ['read', 'write'] } });
  assert.equal(refused.status, 409);
  assert.match(refused.body.detail, /scope admin first/);
  const { body } = await api.call('POST', '/v1/keys', { body: { name: 'me', scopes: ['admin'] } });
  const headers = { Authorization: `Bearer ${body.text}` };
  await until('the login', async () => (await api.call('GET', '/v1/keys')).status === 401);
  const next = await api.call('POST', '/v1/keys', { body: { name: 'a', scopes: ['read'] }, headers });
  assert.equal(next.status, 201);
});

test('without a file of keys, and without a file of passwords, the answer states what is missing', async (t) => {
  const api = await start(t, { apiKeys: null });
  api.ingest.passwords = null;
  for (const [method, path] of [
    ['GET', '/v1/keys'],
    ['GET', '/v1/passwords'],
  ] as const) {
    const { status, body } = await api.call(method, path);
    assert.equal(status, 409);
    assert.match(body.detail, /file/);
  }
});

test('a password of a sensor is made, replaced when that is requested, and removed', async (t) => {
  const api = await start(t);
  const set = (body: object) => api.call('POST', '/v1/passwords', { body, headers: OWNER });
  const user = 'küche/<a>';
  const first = await set({ user });
  assert.equal(first.status, 201);
  assert.equal(first.headers.get('Cache-Control'), 'no-store');
  assert.match(first.body.password, /^[\w-]{24}$/);
  assert.equal(api.ingest.passwords!.get(user), first.body.password);
  assert.equal((await set({ user })).status, 409);
  const second = await set({ user, replace: true });
  assert.notEqual(second.body.password, first.body.password);
  assert.deepEqual(second.body.instances, [{ instance: 'ingest-1', replaced: true }]);
  const { body: listed } = await api.call('GET', '/v1/passwords', { headers: OWNER });
  assert.deepEqual(listed, { users: [user], total: 1, unreachable: [] });
  for (const wrong of ['', 'a:b', '#a', 'a\u0000']) assert.equal((await set({ user: wrong })).status, 400);
  const remove = () =>
    api.call('DELETE', `/v1/passwords?user=${encodeURIComponent(user)}`, { headers: OWNER });
  assert.equal((await remove()).status, 200);
  assert.equal((await remove()).status, 404);
  const { body: audit } = await api.call('GET', '/v1/audit', { headers: OWNER });
  assert.doesNotMatch(JSON.stringify(audit), new RegExp(second.body.password));
});

import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { Sessions, tokenPrincipal } from '@tidegauge/service';
import { type Api, startApi } from '../harness.ts';

const TOKEN = 'a-long-and-random-token';
const LOGIN = { Authorization: `Bearer ${TOKEN}` };

async function signIn(api: Api): Promise<{ cookie: string; csrf: string; full: string }> {
  const { status, headers, body } = await api.call('POST', '/v1/session', { headers: LOGIN });
  assert.equal(status, 200);
  const full = headers.get('Set-Cookie')!;
  return { cookie: full.split(';')[0]!, csrf: body.csrf, full };
}

function start(t: Parameters<typeof startApi>[0]): Promise<Api> {
  return startApi(t, { config: { httpListen: '0.0.0.0', apiToken: TOKEN } });
}

test('a key is exchanged for a cookie that no script can read and no other site sends', async (t) => {
  const api = await start(t);
  const { cookie, csrf, full } = await signIn(api);
  assert.match(full, /; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/);
  assert.ok(!full.includes(TOKEN) && csrf.length >= 43 && !cookie.includes(csrf));
  const read = await api.call('GET', '/v1/devices', { headers: { Cookie: `a=b; ${cookie}; c=d` } });
  assert.equal(read.status, 200);
  const who = await api.call('GET', '/v1/session', { headers: { Cookie: cookie } });
  assert.deepEqual([who.body.sender, who.body.csrf], ['API_TOKEN', csrf]);
  assert.equal(who.headers.get('Cache-Control'), 'no-store');
});

test('a change with the cookie needs the text of the session, and is refused from another site', async (t) => {
  const api = await start(t);
  const { cookie, csrf } = await signIn(api);
  const put = async (headers: Record<string, string>) =>
    (await api.call('PUT', '/v1/devices/a', { body: {}, headers: { Cookie: cookie, ...headers } })).status;
  assert.equal(await put({}), 403);
  assert.equal(await put({ 'X-CSRF-Token': `${csrf}x` }), 403);
  assert.equal(await put({ 'X-CSRF-Token': csrf, Origin: 'https://evil.example' }), 403);
  assert.equal(await put({ 'X-CSRF-Token': csrf, 'Sec-Fetch-Site': 'cross-site' }), 401);
  assert.equal(await put({ 'X-CSRF-Token': csrf, 'Sec-Fetch-Site': 'same-site' }), 401);
  assert.equal(await put({ 'X-CSRF-Token': csrf, 'Sec-Fetch-Site': 'same-origin' }), 201);
  for (const site of ['cross-site', 'same-site']) {
    const headers = { Cookie: cookie, 'Sec-Fetch-Site': site };
    assert.equal((await api.call('GET', '/v1/devices', { headers })).status, 401, site);
  }
  // The lane of records checks the same.
  const record = (headers: Record<string, string>) =>
    api.call('PUT', '/v1/records/t/k', {
      body: { fields: { field0: 'x' } },
      headers: { Cookie: cookie, ...headers },
    });
  assert.equal((await record({})).status, 403);
  assert.equal((await record({ 'X-CSRF-Token': csrf })).status, 404);
});

test('a session ends with a sign-out, and a wrong cookie is none', async (t) => {
  const api = await start(t);
  const { cookie, csrf } = await signIn(api);
  const status = async (Cookie: string) =>
    (await api.call('GET', '/v1/devices', { headers: { Cookie } })).status;
  for (const wrong of ['tidegauge=', 'tidegauge=x', `${cookie}x`, cookie.replace('tidegauge', 'other')])
    assert.equal(await status(wrong), 401, wrong);
  assert.equal((await api.call('DELETE', '/v1/session', { headers: { Cookie: cookie } })).status, 403);
  assert.equal(await status(cookie), 200);
  const out = await api.call('DELETE', '/v1/session', { headers: { Cookie: cookie, 'X-CSRF-Token': csrf } });
  assert.match(out.headers.get('Set-Cookie')!, /^tidegauge=; Max-Age=0/);
  assert.equal(await status(cookie), 401);
});

test('without a login there is no session, and its description reveals nothing', async (t) => {
  const api = await start(t);
  assert.equal((await api.call('POST', '/v1/session')).status, 401);
  const none = { sender: null, scopes: [], devices: null, expires: null, csrf: null };
  assert.deepEqual((await api.call('GET', '/v1/session')).body, none);
  const open = await startApi(t);
  const { headers, body } = await open.call('POST', '/v1/session');
  assert.equal(headers.get('Set-Cookie'), null);
  assert.deepEqual(body.scopes, ['read', 'write', 'admin']);
});

test('sessions are bounded, in all and for each key, and end after their lifetime', () => {
  let now = 0;
  const sessions = new Sessions(1000, () => now);
  const request = (cookie?: string) =>
    Object.assign(new IncomingMessage(new Socket()), { headers: cookie === undefined ? {} : { cookie } });
  const begin = (id: string) => sessions.begin(tokenPrincipal(id), request()).cookie.split(';')[0]!;
  const isOpen = (cookie: string) => sessions.find(request(cookie)) !== null;
  const other = begin('other');
  const own = Array.from({ length: 21 }, () => begin('own'));
  assert.deepEqual([isOpen(own[0]!), isOpen(own[1]!), isOpen(other), sessions.size], [false, true, true, 21]);
  for (let key = 0; key < 985; key++) begin(`key ${key}`);
  assert.equal(sessions.size, 1000);
  assert.equal(isOpen(other), true, 'the key with the most sessions loses one');
  now = 1000;
  assert.equal(isOpen(other), false);
  begin('own');
  assert.equal(sessions.size, 1);
});

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createLogger, createServiceApp, listen, Metrics } from '@tidegauge/service';
import { passwordOperations } from '../../src/direct/password-operations.ts';
import { matchesPassword, parsePasswords } from '../../src/direct/passwords.ts';

async function start(t: TestContext, isConfigured = true) {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-password-operations-'));
  const file = join(folder, 'passwords');
  writeFileSync(file, '# sensors of the attic\n', { mode: 0o600 });
  const app = createServiceApp({
    operations: passwordOperations({ passwords: isConfigured ? file : null, instance: 'ingest-1' }),
    logger: createLogger('test', 'silent'),
    metrics: new Metrics(),
    checks: {},
    listen: '127.0.0.1',
  });
  const server = await listen(app, '127.0.0.1', 0, 'the test');
  t.after(async () => {
    await server.close(0);
    rmSync(folder, { recursive: true });
  });
  const call = async (method: string, query = '', body?: object) => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${server.url}/passwords${query}`, { method, ...sent });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  return { file, call };
}

test('a password is set, replaced when that is requested, and removed; comments of the file stay', async (t) => {
  const { file, call } = await start(t);
  const user = 'küche/a b';
  const first = await call('POST', '', { user, password: 'first' });
  assert.deepEqual(first, { status: 200, body: { instance: 'ingest-1', replaced: false } });
  assert.equal((await call('POST', '', { user, password: 'other' })).status, 409);
  const matches = (password: string) =>
    matchesPassword(parsePasswords(readFileSync(file, 'utf8'), file).get(user)!, Buffer.from(password));
  assert.equal(await matches('first'), true);
  assert.equal((await call('POST', '', { user, password: 'second', replace: true })).status, 200);
  assert.equal(await matches('second'), true);
  assert.deepEqual((await call('GET')).body, { instance: 'ingest-1', users: [user], total: 1 });
  const query = `?user=${encodeURIComponent(user)}`;
  assert.equal((await call('DELETE', query)).status, 200);
  assert.equal((await call('DELETE', query)).status, 404);
  assert.equal((await call('DELETE')).status, 404);
  assert.equal(readFileSync(file, 'utf8'), '# sensors of the attic\n');
});

test('of two requests at once for a new login, one is refused', async (t) => {
  const { call } = await start(t);
  const both = await Promise.all(
    ['one', 'two'].map((password) => call('POST', '', { user: 'attic', password })),
  );
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 409]);
});

test('a name or a password that the file cannot have is refused, and so is a file with a mistake', async (t) => {
  const { file, call } = await start(t);
  for (const [body, status] of [
    [{ user: 'a' }, 400],
    [{ user: 1, password: 'b' }, 400],
    [{ user: '', password: 'b' }, 422],
    [{ user: 'a:b', password: 'b' }, 422],
    [{ user: '#a', password: 'b' }, 422],
    [{ user: 'a\nroot', password: 'b' }, 422],
    [{ user: 'a', password: '' }, 422],
    [{ user: 'a', password: 'b\u0000' }, 422],
  ] as const)
    assert.equal((await call('POST', '', body)).status, status, JSON.stringify(body));
  writeFileSync(file, 'no colon\n');
  assert.equal((await call('POST', '', { user: 'a', password: 'b' })).status, 409);
  assert.equal((await call('GET')).status, 409);
  assert.equal(readFileSync(file, 'utf8'), 'no colon\n');
});

test('without a file of passwords the answer states how one is used', async (t) => {
  const { call } = await start(t, false);
  const { status, body } = await call('GET');
  assert.equal(status, 409);
  assert.match(String(body.detail), /LISTEN_PASSWORDS/);
});

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { waitUntil } from '@tidegauge/process';
import { createLogger, loadConfig } from '@tidegauge/service';
import { API_SCHEMA } from '../../src/config.ts';
import { startApi } from '../../src/service.ts';

async function newFile(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-starting-'));
  t.after(() => rm(directory, { recursive: true }));
  return join(directory, 'test.db');
}

function start(store: string) {
  const config = loadConfig(API_SCHEMA, [], { STORE: store, HTTP_PORT: '0' });
  return startApi(config, createLogger('api', 'silent'));
}

/** Locks the file as a program does that another one has to wait for. */
function lock(file: string): DatabaseSync {
  const other = new DatabaseSync(file);
  other.exec('begin exclusive');
  return other;
}

test('an API whose store does not answer yet is alive, refuses requests, and serves as soon as it answers', async (t) => {
  const file = await newFile(t);
  const other = lock(file);
  const api = await start(`sqlite:${file}?busy=50`);
  t.after(() => api.stop());
  const ask = (path: string) => fetch(new URL(path, api.url));
  assert.equal((await ask('/healthz')).status, 200);
  for (const path of ['/readyz', '/', '/v1/devices', '/v1/records/usertable/1']) {
    const response = await ask(path);
    assert.equal(response.status, 503, path);
    assert.notEqual(response.headers.get('retry-after'), null, path);
    assert.equal(response.headers.get('content-type'), 'application/problem+json; charset=utf-8', path);
  }
  other.exec('rollback');
  await waitUntil('the API to be ready', async () => (await ask('/readyz')).status === 200, {
    timeoutMs: 10_000,
  });
  assert.equal((await ask('/v1/devices')).status, 200);
  other.close();
});

test('an API whose store never answers ends when it is stopped', async (t) => {
  const file = await newFile(t);
  const other = lock(file);
  const api = await start(`sqlite:${file}?busy=50`);
  await api.stop();
  await assert.rejects(fetch(api.url));
  other.close();
});

test('an API ends when its store turns out to be of a newer version', async (t) => {
  const file = await newFile(t);
  const other = lock(file);
  const api = await start(`sqlite:${file}?busy=50`);
  t.after(() => api.stop());
  other.exec('create table recent (id integer); pragma user_version = 999; commit');
  await assert.rejects(api.failed!, { name: 'StoreError', code: 'MISCONFIGURED' });
  other.close();
});

import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ApiKey,
  ConfigError,
  changeKeys,
  createLogger,
  hasDigest,
  KeyFile,
  keyIdOf,
  MAX_KEYS,
  newKey,
  readKeys,
  withKey,
} from '../../../src/index.ts';

const NOW = Date.UTC(2026, 10, 23);

function file(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-keys-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, 'keys.json');
}

function make(name = 'a', more: Partial<ApiKey> = {}) {
  const { text, key } = newKey({ name, scopes: ['read'], devices: null, expires: null }, NOW);
  return { text, key: { ...key, ...more } };
}

function open(t: TestContext, path: string): KeyFile {
  const keys = new KeyFile(path, createLogger('test', 'silent'), 10);
  t.after(() => keys.close());
  return keys;
}

async function until(condition: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 5000; !condition(); await sleep(5)) assert.ok(Date.now() < deadline);
}

test('a key has an id, at least 128 random bits, and only its digest is stored', (t) => {
  const path = file(t);
  const { text, key } = make();
  assert.match(text, /^tg_[0-9a-f]{10}_[0-9a-f]{48}$/);
  assert.equal(keyIdOf(text), key.id);
  assert.notEqual(make().text, text);
  changeKeys(path, (keys) => withKey(keys, key, NOW));
  const stored = readFileSync(path, 'utf8');
  assert.ok(!stored.includes(text.split('_')[2]!));
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const [found] = readKeys(path)!.keys;
  const digest = Buffer.from(found!.sha256, 'hex');
  assert.ok(hasDigest(text, digest));
  const last = text.at(-1) === '0' ? '1' : '0';
  assert.ok(!hasDigest(text.slice(0, -1) + last, digest));
  assert.ok(!hasDigest('', null));
});

test('a changed file is read again, a removed one has no keys, and one with a mistake keeps the last keys', async (t) => {
  const path = file(t);
  const [first, second] = [make('first').key, make('second').key];
  const keys = open(t, path);
  assert.equal(keys.existed, false);
  changeKeys(path, () => [first]);
  await until(() => keys.find(first.id) !== undefined);
  changeKeys(path, () => [second]);
  await until(() => keys.find(second.id) !== undefined);
  assert.equal(keys.find(first.id), undefined);
  writeFileSync(path, '{"keys":[{"id":1}]}');
  await sleep(100);
  assert.ok(keys.find(second.id));
  rmSync(path);
  await until(() => keys.find(second.id) === undefined);
  assert.equal(keys.existed, true);
});

test('a file that other users can change, or with a mistake, is refused with the place and the fix', (t) => {
  const path = file(t);
  const { key } = make();
  const refused = (text: string, message: RegExp, mode = 0o600) => {
    writeFileSync(path, text);
    chmodSync(path, mode);
    assert.throws(
      () => open(t, path),
      (error) => error instanceof ConfigError && message.test(error.message),
      text,
    );
  };
  const list = (...keys: object[]) => JSON.stringify({ keys });
  refused(list(key), /can be changed by other users.*chmod 600/, 0o666);
  refused('{', /cannot be read: /);
  refused('{}', /has no list "keys"/);
  refused(list({ ...key, scopes: ['all'] }), /key 1: scopes must be/);
  refused(list(key, { ...key, sha256: 'x' }), /key 2: sha256/);
  refused(list(key, key), /two keys with the same id/);
  refused(list({ ...key, expires: 'tomorrow' }), /expires must be a time/);
  refused(list(...new Array(MAX_KEYS + 1).fill(key)), /at most 1000 are read/);
  refused(' '.repeat(2 ** 20 + 1), /at most 1048576/);
});

test('two commands cannot change the file at once, and an error leaves the old file', (t) => {
  const path = file(t);
  const { key } = make();
  changeKeys(path, () => [key]);
  changeKeys(path, (keys) => {
    assert.throws(() => changeKeys(path, () => []), /another command is changing/);
    return keys;
  });
  assert.throws(() =>
    changeKeys(path, () => {
      throw new Error('no');
    }),
  );
  assert.deepEqual(readKeys(path)!.keys, [key]);
});

test('a missing directory is made for a change, and not for one that is refused', (t) => {
  const path = join(file(t), 'data/keys.json');
  const refuse = (): never => {
    throw new ConfigError(['there is no such key']);
  };
  assert.throws(() => changeKeys(path, refuse), { message: 'there is no such key' });
  assert.equal(existsSync(join(path, '../..')), false);
  changeKeys(path, () => [make().key]);
  assert.equal(readKeys(path)!.keys.length, 1);
});

test('a full file loses a key that has ended, and never a valid one', () => {
  const keys = Array.from({ length: MAX_KEYS }, (_, index) => make(String(index)).key);
  assert.throws(() => withKey(keys, make().key, NOW), /1000 valid keys/);
  const ended = { ...keys[7]!, revoked: new Date(NOW).toISOString() };
  const { key } = make('new');
  const now = withKey(keys.with(7, ended), key, NOW);
  assert.equal(now.length, MAX_KEYS);
  assert.ok(!now.includes(ended) && now.includes(key));
});

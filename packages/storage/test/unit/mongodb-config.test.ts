import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseUrl, StoreError } from '../../src/index.ts';
import { placeOf, readConfig } from '../../src/mongodb/config.ts';

function refusal(url: string): StoreError {
  try {
    readConfig(parseUrl(url));
  } catch (error) {
    assert.ok(error instanceof StoreError);
    assert.equal(error.code, 'MISCONFIGURED');
    assert.ok(error.hint);
    return error;
  }
  return assert.fail(`${url} is accepted`);
}

test('reads hosts, database, login and options', () => {
  const config = readConfig(parseUrl('mongodb://u:p%40ss@h1,[::1]:27018/db?replicaSet=rs0&w=2&j=false'));
  assert.equal(placeOf(config), 'h1:27017,[::1]:27018/db');
  assert.equal(config.user, 'u');
  assert.equal(config.password, 'p@ss');
  assert.equal(config.replicaSet, 'rs0');
  assert.equal(config.w, 2);
  assert.equal(config.j, 'false');
});

test('is durable on a majority by default', () => {
  const { w, j, authSource } = readConfig(parseUrl('mongodb://h/db'));
  assert.deepEqual({ w, j, authSource }, { w: 'majority', j: 'true', authSource: null });
});

test('refuses a URL without host, database or password, and names that MongoDB does not allow', () => {
  assert.match(refusal('mongodb:///db').message, /no host/);
  assert.match(refusal('mongodb://h').message, /no database/);
  assert.match(refusal('mongodb://h/a.b').message, /does not allow/);
  assert.match(refusal('mongodb://u@h/db').message, /without a password/);
});

test('refuses values that an option does not accept, and lists the accepted ones', () => {
  for (const option of ['w=0', 'w=51', 'w=all', 'j=yes', 'replicaSet=', 'connect=5', 'connections=0']) {
    assert.match(refusal(`mongodb://h/db?${option}`).hint ?? '', /takes/);
  }
});

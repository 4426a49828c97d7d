import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError } from '@tidegauge/service';
import { readCoordinator } from '../../src/service.ts';

test('a URL of the coordinator that cannot be used is a mistake of the configuration', () => {
  for (const url of [
    'postgres:',
    'postgres://u@h',
    'postgres://h/d',
    'postgres://u:p@h/d',
    'postgres://u@h/%',
    'postgres://%@h/d',
    'postgres://u@h:94640/d',
    'postgres://u@a b/d',
  ]) {
    assert.throws(() => readCoordinator(url), ConfigError, url);
  }
  const { host, port, login } = readCoordinator('postgres://a%40b@h/d%2F');
  assert.deepEqual([host, port, login], ['h', 5432, { user: 'a@b', database: 'd/' }]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError, checkToken, isLoopback } from '@tidegauge/service';

test('listening on other addresses than loopback without a token, or with a short one, is refused with a hint', () => {
  for (const [token, message] of [
    [null, /no HTTP_TOKEN: set HTTP_TOKEN_FILE/],
    ['short', /HTTP_TOKEN is shorter than 16/],
  ] as const) {
    assert.throws(
      () => checkToken('0.0.0.0', token, 'HTTP_TOKEN'),
      (error) => error instanceof ConfigError && message.test(error.message),
    );
  }
  checkToken('127.0.0.1', null, 'HTTP_TOKEN');
  checkToken('::', 'x'.repeat(16), 'HTTP_TOKEN');
});

test('only names and addresses of this machine are loopback', () => {
  for (const host of ['localhost', '127.0.0.1', '127.8.8.8', '::1']) assert.ok(isLoopback(host), host);
  for (const host of ['0.0.0.0', '::', '127.0.0.1.evil.example', '10.0.0.1', 'gauge.local'])
    assert.ok(!isLoopback(host), host);
});

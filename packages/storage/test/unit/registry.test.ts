import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rejection } from '../../conformance/data.ts';
import { createStore, openStore, STORE_SCHEMES } from '../../src/index.ts';

test('lists the schemes if the scheme is unknown', async () => {
  for (const scheme of ['oracle', 'constructor']) {
    const error = await rejection(createStore(`${scheme}://h/db`), 'MISCONFIGURED');
    assert.match(error.message, new RegExp(scheme));
    for (const known of STORE_SCHEMES) assert.ok(error.hint?.includes(known));
  }
});

test('refuses a wrong URL before any I/O', async () => {
  await rejection(openStore('sqlite://host/x.db'), 'MISCONFIGURED');
  await rejection(openStore('sqlite:x.db?cache=many'), 'MISCONFIGURED');
});

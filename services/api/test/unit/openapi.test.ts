import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STORE_ERROR_CODES, StoreError, type StoreErrorCode } from '@tidegauge/storage';
import { readOpenApi } from '../../src/openapi.ts';
import { STORE_ANSWERS, translate } from '../../src/problems.ts';
import { startApi } from '../harness.ts';

interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly responses: Readonly<
    Record<string, { readonly content?: Record<string, { readonly example?: unknown }> }>
  >;
  readonly requestBody?: { readonly content?: Record<string, { readonly example?: unknown }> };
}

function operations(): [string, Operation][] {
  return Object.entries(readOpenApi().paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => method !== 'parameters')
      .map(([method, operation]): [string, Operation] => [`${method} ${path}`, operation as Operation]),
  );
}

test('every operation has a description, an example of its answer, and its errors', () => {
  const ids = new Set<string>();
  for (const [name, { operationId, summary, description, responses, requestBody }] of operations()) {
    assert.ok(summary && description, name);
    ids.add(operationId);
    const [[status, answer] = ['', {}]] = Object.entries(responses);
    assert.match(status, /^2/, name);
    for (const [type, { example }] of Object.entries(answer.content ?? {}))
      assert.ok(example !== undefined, `${name} ${type}`);
    assert.ok('default' in responses, name);
    for (const { example } of Object.values(requestBody?.content ?? {}))
      assert.ok(example !== undefined, name);
  }
  assert.equal(ids.size, operations().length);
});

test('the served document is the one that requests are checked against', async (t) => {
  const api = await startApi(t);
  const served = await api.call('GET', '/openapi.json');
  assert.deepEqual(served.body, readOpenApi());
  assert.equal(served.body.openapi, '3.1.0');
});

test('every store error has one answer, with a time to retry when a retry can succeed', () => {
  const expected: Record<StoreErrorCode, number> = {
    UNAVAILABLE: 503,
    OVERLOADED: 503,
    TIMEOUT: 504,
    UNEXPECTED: 500,
    REJECTED: 422,
    MISCONFIGURED: 500,
    NOT_SUPPORTED: 501,
    FORBIDDEN: 403,
    CLOSED: 503,
  };
  assert.deepEqual(Object.keys(STORE_ANSWERS).sort(), Object.keys(STORE_ERROR_CODES).sort());
  for (const code of Object.keys(expected) as StoreErrorCode[]) {
    const details = translate(new StoreError(code, 'what happened', { hint: 'do it like this' }))!;
    assert.equal(details.status, expected[code], code);
    assert.match(details.detail, /what happened.*do it like this/);
    assert.equal(details.retryAfter !== undefined, details.status === 503, code);
  }
  assert.equal(translate(new Error('no idea')), null);
});

test('hosts, users and statements in a message of a driver are not passed on', () => {
  const cause = new Error('password authentication failed for user "gauge"');
  for (const code of Object.keys(STORE_ERROR_CODES) as StoreErrorCode[]) {
    const error = new StoreError(code, `postgres db:5432/gauge: ${cause.message}`, {
      cause,
      hint: 'do it like this',
    });
    const { detail } = translate(error)!;
    assert.doesNotMatch(detail, /gauge|5432|password/, code);
    assert.match(detail, /\w.*do it like this/, code);
    // A message of the backend itself, for a call that failed with another StoreError.
    const own = translate(new StoreError(code, 'table t lacks a field', { cause: error }))!;
    assert.match(own.detail, /table t lacks a field/);
    assert.doesNotMatch(own.detail, /gauge|5432/);
  }
});

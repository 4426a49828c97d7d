import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serializeQuery } from '../../src/query.ts';

test('lists are repeated or separated by commas, as the OpenAPI document describes each of them', () => {
  assert.equal(
    serializeQuery({ device: ['site-3/a', 'b'], fn: ['mean', 'max'] }),
    'device=site-3%2Fa&device=b&fn=mean%2Cmax',
  );
});

test('the fields of an object are parameters, and absent values are left out', () => {
  assert.equal(
    serializeQuery({ filter: { city: 'São Tomé', year: 0 }, metric: undefined, to: null }),
    'city=S%C3%A3o%20Tom%C3%A9&year=0',
  );
  assert.equal(serializeQuery({}), '');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listedReason } from '../../src/unavailable.ts';

test('finds the reason of a listed server, and none for other servers', () => {
  const list = '# servers: none\nhbase: no JVM there: arm only\n\nempty:\n';
  assert.equal(listedReason('hbase', list), 'no JVM there: arm only');
  assert.equal(listedReason('empty', list), null);
  assert.equal(listedReason('hb', list), null);
  assert.equal(listedReason('# servers', list), null);
});

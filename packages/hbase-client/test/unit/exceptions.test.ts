import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HBASE_ERROR_CODES } from '../../src/errors.ts';
import { fromRemote, MEANINGS } from '../../src/exceptions.ts';

const where = { host: 'rs1:16020', region: 't,,1.abc.', what: 'Mutate' };

function remote(name: string, message = 'what happened', marks = {}) {
  const trace = `${name}: ${message}\n\tat org.apache.hadoop.hbase.Somewhere.call(Somewhere.java:1)\n`;
  return { name, trace, doNotRetry: false, overloaded: false, ...marks };
}

test('every known exception of HBase has a code, and its error contains the host and the region', () => {
  for (const name of Object.keys(MEANINGS)) {
    const error = fromRemote(remote(`org.apache.hadoop.hbase.${name}`), where);
    assert.ok(Object.hasOwn(HBASE_ERROR_CODES, error.code), name);
    assert.equal(error.exception, `org.apache.hadoop.hbase.${name}`);
    assert.match(error.message, /rs1:16020.*t,,1\.abc\..*what happened$/);
    assert.equal(error.maybeApplied, false, name);
  }
});

test('a moved region is looked up again, a busy server has a longer pause, and a refusal is final', () => {
  const remedy = (name: string) => fromRemote(remote(`org.apache.hadoop.hbase.${name}`), where).remedy;
  assert.equal(remedy('NotServingRegionException'), 'relocate');
  assert.equal(remedy('exceptions.RegionMovedException'), 'relocate');
  assert.equal(remedy('regionserver.RegionServerStoppedException'), 'relocate');
  assert.equal(remedy('RegionTooBusyException'), 'wait');
  assert.equal(remedy('CallQueueTooBigException'), 'wait');
  assert.equal(remedy('regionserver.NoSuchColumnFamilyException'), 'none');
});

test('an unknown exception is final only if the server marks it so, and may have changed something', () => {
  const unknown = fromRemote(remote('java.io.IOException', 'sync failed'), where);
  assert.deepEqual([unknown.code, unknown.remedy, unknown.maybeApplied], ['UNAVAILABLE', 'relocate', true]);
  const refused = fromRemote(remote('com.example.Veto', 'no', { doNotRetry: true }), where);
  assert.deepEqual([refused.code, refused.remedy, refused.maybeApplied], ['REJECTED', 'none', false]);
  const busy = fromRemote(remote('com.example.Slow', 'later', { overloaded: true }), where);
  assert.deepEqual([busy.code, busy.remedy], ['OVERLOADED', 'wait']);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FACTORS, factorNamed } from '@tidegauge/experiments/file/factors';
import { allLevels, growsTable, schemeOf, withPassword, workloadOf } from '@tidegauge/experiments/levels';

const parse = (name: string, level: string | number | boolean) => factorNamed(name).parse(level);

test('levels are kept in one form', () => {
  assert.equal(parse('memory', '0.5GiB'), '512MiB');
  assert.equal(parse('memory', 'none'), 'none');
  assert.equal(parse('workload', 'A'), 'a');
  assert.equal(parse('threads', '16'), 16);
  assert.equal(parse('url.tls', true), 'true');
});

test('a level that a factor does not take is refused with the reason', () => {
  assert.throws(() => parse('store', 'postgers'), /there is no store postgers: did you mean postgres\?/);
  assert.throws(() => parse('store', 'postgers://u@h/d'), /no store postgers:: did you mean postgres\?/);
  assert.throws(() => parse('workload', 'h'), /there is no workload h/);
  assert.throws(() => parse('workload', 'select-on'), /no workload select-on: did you mean select-one\?/);
  assert.throws(() => parse('driver', 'row'), /there is no row: did you mean raw\?/);
  assert.throws(() => parse('threads', 1.5), /not a whole number/);
  assert.throws(() => parse('memory', '1GB'), /not a number with a unit/);
  assert.throws(() => factorNamed('thread'), /unknown factor: did you mean threads\?/);
  assert.throws(() => factorNamed('url.rf'), /use the factor rf/);
});

test('the URL of a store may have a variable in place of its password', () => {
  const variable = `postgres://u:$${'{PGPASS}'}@h/d`;
  assert.equal(parse('store', variable), variable);
  assert.throws(() => parse('store', 'postgres://u:secret@h/d'), /it has a password/);
  assert.equal(withPassword(variable, { PGPASS: 'a/b' }), 'postgres://u:a%2Fb@h/d');
  assert.throws(() => withPassword(variable, {}), /set PGPASS/);
  assert.equal(schemeOf(variable), 'postgres');
  assert.equal(schemeOf('hbase'), 'hbase');
});

test('levels make a workload', () => {
  const defaults = Object.fromEntries([...FACTORS.values()].map((factor) => [factor.name, factor.default!]));
  const levels = allLevels({ fixed: defaults }, { workload: 'd' }, { records: 500, length: 20 });
  const workload = workloadOf({}, levels);
  assert.ok(workload.set === 'records');
  const { records } = workload;
  assert.equal(records.recordCount, 500);
  assert.equal(records.operationCount, 10_000);
  assert.equal(records.fieldLength.maximum, 20);
  assert.equal(records.requestDistribution, 'latest');
  assert.ok(growsTable(workload));
  assert.ok(!growsTable(workloadOf({}, { ...levels, workload: 'f' })));
  const files = { 'mine.properties': 'readproportion=1\nupdateproportion=0\nfieldcount=3' };
  const own = workloadOf({ files }, { ...levels, workload: 'mine.properties', distribution: 'uniform' });
  assert.ok(own.set === 'records');
  assert.equal(own.mix.read, 1);
  assert.equal(own.records.fieldCount, 10);
  assert.equal(own.records.requestDistribution, 'uniform');
  const devices = workloadOf({}, { ...levels, workload: 'update-some' });
  assert.deepEqual(devices, {
    set: 'devices',
    mix: { updateSome: 1 },
    operation: 'updateSome',
    devices: 500,
  });
  assert.ok(!growsTable(devices));
});

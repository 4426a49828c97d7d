import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { problemsOf, RecordDriver } from '@tidegauge/loadtests/drivers/record-driver';
import { rawTarget } from '@tidegauge/loadtests/drivers/record-target';
import { loadRaw } from '@tidegauge/loadtests/loading/load-records';
import { openStore } from '@tidegauge/storage';
import { operations, parseWorkload, type RecordOperation } from '@tidegauge/workload';

const folder = mkdtempSync(join(tmpdir(), 'tidegauge-raw-test-'));
const store = await openStore(`sqlite:${join(folder, 'raw.db')}`);
after(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const properties =
  'recordcount=100\nreadproportion=0.3\nupdateproportion=0.2\ninsertproportion=0.1\nscanproportion=0.2\n' +
  'readmodifywriteproportion=0.2\nmaxscanlength=10\nrequestdistribution=zipfian\ndataintegrity=true\nfieldcount=3\n' +
  'fieldlengthdistribution=constant';
const workload = parseWorkload(properties, { file: 'mixed' });
const OPTIONS = { seed: 7, threads: 3 };

test('two blocks run each operation of the streams once, and verify all reads', async () => {
  await loadRaw(store, 'mixed', workload, OPTIONS.seed);
  const driver = new RecordDriver(rawTarget(store, 'mixed'), workload, OPTIONS);
  const blocks = [await driver.run(100), await driver.run(101)];
  const expected: Partial<Record<RecordOperation['type'], number>> = {};
  for (const [thread, share] of [34 + 34, 33 + 34, 33 + 33].entries()) {
    const stream = operations(workload, { ...OPTIONS, thread });
    for (let number = 0; number < share; number += 1) {
      const { type } = stream.next();
      expected[type] = (expected[type] ?? 0) + 1;
    }
  }
  const counted = (type: RecordOperation['type']): number =>
    blocks.reduce((sum, { latencies }) => sum + (latencies.get(type)?.length ?? 0), 0);
  const { read = 0, update = 0, insert = 0, scan = 0, readModifyWrite = 0 } = expected;
  assert.deepEqual(blocks.flatMap(problemsOf), []);
  assert.deepEqual(
    blocks.map(({ done }) => done),
    [100, 101],
  );
  assert.equal(counted('insert'), insert);
  assert.equal(counted('scan'), scan);
  assert.equal(counted('readModifyWrite'), readModifyWrite);
  // The read and the update of a read-modify-write are counted too, as in YCSB.
  assert.equal(counted('read'), read + readModifyWrite);
  assert.equal(counted('update'), update + readModifyWrite);
  assert.equal(blocks[0]!.verified + blocks[1]!.verified, read + readModifyWrite);
  const records = await store.records.scan('mixed', '', 1000, null);
  assert.equal(records.length, 100 + insert);
});

test('a missing record and a damaged record are detected', async () => {
  const reads = parseWorkload(
    'recordcount=2\nreadproportion=1\nupdateproportion=0\nrequestdistribution=sequential\ndataintegrity=true\n' +
      'fieldlengthdistribution=constant',
    { file: 'reads' },
  );
  await loadRaw(store, 'harmed', reads, 1);
  const [first, second] = await store.records.scan('harmed', '', 10, null);
  await store.records.update('harmed', first!.key, { field3: 'something else' });
  await store.records.delete('harmed', second!.key);
  const block = await new RecordDriver(rawTarget(store, 'harmed'), reads, { seed: 1, threads: 1 }).run(4);
  assert.equal(block.damaged, 2);
  assert.deepEqual(problemsOf(block), [
    'read ended in NOT_FOUND 2 times',
    '2 reads gave other values than were written',
  ]);
});

test('a missing table is an outcome of the operation, and does not end the run', async () => {
  const driver = new RecordDriver(rawTarget(store, 'nowhere'), workload, OPTIONS);
  const { latencies, outcomes } = await driver.run(30);
  assert.equal(latencies.size, 0);
  assert.ok((outcomes.get('read')?.get('REJECTED') ?? 0) > 0);
});

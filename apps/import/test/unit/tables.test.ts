import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { openStore } from '@tidegauge/storage';
import { runHere } from '@tidegauge/test-support/run-here';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { program } from '../../src/main.ts';
import { csvFile } from '../../src/sources/csv.ts';
import { parquetFile } from '../../src/sources/parquet.ts';
import type { RowOptions } from '../../src/sources/rows.ts';
import { fileWith, imported, linesOf, readingsOf } from '../imports.ts';

const GARDEN: RowOptions = {
  device: 'garden',
  mapping: { time: { field: 'date', zone: 'Europe/Zurich' }, units: { temperature: 'Cel' } },
};

test('reads columns of values with local times, quotes and empty cells', async () => {
  const store = await openStore('sqlite::memory:');
  const path = fileWith(
    'garden.csv',
    '\ufeffdate;temperature;"note; long"\r\n' +
      '2024-07-01 12:00;21.5;"two\nlines ""quoted"""\r\n' +
      '2024-01-01 12:00;-3;\r\n' +
      '2024-10-27 02:30;7;\r\n' +
      '2024-07-02 12:00;\r\n' +
      'yesterday;1;\r\n',
  );
  const { tally } = await imported(store, (received) => csvFile(path, GARDEN, received));
  assert.deepEqual(await linesOf(store), [
    'garden temperature 2024-01-01T11:00:00.000000Z -3',
    'garden note~3B~20long 2024-07-01T10:00:00.000000Z "two\\nlines \\"quoted\\""',
    'garden temperature 2024-07-01T10:00:00.000000Z 21.5',
  ]);
  const { refused } = tally.toDocument();
  assert.equal(refused.invalid_time?.count, 2);
  assert.match(refused.invalid_time?.examples[0] ?? '', /^row 4: .*occurs twice/);
  assert.deepEqual(refused['the row does not have 3 cells'], { count: 1, examples: ['row 5: 2'] });
  assert.deepEqual(await store.readings.units([{ device: 'garden', metric: 'temperature' }]), ['Cel']);
  await store.close();
});

test('reads a row for each value, and refuses rows of several senders without a device', async () => {
  const path = fileWith(
    'long.csv',
    'sensor_id,quantity,value,time\n17,co2,400,1700000000\n18,co2,500,1700000000\n18,co2,510,1700000060\n',
  );
  const store = await openStore('sqlite::memory:');
  const named: RowOptions = {
    device: 'lab',
    mapping: { device: '{device}/{sensor_id}', metric: '{quantity}', value: 'value', time: 'time' },
  };
  const nameless: RowOptions = {
    device: 'lab',
    mapping: { metric: '{quantity}', value: 'value', time: 'time' },
  };
  await assert.rejects(
    imported(store, (received) => csvFile(path, nameless, received)),
    /the mapping does not fit: .*sensor_id/,
  );
  await imported(store, (received) => csvFile(path, named, received));
  assert.deepEqual(await linesOf(store), [
    'lab/17 co2 2023-11-14T22:13:20.000000Z 400',
    'lab/18 co2 2023-11-14T22:13:20.000000Z 500',
    'lab/18 co2 2023-11-14T22:14:20.000000Z 510',
  ]);
  await store.close();
});

test('does not store a local time without a zone, or a row without a time', async () => {
  const store = await openStore('sqlite::memory:');
  const path = fileWith('zone.csv', 'time,v\n2024-07-01 12:00,1\n,2\n2024-07-01T12:00Z,3\n');
  const { tally } = await imported(store, (received) =>
    csvFile(path, { device: 'a', mapping: {} }, received),
  );
  assert.equal(tally.toDocument().refused['the row has no certain time']?.count, 2);
  assert.deepEqual(await linesOf(store), ['a v 2024-07-01T12:00:00.000000Z 3']);
  await store.close();
});

const EXPORTED =
  'device,metric,time,value,text,received,quality,boot,seq,unit\r\n' +
  'a/b,m,2024-07-01T12:00:00.000001Z,-0,,2024-07-01T12:00:01.000000Z,ok,,,"Cel"\r\n' +
  'a/b,t,1999-07-01T12:00:00.000000Z,,"-0",1999-07-01T12:00:01.000000Z,unsynced,"0012",7,\r\n' +
  'a/b,t,2024-07-01T12:00:01.000000Z,,"",2024-07-01T12:00:01.000000Z,skewed,"x",8,\r\n' +
  '# complete: 3 rows\r\n';

test('reads an export of Tidegauge as it is', async () => {
  const store = await openStore('sqlite::memory:');
  const path = fileWith('export.csv.gz', gzipSync(EXPORTED));
  const { tally } = await imported(store, (received) =>
    csvFile(path, { device: null, mapping: {} }, received),
  );
  const found = await readingsOf(store);
  assert.deepEqual(
    found.map(({ value, quality, boot, seq, received }) => [value, quality, boot, seq, received]),
    [
      ['-0', 'unsynced', '0012', 7, 930_830_401_000_000],
      [-0, 'ok', null, null, 1_719_835_201_000_000],
      ['', 'skewed', 'x', 8, 1_719_835_201_000_000],
    ],
  );
  assert.equal(tally.total('refused'), 0);
  assert.deepEqual(await store.readings.units([{ device: 'a/b', metric: 'm' }]), ['Cel']);
  const failed = fileWith(
    'failed.csv',
    EXPORTED.replace('# complete: 3 rows', '# failed after 3 rows: no disk'),
  );
  await assert.rejects(
    imported(store, (received) => csvFile(failed, { device: null, mapping: {} }, received)),
    /the export failed: # failed after 3 rows: no disk/,
  );
  await store.close();
});

test('does not store a series with two units', async () => {
  const store = await openStore('sqlite::memory:');
  const path = fileWith(
    'units.csv',
    'time,temp,u\n2024-07-01T12:00Z,1,°C\n2024-07-01T12:01Z,2,°F\n2024-07-01T12:02Z,3,°C\n',
  );
  const options: RowOptions = { device: 'a', mapping: { metric: 'temp', value: 'temp', unit: 'u' } };
  const { tally } = await imported(store, (received) => csvFile(path, options, received));
  assert.deepEqual(tally.toDocument().refused['the series has another unit'], {
    count: 1,
    examples: ['a temp: °F, and Cel before'],
  });
  assert.equal((await readingsOf(store)).length, 2);
  await store.close();
});

test('reads Parquet with times below a millisecond, large whole numbers and empty cells', async () => {
  const store = await openStore('sqlite::memory:');
  const buffer = parquetWriteBuffer({
    columnData: [
      { name: 'at', data: [1_700_000_000_000_001n, 1_700_000_060_000_000n], type: 'INT64' },
      { name: 'v', data: [1.5, Number.NaN], type: 'DOUBLE' },
      { name: 'n', data: [2n ** 53n + 1n, null], type: 'INT64' },
      { name: 's', data: ['open', null], type: 'STRING' },
    ],
  });
  const path = fileWith('table.parquet', new Uint8Array(buffer));
  assert.ok(readFileSync(path).length > 0);
  const options: RowOptions = { device: 'p', mapping: { time: { field: 'at', unit: 'us' } } };
  const { tally } = await imported(store, (received) => parquetFile(path, options, received));
  assert.deepEqual(await linesOf(store), [
    'p n 2023-11-14T22:13:20.000001Z "9007199254740993"',
    'p s 2023-11-14T22:13:20.000001Z "open"',
    'p v 2023-11-14T22:13:20.000001Z 1.5',
  ]);
  assert.equal(tally.toDocument().noted['the cell is no finite number']?.count, 1);
  await store.close();
});

test('refuses a file that is no Parquet file in one line with its name', async () => {
  for (const [name, content] of [
    ['empty.parquet', ''],
    ['table.csv', 'time,temperature\n2024-07-01T12:00:00Z,21.5\n'],
  ] as const) {
    const path = fileWith(name, content);
    const { code, stderr } = await runHere(program, 'parquet', path, '--dry-run');
    assert.equal(code, 2, stderr);
    assert.ok(stderr.includes(`${path} is damaged, or no Parquet file: `), stderr);
    assert.doesNotMatch(stderr, /\n +at /);
  }
});

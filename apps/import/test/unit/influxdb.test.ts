import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { compileInfluxNames } from '@tidegauge/readings';
import { openStore } from '@tidegauge/storage';
import { type InfluxOptions, influxFile } from '../../src/sources/influxdb.ts';
import { fileWith, imported, linesOf } from '../imports.ts';

const OPTIONS: InfluxOptions = {
  precision: 'ns',
  names: compileInfluxNames(),
  database: null,
  templates: [],
};

/** As `influx_inspect export` of InfluxDB 1.8.10 writes it: one field in each line, first the files and then the log. */
const EXPORT = `# INFLUXDB EXPORT: 1677-09-21T00:12:43Z - 2262-04-11T23:47:16Z
# DDL
CREATE DATABASE home WITH NAME autogen
CREATE DATABASE home WITH NAME year
# DML
# CONTEXT-DATABASE:home
# CONTEXT-RETENTION-POLICY:autogen
# writing tsm data
weather,host=pi,room=a\\ b temperature=21.5 1700000000000000000
weather,host=pi,room=a\\ b temperature=-0 1700000060000000000
weather,host=pi,room=a\\ b state="two
lines, \\"quoted\\"" 1700000000000000000
weather,host=pi,room=a\\ b count=9007199254740993i 1700000000000000000
# CONTEXT-DATABASE:home
# CONTEXT-RETENTION-POLICY:year
# writing wal data
weather,host=pi,room=a\\ b temperature=1 1700000000000000000
`;

test('reads an export with several retention policies, texts of several lines, and large numbers', async () => {
  const store = await openStore('sqlite::memory:');
  const path = fileWith('export.lp', EXPORT);
  const { counts, tally, sums } = await imported(store, (received) => influxFile(path, OPTIONS, received));
  assert.deepEqual(await linesOf(store), [
    'home/pi/room:a~20b weather.count 2023-11-14T22:13:20.000000Z 9007199254740992',
    'home/pi/room:a~20b weather.state 2023-11-14T22:13:20.000000Z "two\\nlines, \\"quoted\\""',
    'home/pi/room:a~20b weather.temperature 2023-11-14T22:13:20.000000Z 21.5',
    'home/pi/room:a~20b weather.temperature 2023-11-14T22:14:20.000000Z 0',
    'home/year/pi/room:a~20b weather.temperature 2023-11-14T22:13:20.000000Z 1',
  ]);
  assert.deepEqual([counts.readings, counts.written, counts.equal], [5, 5, 0]);
  assert.equal(sums.source.count, 5);
  assert.equal(sums.source.hex, sums.store.hex);
  const { skipped, noted, refused } = tally.toDocument();
  assert.equal(skipped['a statement that creates a database']?.count, 2);
  assert.deepEqual(
    Object.entries(noted).map(([why, { count }]) => [why, count]),
    [['it is a whole number beyond 2^53, so its last digits are rounded', 1]],
  );
  assert.deepEqual(refused, {});
  await store.close();
});

test('gives the same from a compressed file, and a second import writes nothing', async () => {
  const store = await openStore('sqlite::memory:');
  const path = fileWith('export.lp.gz', gzipSync(EXPORT));
  await imported(store, (received) => influxFile(path, OPTIONS, received));
  const again = await imported(store, (received) => influxFile(path, OPTIONS, received));
  assert.deepEqual([again.counts.written, again.counts.equal], [0, 5]);
  await store.close();
});

test('counts and names what cannot be stored, and reads the lines around it', async () => {
  const store = await openStore('sqlite::memory:');
  const path = fileWith(
    'bad.lp',
    [
      `a,host=x v=1,t="${'x'.repeat(5000)}" 1700000000000000000`,
      'a,host=x v=2',
      'a,host=x v= 1700000001000000000',
      'a,host=x v=3 -1700000001000000000',
      'a,host=x v=4 9223372036854775807',
      'a,host=x v="open 1700000001000000000',
      'a,host=x v=5 1700000002000000000',
      'a,host=x v=6 1700000003000000001',
      'a,host=x v=7 1700000003000000002',
    ].join('\n'),
  );
  const { tally, counts } = await imported(store, (received) => influxFile(path, OPTIONS, received));
  assert.deepEqual(await linesOf(store), [
    'x a.v 2023-11-14T22:13:20.000000Z 1',
    'x a.v 2023-11-14T22:13:22.000000Z 5',
    'x a.v 2023-11-14T22:13:23.000000Z 7',
  ]);
  const numbers = (reasons: Readonly<Record<string, { readonly count: number }>>) =>
    Object.fromEntries(Object.entries(reasons).map(([why, { count }]) => [why, count]));
  const { refused, noted } = tally.toDocument();
  assert.deepEqual(numbers(refused), {
    invalid_value: 1,
    'the line has no timestamp': 1,
    'line protocol: missing field value': 1,
    invalid_time: 2,
    'line protocol: unbalanced quotes': 1,
  });
  assert.deepEqual(numbers(noted), {
    'digits of the time below a microsecond are cut': 3,
    'a later value of the same series and time replaces it': 1,
  });
  assert.equal(counts.written, 3);
  await store.close();
});

test('keeps a value that the store received later', async () => {
  const store = await openStore('sqlite::memory:');
  const time = 1_700_000_000_000_000;
  const live = {
    device: 'x',
    metric: 'a.v',
    time,
    received: time + 5,
    boot: null,
    seq: null,
    quality: 'ok',
  } as const;
  await store.readings.write([{ ...live, value: 9 }]);
  const path = fileWith('kept.lp', 'a,host=x v=1 1700000000000000000\na,host=x v=2 1700000001000000000\n');
  const { counts, sums } = await imported(store, (received) => influxFile(path, OPTIONS, received));
  assert.deepEqual([counts.kept, counts.written, sums.store.count], [1, 1, 2]);
  assert.match((await linesOf(store))[0]!, / 9$/);
  await store.close();
});

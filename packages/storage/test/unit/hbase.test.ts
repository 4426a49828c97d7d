import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cell, HBASE_ERROR_CODES, HBaseError, type HBaseErrorCode, Row } from '@tidegauge/hbase-client';
import { MAX_TIME, type Reading } from '@tidegauge/readings';
import fc from 'fast-check';
import { reading, T0 } from '../../conformance/data.ts';
import { readConfig } from '../../src/hbase/config.ts';
import { toStoreError } from '../../src/hbase/errors.ts';
import {
  behind,
  devicePrefix,
  readKey,
  SALTS,
  SeriesPrefixes,
  saltSplits,
  seriesPrefix,
  timeKey,
  timeOf,
} from '../../src/hbase/keys.ts';
import { fromReading, READING_FAMILY, READING_QUALIFIER, toReading } from '../../src/hbase/mapping.ts';
import { isRetryable, parseUrl, StoreError } from '../../src/index.ts';
import { compareText } from '../../src/merge.ts';

const name = fc.stringMatching(/^[\p{L}\p{N}_.:@~-]{1,20}$/u);
const time = fc.integer({ min: 0, max: MAX_TIME });

test('keys of a series sort by time, and are between the bounds of the series', () => {
  fc.assert(
    fc.property(name, name, time, time, (device, metric, a, b) => {
      const series = seriesPrefix(device, metric);
      const [one, other] = [timeKey(series, a), timeKey(series, b)];
      assert.equal(Math.sign(one.compare(other)), Math.sign(a - b));
      assert.equal(timeOf(one), a);
      assert.ok(one.compare(series) > 0 && one.compare(behind(series)) < 0);
      assert.deepEqual(readKey(one), { series, metric });
    }),
  );
});

test('series of a device are in code point order, without those of devices with a longer name', () => {
  fc.assert(
    fc.property(name, name, name, (device, first, second) => {
      const [one, other] = [seriesPrefix(device, first), seriesPrefix(device, second)];
      assert.equal(Math.sign(one.compare(other)), Math.sign(compareText(first, second)));
      const [start, end] = [devicePrefix(device), behind(devicePrefix(device))];
      assert.ok(one.compare(start) > 0 && one.compare(end) < 0);
      const longer = timeKey(seriesPrefix(`${device}/${first}`, second), T0);
      assert.ok(longer.compare(start) < 0 || longer.compare(end) > 0);
    }),
  );
});

test('devices are spread over regions evenly, even if their names are similar', () => {
  const splits = saltSplits(16);
  assert.equal(splits.length, 15);
  const counts = new Array<number>(16).fill(0);
  for (let index = 0; index < 3200; index += 1) {
    const key = devicePrefix(`site/probe-${index}`);
    counts[splits.filter((split) => split.compare(key) <= 0).length]! += 1;
  }
  assert.ok(
    counts.every((count) => count > 140 && count < 260),
    counts.join(),
  );
  assert.deepEqual(saltSplits(1), []);
  assert.equal(new Set(saltSplits(1000).map((split) => split.readUInt16BE())).size, 999);
  assert.ok(SALTS >= 1000);
});

test('the salt of a name never changes, because it is in the keys of stored readings', () => {
  const salts = ['a', 'site-3/boiler/probe-7', 'Ölstand/\u{1F30A}'].map((device) =>
    devicePrefix(device).readUInt16BE(),
  );
  assert.deepEqual(salts, SALTS_OF_RELEASE);
});

/** From the first release. */
const SALTS_OF_RELEASE = [45491, 42617, 12560];

test('every reading is decoded as it was', () => {
  const bits = fc.record({
    device: name,
    metric: name,
    time,
    value: fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.string({ unit: 'grapheme' })),
    received: time,
    boot: fc.option(fc.string({ unit: 'grapheme', maxLength: 50 })),
    seq: fc.option(fc.maxSafeNat()),
    quality: fc.constantFrom('ok', 'skewed', 'unsynced'),
  });
  fc.assert(
    fc.property(bits, (fields) => {
      const given: Reading = { ...fields };
      assert.deepEqual(toReading(given.device, given.metric, rowOf(given)), given);
    }),
  );
  assert.equal(fromReading(reading({ device: 'd' })).length, 17);
});

/** A row as a server would send it. */
function rowOf(given: Reading): Row {
  const row = timeKey(seriesPrefix(given.device, given.metric), given.time);
  const value = fromReading(given);
  const keyLength = 2 + row.length + 1 + READING_FAMILY.length + READING_QUALIFIER.length + 9;
  const head = Buffer.alloc(10);
  head.writeInt32BE(keyLength, 0);
  head.writeInt32BE(value.length, 4);
  head.writeInt16BE(row.length, 8);
  const family = Buffer.concat([Buffer.from([READING_FAMILY.length]), READING_FAMILY]);
  return new Row([
    new Cell(Buffer.concat([head, row, family, READING_QUALIFIER, Buffer.alloc(9), value]), 0),
  ]);
}

test('every error of the client has a code and a hint, and its message contains the hosts', () => {
  const retried: HBaseErrorCode[] = [];
  for (const code of Object.keys(HBASE_ERROR_CODES) as HBaseErrorCode[]) {
    const error = toStoreError(new HBaseError(code, 'rs1:16020: something'), 'zk1:2181/ns');
    assert.ok(error instanceof StoreError, code);
    assert.equal(error.message, 'hbase zk1:2181/ns: rs1:16020: something');
    assert.ok(error.hint, code);
    if (isRetryable(error)) retried.push(code);
  }
  assert.deepEqual(retried.sort(), [
    ...['CLOSED', 'NAMESPACE_EXISTS', 'OUTCOME_UNKNOWN', 'OVERLOADED', 'TABLE_ENABLED'],
    ...['TABLE_EXISTS', 'TIMEOUT', 'UNAVAILABLE', 'UNREACHABLE'],
  ]);
  const mistake = new TypeError('ours');
  assert.equal(toStoreError(mistake, 'place'), mistake);
});

test('rows that a server refuses are named by their index in the batch', () => {
  const refusal = new HBaseError('REJECTED', 'too large');
  const busy = new HBaseError('OVERLOADED', 'busy');
  const failures = [
    { index: 3, error: refusal },
    { index: 5, error: busy },
  ];
  const error = toStoreError(new HBaseError('REJECTED', '2 of 9', { failures }), 'place');
  assert.deepEqual((error as StoreError).rows, [3]);
});

test('the URL names ZooKeeper and a namespace, and no password', () => {
  const config = readConfig(parseUrl('hbase://me@zk1,zk2:2182/gauges?presplit=4'));
  assert.deepEqual(config.zookeeper, ['zk1:2181', 'zk2:2182']);
  assert.deepEqual([config.user, config.namespace, config.presplit], ['me', 'gauges', 4]);
  for (const url of [
    'hbase:ns',
    'hbase://zk',
    'hbase://zk/two-words',
    'hbase://zk/hbase',
    'hbase://u:p@zk/ns',
  ]) {
    assert.throws(
      () => readConfig(parseUrl(url)),
      (error) => error instanceof StoreError && error.code === 'MISCONFIGURED' && error.hint !== null,
      url,
    );
  }
});

test('the cache of row key prefixes has a bound in bytes', () => {
  for (const length of [10, 250]) {
    const prefixes = new SeriesPrefixes();
    const first = prefixes.of('first', 'temperature');
    let names = 0;
    for (; prefixes.of('first', 'temperature') === first; names++) {
      assert.ok(names * 2 * length < 16 * 2 ** 20, `${names} names of ${length} characters are remembered`);
      for (let more = 0; more < 500; more++) prefixes.of(`${names++}`.padStart(length, '0'), 'temperature');
    }
    assert.ok(names > 1000);
  }
});

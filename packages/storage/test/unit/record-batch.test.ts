import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { YcsbRecord } from '../../src/index.ts';
import { lengthOf, namesIn, partsOf, sortRecords } from '../../src/record-batch.ts';

function record(key: string, value = '', field = 'field0'): YcsbRecord {
  return { key, fields: { [field]: value } };
}

function sizes(records: readonly YcsbRecord[], maxRecords: number, maxLength: number): number[] {
  return [...partsOf(records, maxRecords, maxLength)].map(({ length }) => length);
}

describe('a batch of records', () => {
  test('is sorted by key, with one record for each key', () => {
    const records = [
      record('b', 'first'),
      record('c'),
      record('a'),
      record('b', 'second'),
      record('b', 'last'),
    ];
    assert.deepEqual(sortRecords(records, false), [record('a'), record('b', 'first'), record('c')]);
    assert.deepEqual(sortRecords(records, true), [record('a'), record('b', 'last'), record('c')]);
    assert.deepEqual(sortRecords([], true), []);
    assert.equal(records[0]!.key, 'b', 'the batch of the caller stays as it is');
  });

  test('is divided by the number of records', () => {
    const records = Array.from({ length: 7 }, (_, index) => record(`${index}`));
    assert.deepEqual(sizes(records, 3, 1000), [3, 3, 1]);
    assert.deepEqual(sizes(records, 7, 1000), [7]);
    assert.deepEqual([...partsOf(records, 3, 1000)].flat(), records);
    assert.deepEqual(sizes([], 3, 1000), []);
  });

  test('is divided by the number of characters, and a record is never divided', () => {
    const records = [
      record('a', '123'),
      record('b', '123'),
      record('c', '1'.repeat(20)),
      record('d'),
      record('e'),
    ];
    assert.equal(lengthOf(records[0]!), 4);
    assert.deepEqual(sizes(records, 10, 8), [2, 1, 2]);
    assert.deepEqual(sizes(records, 10, 7), [1, 1, 1, 2]);
  });

  test('names each field that one of its records has', () => {
    const records = [
      record('a', '', 'field1'),
      record('b', '', 'field3'),
      record('c', '', 'field1'),
      record('d'),
    ];
    assert.deepEqual(namesIn(records), ['field0', 'field1', 'field3']);
  });
});

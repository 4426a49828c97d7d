import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CELL_TYPES, CellReader, encodeCells, type RawCell } from '../../src/cells.ts';
import { HBaseError } from '../../src/errors.ts';

const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((array) => Buffer.from(array));

const cell: fc.Arbitrary<RawCell> = fc.record({
  row: bytes(300),
  family: bytes(127),
  qualifier: bytes(300),
  timestamp: fc.maxSafeNat(),
  type: fc.constant(CELL_TYPES.put),
  value: bytes(2000),
});

test('cells with any bytes are read as they were written', () => {
  fc.assert(
    fc.property(fc.array(cell, { maxLength: 20 }), (cells) => {
      const found = new CellReader(encodeCells(cells)).take(cells.length);
      for (const [index, { row, family, qualifier, timestamp, value }] of cells.entries()) {
        const read = found[index]!;
        assert.deepEqual(read.row, row);
        assert.deepEqual(read.family, family);
        assert.deepEqual(read.qualifier, qualifier);
        assert.equal(read.timestamp, timestamp);
        assert.deepEqual(read.value, value);
        assert.ok(read.isIn(family, qualifier));
        assert.ok(!read.isIn(family, Buffer.concat([qualifier, Buffer.from([0])])));
      }
    }),
  );
});

test('a cell has the layout of KeyValueCodec', () => {
  const parts = { row: 'r', family: 'f', qualifier: 'q', value: 'v' };
  const [row, family, qualifier, value] = Object.values(parts).map((part) => Buffer.from(part));
  const block = encodeCells([
    {
      row: row!,
      family: family!,
      qualifier: qualifier!,
      timestamp: null,
      type: CELL_TYPES.put,
      value: value!,
    },
  ]);
  // The total length, the lengths of key and value, row, family, qualifier, the largest long for "now", Put, the value.
  const expected = '00000018 0000000f 00000001 0001 72 01 66 71 7fffffffffffffff 04 76';
  assert.equal(block.toString('hex'), expected.replaceAll(' ', ''));
});

test('a block that ends at any byte within a cell is an error', () => {
  const part = Buffer.from('part');
  const whole = encodeCells([
    { row: part, family: part, qualifier: part, timestamp: 1, type: CELL_TYPES.put, value: part },
  ]);
  for (let length = 0; length < whole.length; length += 1) {
    assert.throws(
      () => new CellReader(whole.subarray(0, length)).take(1),
      (error) => error instanceof HBaseError && error.code === 'PROTOCOL',
      `${length} bytes`,
    );
  }
});

test('a row or family that is too long for a KeyValue is a TypeError', () => {
  const part = Buffer.from('x');
  const fine = { row: part, family: part, qualifier: part, timestamp: 1, type: CELL_TYPES.put, value: part };
  assert.throws(() => encodeCells([{ ...fine, row: Buffer.alloc(32_768) }]), TypeError);
  assert.throws(() => encodeCells([{ ...fine, family: Buffer.alloc(128) }]), TypeError);
});

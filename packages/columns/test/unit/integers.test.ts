import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ByteReader, ByteWriter, decodeIntegers, encodeIntegers } from '../../src/index.ts';

const MOST = Number.MAX_SAFE_INTEGER;
const whole = fc.oneof(
  fc.integer(),
  fc.integer({ min: -MOST, max: MOST }),
  fc.constantFrom(0, 1, MOST, -MOST),
);

function written(numbers: Float64Array): Buffer {
  const out = new ByteWriter();
  encodeIntegers(out, numbers);
  return out.written();
}

test('whole numbers are read as they were written, however far apart they are', () => {
  fc.assert(
    fc.property(fc.array(whole, { maxLength: 300 }), (given) => {
      // The reader has 0 for both zeros.
      const numbers = Float64Array.from(given, (number) => number + 0);
      assert.deepEqual(decodeIntegers(new ByteReader(written(numbers)), numbers.length), numbers);
    }),
  );
});

test('numbers that are too far apart for differences take eight bytes each', () => {
  const far = Float64Array.of(MOST, -MOST, 3);
  assert.equal(written(far).length, 1 + 8 * far.length);
  assert.deepEqual(decodeIntegers(new ByteReader(written(far)), far.length), far);
});

test('a series takes a byte for each part that is the same for all numbers', () => {
  const of = (length: number, number: (index: number) => number) =>
    written(Float64Array.from({ length }, (_, index) => number(index))).length;
  assert.equal(
    of(1000, () => 7),
    4,
  );
  // The divisor 1,000,000 takes three bytes.
  assert.ok(of(1000, (index) => index * 1_000_000) <= 8);
  assert.ok(of(1000, (index) => index * index) <= 6);
  // Rice codes of 0 and 1 have one bit and two.
  assert.ok(of(1024, (index) => index % 2) <= (1024 * 1.5) / 8 + 20);
  assert.ok(of(1024, (index) => 1000 + (index % 2)) <= (1024 * 1.5) / 8 + 20);
});

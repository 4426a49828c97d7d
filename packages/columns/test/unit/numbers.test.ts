import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ByteReader, ByteWriter, decodeNumbers, encodeNumbers } from '../../src/index.ts';

const COUNT = 640;
const wave = (index: number) => 1700 + Math.abs((index % 90) - 45) * 7 + ((index * index) % 11);
const curve = (index: number) => index / (index + 50);
const eightDigits = (number: number) => Number(Math.fround(number).toPrecision(8));

/** Numbers, the first byte of what is written for 640 of them, which is their form, and the length. */
const FORMS: Readonly<Record<string, readonly [(index: number) => number, form: number, bytes: number]>> = {
  whole: [wave, 0, 335],
  decimals: [(index) => wave(index) / 100, 0, 335],
  'decimals with outliers': [(index) => (index % 50 === 3 ? Math.PI * index : wave(index) / 100), 0, 455],
  'too many outliers': [(index) => (index % 5 === 3 ? Math.PI * index : wave(index) / 100), 4, 4520],
  'a few with more digits': [(index) => (index % 20 === 3 ? wave(index) / 1e7 : wave(index) / 10), 0, 635],
  'decimals and NaN': [(index) => (index % 100 === 3 ? Number.NaN : wave(index) / 10), 0, 402],
  computed: [(index) => wave(index) * 0.01, 4, 434],
  'computed with outliers': [(index) => (index % 100 === 5 ? -0 : wave(index) * 0.01), 4, 499],
  'many digits': [(index) => wave(index) / 1e10, 0, 335],
  'equal steps': [(index) => (1e9 + index) / 1e10, 0, 11],
  'few whole singles': [(index) => index % 7, 0, 239],
  singles: [(index) => Math.fround(curve(index)), 1, 766],
  'negative singles': [(index) => Math.fround(-1 - curve(index)), 1, 513],
  printed: [(index) => eightDigits(wave(index) / 100), 3, 335],
  'printed with errors': [
    (index) => eightDigits(wave(index) / 100) * (index % 3 === 0 ? 1 + Number.EPSILON : 1),
    7,
    567,
  ],
  doubles: [curve, 2, 3137],
  'doubles near -2': [(index) => -1 - curve(index * index), 4, 2695],
  huge: [(index) => 1e300 * (1 + index / 64), 2, 2263],
};

function written(numbers: Float64Array): Buffer {
  const out = new ByteWriter();
  encodeNumbers(out, numbers);
  return Buffer.from(out.written());
}

test('numbers have the shortest form, which later versions must read', () => {
  for (const [name, [number, form, length]] of Object.entries(FORMS)) {
    const numbers = Float64Array.from({ length: COUNT }, (_, index) => number(index));
    const bytes = written(numbers);
    assert.deepEqual({ form: bytes[0], length: bytes.length }, { form, length }, name);
    assert.deepEqual(decodeNumbers(new ByteReader(bytes), COUNT), numbers, name);
  }
});

test('a sample of long columns finds what a few of their numbers hide', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 3000 }),
      fc.nat(15),
      fc.array(fc.tuple(fc.nat(2999), fc.double()), { maxLength: 40 }),
      (length, digits, outliers) => {
        const numbers = Float64Array.from({ length }, (_, index) => wave(index) / 10 ** digits);
        for (const [index, number] of outliers) if (index < length) numbers[index] = number;
        assert.deepEqual(decodeNumbers(new ByteReader(written(numbers)), length), numbers);
      },
    ),
  );
});

test('damaged bytes are refused', () => {
  const decimals = written(Float64Array.of(1.5, 2.5, 3.5));
  const changed = (at: number, byte: number) => {
    const bytes = Buffer.from(decimals);
    bytes[at] = byte;
    return new ByteReader(bytes);
  };
  assert.throws(() => decodeNumbers(changed(0, 8), 3), { name: 'RangeError', message: /unknown form 8/ });
  assert.throws(() => decodeNumbers(changed(1, 16), 3), { name: 'RangeError', message: /damaged/ });
  // More numbers beside than there are.
  assert.throws(() => decodeNumbers(changed(2, 4), 3), { name: 'RangeError', message: /damaged/ });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { Block, type Columns, DamagedBlock, encodeBlock, MAX_READINGS } from '../../src/block.ts';

const MOST = Number.MAX_SAFE_INTEGER;
const time = fc.oneof(
  fc.integer({ min: 0, max: MOST }),
  fc.integer({ min: 1.7e15, max: 1.7e15 + 1e6 }),
  fc.constantFrom(0, MOST),
);
const number = fc.oneof(
  fc.double({ noNaN: true }),
  fc.float({ noNaN: true }),
  fc.integer(),
  fc.integer({ min: -9999, max: 9999 }).map((whole) => whole / 100),
  // Beside decimals and powers of two.
  fc.integer({ min: -9999, max: 9999 }).map((whole) => whole * 0.1),
  fc.tuple(fc.integer({ min: -1074, max: 1023 }), fc.integer({ min: -9, max: 9 })).map(([power, steps]) => {
    return 2 ** power * (1 + steps * Number.EPSILON);
  }),
  fc.constantFrom(0, -0, 1, 0.1, 0.1 + 0.2, 5e-324, -5e-324, 1e300, Number.MAX_VALUE, -MOST, 2 ** 53),
  fc.constantFrom(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
);
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', 'on', 'off', 'half \ud800', '\u0000'),
);
const count = fc.oneof(fc.nat(MOST), fc.nat(3), fc.constant(MOST));
const values: readonly fc.Arbitrary<number | string>[] = [number, text, fc.oneof(number, text)];
const whole = fc.oneof(fc.constant(fc.constant(null)), fc.constant(count), fc.constant(fc.option(count)));

const rowsOf = (value: fc.Arbitrary<number | string>, boot: fc.Arbitrary<number | null>) =>
  fc.array(fc.record({ time, value, received: time, boot, seq: fc.option(count), quality: fc.nat(2) }), {
    minLength: 1,
    maxLength: 300,
  });
const rows = fc
  .tuple(fc.constantFrom(...values), whole)
  .chain(([value, boot]) => rowsOf(value, boot))
  .map((given) => [...new Map(given.map((row) => [row.time, row])).values()].sort((a, b) => a.time - b.time));

type Row = {
  time: number;
  value: number | string;
  received: number;
  boot: number | null;
  seq: number | null;
};

function columnsOf(given: readonly (Row & { quality: number })[]): Columns {
  return {
    times: given.map((row) => row.time),
    values: given.map(({ value }) => value),
    received: given.map(({ received }) => received),
    boots: given.map(({ boot }) => boot),
    seqs: given.map(({ seq }) => seq),
    qualities: given.map(({ quality }) => quality),
  };
}

function decoded(bytes: Uint8Array): Columns {
  const block = new Block(bytes);
  return {
    times: [...block.times],
    values: Array.from(block.values),
    received: [...block.received],
    boots: Array.from(block.boots),
    seqs: Array.from(block.seqs),
    qualities: [...block.qualities],
  };
}

/** Readings of one second each, with `value` of their position. */
function regular(length: number, value: (index: number) => number | string): Columns {
  const indexes = Array.from({ length }, (_, index) => index);
  return {
    times: indexes.map((index) => 1.7e15 + index * 1e6),
    values: indexes.map(value),
    received: indexes.map((index) => 1.7e15 + index * 1e6 + 2500),
    boots: indexes.map(() => 7),
    seqs: indexes.map((index) => index),
    qualities: indexes.map(() => 0),
  };
}

describe('a block', () => {
  test('keeps every bit of any columns', () => {
    fc.assert(
      fc.property(rows, (given) => {
        const columns = columnsOf(given);
        const bytes = encodeBlock(columns);
        assert.equal(new Block(bytes).count, given.length);
        // This distinguishes -0 from 0.
        assert.deepEqual(decoded(bytes), columns);
      }),
      { numRuns: 500 },
    );
  });

  test('keeps long columns of each form, and rare outliers in them', () => {
    const forms: Readonly<Record<string, (index: number) => number | string>> = {
      constant: () => 21.5,
      steps: (index) => Math.floor(index / 500) / 10,
      decimals: (index) => Math.round(2000 + 300 * Math.sin(index / 50)) / 100,
      singles: (index) => Math.fround(Math.sin(index / 50)),
      doubles: (index) => Math.sin(index / 50),
      computed: (index) => (index % 500) * 0.1,
      'computed with outliers': (index) => (index % 100 === 3 ? -0 : (index % 500) * 0.01),
      negative: (index) => -1 - Math.abs(Math.sin(index / 50)) * 1e-7,
      texts: (index) => ['on', 'off', 'unknown'][index % 3]!,
      mixed: (index) => (index % 10 === 0 ? 'error' : index),
      'decimals with outliers': (index) => (index % 100 === 3 ? [-0, 1e300, 1 / 3][index % 3]! : index / 10),
    };
    for (const [name, value] of Object.entries(forms)) {
      const columns = regular(2048, value);
      assert.deepEqual(decoded(encodeBlock(columns)), columns, name);
    }
    const columns = regular(2048, (index) => index);
    const far = {
      ...columns,
      received: columns.received.map((each, index) => (index === 700 ? MOST : each)),
    };
    assert.deepEqual(decoded(encodeBlock(far)), far);
  });

  test('takes few bytes for regular readings', () => {
    const bytes = (value: (index: number) => number | string) =>
      encodeBlock(regular(2048, value)).length / 2048;
    assert.ok(bytes(() => 21.5) < 0.05);
    assert.ok(bytes((index) => ['on', 'off'][Math.floor(index / 300) % 2]!) < 0.1);
    assert.ok(bytes((index) => Math.round(2000 + 300 * Math.sin(index / 50)) / 100) < 0.8);
    // Decimals as singles with eight digits, as some turbines write them.
    const printed = (index: number) =>
      Number(Math.fround(Math.round(700 + 100 * Math.sin(index * index)) / 100).toPrecision(8));
    const repeated = regular(2048, printed);
    assert.ok(bytes(printed) < 1.2, `${bytes(printed)}`);
    // A gateway multiplies by 0.1, and a program read eight digits with an error in the last place.
    const whole = (index: number) => Math.round(700 + 100 * Math.sin(index * index));
    const computed = (index: number) => whole(index) * 0.1;
    assert.ok(bytes(computed) < 1.5, `${bytes(computed)}`);
    const readAgain = (index: number) => printed(index) * (index % 3 === 0 ? 1 + Number.EPSILON : 1);
    assert.ok(bytes(readAgain) < 1.6, `${bytes(readAgain)}`);
    assert.deepEqual(decoded(encodeBlock(repeated)), repeated);
    // A single outlier costs little.
    const columns = regular(2048, () => 21.5);
    const late = columns.received.map((each, index) => (index === 100 ? each + 3.6e9 : each));
    assert.ok(encodeBlock({ ...columns, received: late }).length < 200);
  });

  test('does not expand noise: 8 bytes a double, and little more', () => {
    let state = 1;
    const noise = () => {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
      return state / 2 ** 31 / 3;
    };
    assert.ok(encodeBlock(regular(2048, noise)).length < 8.3 * 2048);
  });

  test('reports any changed byte, and a part of a block', () => {
    const bytes = encodeBlock(regular(300, (index) => (index % 2 === 0 ? index / 3 : 'text')));
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const damaged = Buffer.from(bytes);
        damaged[at]! ^= change;
        assert.throws(() => new Block(damaged), DamagedBlock);
      }),
    );
    for (const length of [0, 3, 4, 5, 20, bytes.length - 1])
      assert.throws(() => new Block(bytes.subarray(0, length)), DamagedBlock);
  });

  test('is one that its reader can hold', () => {
    const empty = { times: [], values: [], received: [], boots: [], seqs: [], qualities: [] };
    assert.throws(() => encodeBlock(empty), TypeError);
    assert.throws(() => encodeBlock(regular(MAX_READINGS + 1, () => 1)), TypeError);
    assert.equal(new Block(encodeBlock(regular(MAX_READINGS, () => 1))).count, MAX_READINGS);
  });
});

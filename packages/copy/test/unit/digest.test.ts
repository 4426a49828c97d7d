import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { Reading } from '@tidegauge/readings';
import fc from 'fast-check';
import { DAY_US, DeviceDigest, dayName, SumDigest } from '../../src/digest.ts';

const reading = (fields: Partial<Reading> = {}): Reading => ({
  device: 'd',
  metric: 'm',
  time: 20_000 * DAY_US,
  value: 1.5,
  received: 20_000 * DAY_US + 7,
  boot: null,
  seq: null,
  quality: 'ok',
  ...fields,
});

function hexOf(...readings: readonly Reading[]): string[] {
  const digest = new DeviceDigest();
  for (const each of readings) digest.add(each);
  return [...digest.days()].map(
    ([day, { count, digest }]) => `${dayName(day)} ${count} ${digest.toString('hex')}`,
  );
}

const sha = (...parts: readonly (Buffer | string)[]) => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};
const double = (value: number) => {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return bytes;
};
const text = (value: string) => {
  const bytes = Buffer.from(value);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
};

test('is what the documentation defines', () => {
  const time = 20_000 * DAY_US;
  const a = Buffer.concat([double(time), double(time + 7), double(-1), Buffer.from([0]), double(1.5)]);
  const b = Buffer.concat([
    double(time + 1),
    double(time + 7),
    double(9),
    Buffer.from([1 + 4 + 8]),
    text('böot'),
    text('öffen'),
  ]);
  const first = sha(Buffer.alloc(32), text('m'), double(2), sha(a, b));
  const second = sha(first, text('n'), double(1), sha(a));
  const readings = [
    reading(),
    reading({ time: time + 1, value: 'öffen', boot: 'böot', seq: 9, quality: 'skewed' }),
    reading({ metric: 'n' }),
  ];
  assert.deepEqual(hexOf(...readings), [`2024-10-04 3 ${second.toString('hex')}`]);

  const sum = new SumDigest();
  sum.addDay('d', 20_000, { count: 3, digest: second });
  assert.equal(sum.hex, sha(text('d'), double(20_000), double(3), second).toString('hex'));
  assert.equal(sum.count, 3);
});

test('differs for every field, for 0 and -0, and for a number and its text', () => {
  const all = [
    reading(),
    reading({ metric: 'n' }),
    reading({ time: reading().time + 1 }),
    reading({ received: 5 }),
    reading({ value: 0 }),
    reading({ value: -0 }),
    reading({ value: '0' }),
    reading({ value: '' }),
    reading({ boot: '' }),
    reading({ boot: 'b' }),
    reading({ seq: 0 }),
    reading({ quality: 'unsynced' }),
  ].map((each) => hexOf(each).join());
  assert.equal(new Set(all).size, all.length);
});

test('separates days and metrics, also beyond one part of memory', () => {
  const value = 'x'.repeat(4096);
  const many = Array.from({ length: 40 }, (_, index) => reading({ time: index * (DAY_US / 10), value }));
  const lines = hexOf(...many, ...many.map((each) => ({ ...each, metric: 'n' })));
  assert.deepEqual(
    lines.map((line) => line.split(' ').slice(0, 2).join(' ')),
    ['1970-01-01 20', '1970-01-02 20', '1970-01-03 20', '1970-01-04 20'],
  );
  assert.notEqual(lines[0]!.split(' ')[2], lines[1]!.split(' ')[2]);
});

test('a sum does not depend on the order of its items, and shows a repeated one', () => {
  fc.assert(
    fc.property(fc.array(fc.string(), { minLength: 2 }), (items) => {
      const sumOf = (list: readonly string[]) => {
        const sum = new SumDigest();
        for (const item of list) sum.addText(item);
        return sum.hex;
      };
      assert.equal(sumOf(items), sumOf(items.toReversed()));
      assert.notEqual(sumOf(items), sumOf([...items, items[0]!]));
    }),
  );
});

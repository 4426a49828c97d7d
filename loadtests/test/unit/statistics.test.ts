import assert from 'node:assert/strict';
import { test } from 'node:test';
import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { median, quantile } from '@tidegauge/loadtests/results/statistics';
import { textTable } from '@tidegauge/loadtests/results/table';

test('a median is the middle value, or the mean of the two middle values', () => {
  assert.equal(median([9, 1, 10]), 9);
  assert.equal(median([10, 1, 2, 9]), 5.5);
  assert.ok(Number.isNaN(median([])));
});

test('a quantile is one of the values, by nearest rank', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  assert.equal(quantile(hundred, 0.5), 50);
  assert.equal(quantile(hundred, 0.99), 99);
  assert.equal(quantile(hundred, 0), 1);
  assert.equal(quantile(hundred, 1), 100);
  assert.equal(quantile([3], 0.99), 3);
  assert.ok(Number.isNaN(quantile([], 0.5)));
});

test('a table is aligned in columns, also when rows are short', () => {
  assert.equal(
    textTable([['name', '1'], ['x', '100/s', 'p50'], ['alone']]),
    '  name       1\n  x      100/s  p50\n  alone\n',
  );
});

test('numbers below 100 are shown with one decimal digit, and others without', () => {
  assert.deepEqual([0.04, 12.34, 123.4, 12345.6].map(showNumber), ['0.0', '12.3', '123', '12,346']);
});

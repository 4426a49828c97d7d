import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Absences } from '../../src/absences.ts';

const NOBODY = new Set<number>();

test('absence is counted between rounds with evidence, and ends with a sighting', () => {
  const absences = new Absences(20);
  absences.seen([1, 2], NOBODY, 100);
  absences.seen([1, 2], new Set([2]), 105);
  absences.seen([1, 2], NOBODY, 111);
  assert.equal(absences.of(1), 11);
  assert.equal(absences.of(2), 6);
  absences.seen([1, 2], new Set([1]), 112);
  assert.equal(absences.of(1), 0);
});

test('time without evidence does not count as absence, and a long pause counts as one step', () => {
  const absences = new Absences(20);
  absences.seen([1], NOBODY, 0);
  absences.blind();
  absences.seen([1], NOBODY, 1000);
  assert.equal(absences.of(1), 0);
  absences.seen([1], NOBODY, 5000);
  assert.equal(absences.of(1), 20);
});

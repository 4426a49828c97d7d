import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toReadingDocument } from '@tidegauge/readings';
import { LiveEvent } from '../../src/live-event.ts';
import { LiveRing } from '../../src/live-ring.ts';
import { reading } from '../harness.ts';

const document = (second: number, value: number | string) => toReadingDocument(reading(second, { value }));

test('the ring is bounded in bytes for readings of any size, and counts what it dropped', () => {
  const ring = new LiveRing(20_000, 2 ** 20);
  for (let line = 0; line < 200; line += 1) {
    ring.append({ readings: Array.from({ length: 100 }, (_, n) => document(n, '\u{4e00}'.repeat(4096))) });
    assert.ok(ring.bytes <= 2 ** 20, `${ring.bytes} bytes`);
  }
  const kept = ring.end.total - ring.oldest.total;
  assert.equal(ring.end.total, 20_000);
  assert.ok(kept > 50 && kept < 130, `${kept} readings`);
  for (let index = ring.oldest.index; index < ring.end.index; index += 1) {
    const entry = ring.at(index)!;
    assert.ok(entry.content instanceof LiveEvent);
    assert.ok(entry.content.select({ device: null, metric: null })!.length < 128 * 1024);
  }
  assert.equal(ring.at(ring.oldest.index - 1), undefined);
});

test('numbers fill the ring up to its limit of readings, with hundreds of them in one entry', () => {
  const ring = new LiveRing(20_000, 8 * 2 ** 20);
  for (let line = 0; line < 50; line += 1) {
    ring.append({ readings: Array.from({ length: 500 }, (_, n) => document(n, n)) });
  }
  assert.ok(ring.end.total - ring.oldest.total >= 19_000);
  assert.ok(ring.end.index - ring.oldest.index < 250);
});

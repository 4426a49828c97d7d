import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Region } from '../../src/region.ts';
import { RegionIndex } from '../../src/region-index.ts';

function region(start: string, end: string): Region {
  const label = `${start}..${end}`;
  const [first, last] = [Buffer.from(start), Buffer.from(end)];
  const server = { host: 'a', port: 1 };
  return { table: 't', name: Buffer.from(label), label, start: first, end: last, server, startCode: '' };
}

function indexOf(...regions: readonly Region[]): RegionIndex {
  const index = new RegionIndex();
  for (const each of regions) index.add(each);
  return index;
}

const find = (index: RegionIndex, row: string, side: 'at' | 'before' = 'at') =>
  index.find(Buffer.from(row), side)?.label;

test('a row is found in the region whose range contains it', () => {
  const index = indexOf(region('m', ''), region('', 'd'), region('d', 'm'));
  assert.equal(find(index, ''), '..d');
  assert.equal(find(index, 'c\u{10ffff}'), '..d');
  assert.equal(find(index, 'd'), 'd..m');
  assert.equal(find(index, 'm'), 'm..');
  assert.equal(find(index, 'z'), 'm..');
});

test('in descending order, a border belongs to the region before it', () => {
  const index = indexOf(region('', 'd'), region('d', 'm'), region('m', ''));
  assert.equal(find(index, 'd', 'before'), '..d');
  assert.equal(find(index, 'e', 'before'), 'd..m');
  assert.equal(find(index, 'm', 'before'), 'd..m');
  assert.equal(find(index, '', 'before'), 'm..');
});

test('no region is found for a row outside the cached ranges', () => {
  const index = indexOf(region('d', 'm'));
  assert.equal(find(index, 'c'), undefined);
  assert.equal(find(index, 'm'), undefined);
  assert.equal(find(index, '', 'before'), undefined);
  assert.equal(find(index, 'd', 'before'), undefined);
});

test('a region replaces the regions that it overlaps, after splits and merges', () => {
  const index = indexOf(region('', 'd'), region('d', 'm'), region('m', ''));
  index.add(region('d', 'h'));
  assert.equal(find(index, 'k'), undefined);
  index.add(region('h', 'm'));
  assert.equal(index.size, 4);
  index.add(region('', 'm'));
  assert.equal(index.size, 2);
  assert.equal(find(index, 'k'), '..m');
});

test('it never has two regions for one row, in any order of additions', () => {
  const key = fc.stringMatching(/^[a-f]{0,2}$/);
  fc.assert(
    fc.property(fc.array(fc.tuple(key, key), { maxLength: 30 }), (ranges) => {
      const index = new RegionIndex();
      for (const [start, end] of ranges) {
        if (end !== '' && start >= end) continue;
        const added = region(start, end);
        index.add(added);
        assert.equal(index.find(Buffer.from(start), 'at'), added);
        assert.equal(index.find(Buffer.from(end), 'before'), added);
      }
    }),
  );
});

test('only the region that failed is removed, not the one that replaced it', () => {
  const [old, fresh] = [region('a', 'b'), region('a', 'b')];
  const index = indexOf(old);
  index.add(fresh);
  index.delete(old);
  assert.equal(index.find(Buffer.from('a'), 'at'), fresh);
  index.delete(fresh);
  assert.equal(index.size, 0);
});

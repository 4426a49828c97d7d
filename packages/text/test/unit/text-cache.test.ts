import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { TextCache } from '../../src/text-cache.ts';

function find(cache: TextCache, text: string): string | undefined {
  const bytes = Buffer.from(`..${text}..`);
  return cache.find(bytes, 2, bytes.length - 2);
}

it('finds what was added, and nothing else', () => {
  const texts = fc.array(
    fc.oneof(fc.string({ maxLength: 6 }), fc.string({ unit: 'grapheme', maxLength: 6 })),
  );
  fc.assert(
    fc.property(texts, texts, (added, others) => {
      const cache = new TextCache(16);
      for (const text of added) {
        cache.add(text);
        const isKept = text !== '' && Buffer.byteLength(text) === text.length;
        assert.equal(find(cache, text), isKept ? text : undefined);
      }
      for (const text of others) assert.ok([text, undefined].includes(find(cache, text)));
    }),
  );
});

it('keeps no text whose characters are other bytes', () => {
  const cache = new TextCache(1);
  cache.add('\u00e9');
  assert.equal(cache.find(Buffer.from([0xe9]), 0, 1), undefined);
  assert.equal(cache.find(Buffer.from('\u00e9'), 0, 2), undefined);
});

it('keeps no text of more than 128 characters', () => {
  const cache = new TextCache(4);
  const most = 'a'.repeat(128);
  cache.add(most);
  cache.add(`${most}a`);
  assert.equal(find(cache, most), most);
  assert.equal(find(cache, `${most}a`), undefined);
});

it('replaces the text of a slot', () => {
  const cache = new TextCache(1);
  cache.add('one');
  cache.add('two');
  assert.equal(find(cache, 'one'), undefined);
  assert.equal(find(cache, 'two'), 'two');
});

it('spreads similar names over its slots', () => {
  const cache = new TextCache(1024);
  const names = Array.from({ length: 256 }, (_, index) => `sensors/device-${index}/temperature`);
  for (const name of names) cache.add(name);
  // Of 256 names in 1024 slots at random, 30 are expected to lose theirs to a later one.
  assert.ok(names.filter((name) => find(cache, name) !== name).length < 60);
});

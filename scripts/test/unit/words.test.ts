import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { NODE, ROOT } from '../../setup.js';
import { AVOIDED } from '../../word-list.ts';
import { findWords } from '../../words.ts';

const found = (text: string) => findWords(text).map((hit) => hit.found);

test('a phrase is found with its position and what to write instead', () => {
  assert.deepEqual(findWords('One line.\n// The file is mended.\n'), [
    { line: 2, column: 16, found: 'mended', write: 'fix, repair' },
  ]);
});

test('only whole words count', () => {
  assert.deepEqual(found('recommended, amend, unless, lestat, essays, behave'), []);
});

test('a phrase is found across the line break of a comment', () => {
  assert.deepEqual(found('/**\n * The caller is\n * told.\n */'), ['is told']);
  assert.deepEqual(found('# a server that cannot be\n# had'), ['be had']);
});

test('one place is reported once, with the first phrase that matches', () => {
  assert.deepEqual(findWords('they are told apart')[0]?.write, 'is distinguished, distinguishes');
  assert.deepEqual(found('the broker says so'), ['says so']);
});

test('a verb of persons is allowed for a person', () => {
  assert.deepEqual(found('anyone who wants it; the operator knows it'), []);
  assert.deepEqual(found('the broker knows it; a test that wants it'), ['knows', 'wants']);
});

test('DESIGN counts in capitals only', () => {
  assert.deepEqual(found('the design of it; see DESIGN section 5'), ['DESIGN section']);
});

test('every phrase of the list is found in its own example or word', () => {
  const missing = AVOIDED.filter(({ shown, pattern }) => {
    const examples = [shown, ...shown.split(', ')].map((text) => text.replace('…', 'calls'));
    return !examples.some((text) => new RegExp(pattern, 'i').test(text));
  });
  assert.deepEqual(missing, []);
});

test('the command exits with 0 without a hit, and with 2 on bad usage', () => {
  const run = (...args: string[]) =>
    spawnSync(NODE, ['scripts/words.ts', ...args], { cwd: ROOT, encoding: 'utf8' });
  assert.equal(run('CONTRIBUTING.md').status, 0);
  assert.equal(run('LICENSE', 'scripts/word-list.ts', 'scripts/setup.js').status, 0);
  assert.equal(run('no/such/path').status, 2);
  assert.equal(run('--unknown').status, 2);
  assert.match(execFileSync(NODE, ['scripts/words.ts', '--help'], { cwd: ROOT, encoding: 'utf8' }), /Usage/);
});

test('names of other programs and of old fields are no phrases', () => {
  assert.deepEqual(found('Wants=network-online.target'), []);
  assert.deepEqual(found('The field `says` is now `message`. The log says it.'), ['says']);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError } from '@tidegauge/service/program';
import { dataError, YamlFile } from '@tidegauge/yaml-file';

/** The problems of a text; empty when it is read. */
function problemsOf(text: string): readonly string[] {
  try {
    YamlFile.parse(text, 'f.yml');
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.problems;
  }
}

const MIB = 2 ** 20;

test('a key that its map has already is a mistake, in every map of a file', () => {
  assert.deepEqual(problemsOf('a: 1\nb: { c: 1, d: 2, "c": 3 }\na: 2\n'), [
    'f.yml:3:1: Map keys must be unique',
    'f.yml:2:18: Map keys must be unique',
  ]);
  assert.deepEqual(problemsOf('[{"a": 1, "a": 1}]'), ['f.yml:1:11: Map keys must be unique']);
  assert.deepEqual(problemsOf('- { a: 1 }\n- { a: 1 }\n'), []);
});

test('a file that takes much memory or time is refused before it is parsed', () => {
  const many = (unit: string) => unit.repeat(Math.floor(MIB / unit.length));
  const keys = Array.from({ length: 60_000 }, (_, index) => `k${index}: 1`).join('\n');
  for (const text of [
    keys,
    `[${many('[],')}`.slice(0, MIB),
    many('- '),
    many('{'),
    many('? '),
    many('- &a x\n- *a\n'),
    many('%a\n'),
  ])
    assert.match(
      problemsOf(text).join(),
      /f\.yml: it cannot be read: it has more than 50000 words and marks/,
    );
  assert.match(problemsOf('x'.repeat(MIB + 1)).join(), /it has 1048577 bytes, and at most 1048576 are read/);
  assert.deepEqual(problemsOf(`a: "${'x '.repeat(MIB / 4)}"`), [], 'one long text is one word');
});

test('deep nesting and aliases that multiply are refused', () => {
  const deep = (open: string, close: string) => open.repeat(15_000) + close.repeat(15_000);
  for (const text of [deep('[', ']'), '- '.repeat(20_000)])
    assert.match(problemsOf(text).join(), /nested too deeply/);
  const laughs = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
  for (let level = 1; level < 10; level++) {
    const alias = `*a${level - 1}`;
    laughs.push(`a${level}: &a${level} [${Array(10).fill(alias).join(', ')}]`);
  }
  assert.match(problemsOf(laughs.join('\n')).join(), /[Ee]xcessive alias count/);
});

test('mistakes of data have their key, and are bounded', () => {
  const wrong = Array.from({ length: 1000 }, (_, index) => ({ path: ['a', index], message: 'wrong' }));
  const { problems } = dataError('route', wrong);
  assert.deepEqual(
    [problems[0], problems.length, problems.at(-1)],
    ['route: a[1]: wrong', 21, '… and 980 more'],
  );
  const file = YamlFile.parse('a: [1]', 'f.yml').error(wrong);
  assert.deepEqual([file.problems.length, file.problems.at(-1)], [21, '… and 980 more']);
});

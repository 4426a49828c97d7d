import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError } from '@tidegauge/service/program';
import { appendEntry, YamlFile } from '../../src/index.ts';

const ENTRY = { topic: 'weather/{device}', mapping: { drop: ['a: b', '- c', '"'], rename: { 'x.*': '*' } } };

const dataOf = (text: string) => YamlFile.parse(text, 'routes.yml').data;

test('an entry is added at the end of a list, and the other lines stay as they are', () => {
  for (const text of [
    '# our routes\n- topic: a/{device}   # the first\n\n- preset: tasmota\n# the end\n',
    '- topic: a/{device}\n- preset: tasmota',
    '  - topic: a/{device}\n    qos: 0\n  - preset: tasmota\n',
    '---\n- topic: |-\n    a/{device}\n- {preset: tasmota}\n',
    '- &one\n  topic: a/{device}\n  preset: tasmota\n- {<<: 1, name: two}\n',
  ]) {
    const added = appendEntry(text, 'routes.yml', ENTRY);
    assert.ok(added?.startsWith(text), `${added}`);
    assert.deepEqual(dataOf(added!), [...(dataOf(text) as unknown[]), ENTRY]);
  }
});

test('an entry is added to JSON, to a list in brackets, to a file with an end mark, and to an empty file', () => {
  const json = '[{"topic": "a/{device}"}]';
  assert.deepEqual(JSON.parse(appendEntry(json, 'routes.json', ENTRY)!), [{ topic: 'a/{device}' }, ENTRY]);
  for (const text of [
    '[{preset: tasmota}]  # one\n',
    '- preset: tasmota\n...\n',
    '',
    '# none yet\n',
    '[]\n',
  ]) {
    const added = appendEntry(text, 'routes.yml', ENTRY)!;
    assert.deepEqual(dataOf(added), [...((dataOf(text) ?? []) as unknown[]), ENTRY], text);
  }
});

test('an entry that the list has already is not added', () => {
  const text = appendEntry('- preset: tasmota\n', 'routes.yml', ENTRY)!;
  assert.equal(appendEntry(text, 'routes.yml', structuredClone(ENTRY)), null);
  assert.notEqual(appendEntry(text, 'routes.yml', { ...ENTRY, name: 'other' }), null);
});

test('a file that is no list or becomes too large is refused with its name', () => {
  const refused = (text: string, message: RegExp) =>
    assert.throws(
      () => appendEntry(text, 'routes.yml', ENTRY),
      (error) => error instanceof ConfigError && message.test(error.message),
    );
  refused('topic: a\n', /^routes\.yml:1:1: it must be a list/);
  refused('- topic: [\n', /^routes\.yml:/);
  refused(`- topic: ${'a'.repeat(2 ** 20 - 20)}\n`, /at most 1048576 are read/);
});

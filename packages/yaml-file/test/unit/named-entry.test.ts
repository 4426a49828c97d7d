import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError } from '@tidegauge/service/program';
import { putEntry, removeEntry, YamlFile } from '../../src/index.ts';

const TEXT = `# our rules
- name: hot
  above: 80   # degrees

# the tank
- { name: full, above: 90 }
- name: quiet
  quiet: 15m
`;
const COLD = { name: 'cold', below: -5, clear: { below: -4 } };

const dataOf = (text: string) => YamlFile.parse(text, 'alerts.yml').data as { name: string }[];

test('an entry replaces the one of its name, and comments before entries stay', () => {
  const changed = putEntry(TEXT, 'alerts.yml', { ...COLD, name: 'full' });
  assert.deepEqual(dataOf(changed), [dataOf(TEXT)[0], { ...COLD, name: 'full' }, dataOf(TEXT)[2]]);
  for (const kept of ['# our rules\n', 'above: 80 # degrees\n', '# the tank\n', 'quiet: 15m\n'])
    assert.ok(changed.includes(kept), `${kept} is not in ${changed}`);
  assert.equal(putEntry(changed, 'alerts.yml', { ...COLD, name: 'full' }), changed, 'twice is once');
});

test('another entry is added, also to an empty file, and an equal one changes nothing', () => {
  for (const text of [TEXT, '', '# none yet\n', '[]\n', '[{name: a}]\n', '[{"name": "a"}]']) {
    const changed = putEntry(text, 'alerts.yml', COLD);
    assert.deepEqual(dataOf(changed), [...(dataOf(text) ?? []), COLD], text);
    assert.equal(putEntry(changed, 'alerts.yml', COLD), changed);
  }
});

test('an entry is removed by its name', () => {
  const names = (text: string) => dataOf(text).map(({ name }) => name);
  const removed = removeEntry(TEXT, 'alerts.yml', 'full')!;
  assert.deepEqual(names(removed), ['hot', 'quiet']);
  assert.equal(removeEntry(removed, 'alerts.yml', 'full'), null);
  assert.deepEqual(names(removeEntry(removeEntry(removed, 'a', 'hot')!, 'a', 'quiet')!), []);
  assert.deepEqual(JSON.parse(removeEntry('[{"name":"a"},{"name":"b"}]', 'a.json', 'a')!), [{ name: 'b' }]);
});

test('a file that cannot be changed without a loss is refused', () => {
  const refused = (text: string, message: RegExp) =>
    assert.throws(
      () => putEntry(text, 'alerts.yml', { name: 'a' }),
      (error) => error instanceof ConfigError && message.test(error.message),
    );
  refused('name: a\n', /^alerts\.yml:1:1: it must be a list/);
  refused('- &first\n  name: a\n  above: 1\n- *first\n', /change it with an editor/);
});

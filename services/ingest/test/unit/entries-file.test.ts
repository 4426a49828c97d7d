import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createLogger } from '@tidegauge/service';
import { EntriesFile } from '../../src/alerts/entries-file.ts';
import type { AlertRule } from '../../src/alerts/rule.ts';
import { parseAlertRules, ruleEntry } from '../../src/alerts/rules-file.ts';

const HOT = '# the boiler\n- { name: hot, metric: t, above: 80, clear: 75, for: 5m, severity: critical }\n';

const quiet = (name: string, time: string) => ({ name, quiet: time });

async function open(context: TestContext, text: string | null) {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-entries-'));
  context.after(() => rm(directory, { recursive: true }));
  const file = join(directory, 'alerts.yml');
  if (text !== null) await writeFile(file, text);
  const logger = createLogger('test', 'silent');
  const rules = new EntriesFile<AlertRule>({
    file,
    what: 'alert rules',
    isRequired: false,
    parse: parseAlertRules,
    logger,
  });
  const used: string[][] = [];
  rules.watch((entries) => void used.push(entries.map(({ name }) => name)));
  context.after(() => rules.stop());
  return { file, rules, used };
}

test('a rule is added, replaced and removed, is used at once, and the rest of the file stays', async (context) => {
  const { file, rules, used } = await open(context, HOT);
  assert.equal(await rules.put(quiet('quiet', '15m')), false);
  assert.equal(await rules.put(quiet('quiet', '1d')), true);
  assert.deepEqual(rules.entries.map(ruleEntry), [
    { name: 'hot', metric: 't', above: 80, clear: 75, for: '5m', severity: 'critical' },
    { name: 'quiet', quiet: '1d', severity: 'warning' },
  ]);
  assert.match(await readFile(file, 'utf8'), /^# the boiler\n/);
  assert.equal(await rules.remove('hot'), true);
  assert.equal(await rules.remove('hot'), false);
  assert.deepEqual(used, [['hot', 'quiet'], ['hot', 'quiet'], ['quiet']]);
});

test('the first rule creates the file, which others cannot read', async (context) => {
  const { file, rules } = await open(context, null);
  assert.deepEqual([rules.exists, rules.entries], [false, []]);
  await Promise.all(['a', 'b', 'c'].map((name) => rules.put(quiet(name, '1h'))));
  assert.deepEqual(rules.entries.map(({ name }) => name).sort(), ['a', 'b', 'c']);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
});

test('a rule with a mistake changes nothing, and neither does a change of a file with one', async (context) => {
  const { file, rules } = await open(context, HOT);
  await assert.rejects(rules.put({ name: 'hot' }), /a rule has above, below or quiet/);
  assert.equal(await readFile(file, 'utf8'), HOT);
  await writeFile(file, `${HOT}- { name: hot, quiet: 1m }\n`);
  await assert.rejects(rules.put(quiet('a', '1h')), /another rule has the name hot/);
  assert.deepEqual(rules.entries.map(ruleEntry).length, 1);
});

test('an entry of a rule is read as the same rule', () => {
  const text = `
- { name: a, device: site-3, metric: t, above: 30, below: 5, clear: { above: 28, below: 6 }, for: 90s }
- { name: b, metric: t, below: -5.5, for: 1.5s }
- { name: c, metric: t, above: 1, below: 0, clear: { above: 0.5 }, severity: info }
- { name: d, device: a/b, quiet: 36h }
`;
  const rules = parseAlertRules(text, 'alerts.yml');
  const again = parseAlertRules(JSON.stringify(rules.map(ruleEntry)), 'alerts.json');
  assert.deepEqual(again, rules);
});

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildPint, lintRules } from '@tidegauge/lab/pint';
import { testWith } from '@tidegauge/lab/unavailable';
import { yaml } from '../../src/rule-files.ts';

const FOLDER = join(import.meta.dirname, '..', '..', 'prometheus');

const test = await testWith('pint', buildPint);

test('pint finds no fault in the recording rules and alerts', async () => {
  assert.equal(await lintRules(['rules.yml', 'alerts.yml'], FOLDER), '');
});

test('pint finds a label that the query of an alert has removed', async (context) => {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-pint-test-'));
  context.after(() => rm(directory, { recursive: true }));
  const expr = 'sum by (instance) (tidegauge_readings_stored_total) > 5';
  const annotations = { description: '{{ $labels.backend }} is wrong.' };
  const rules = [{ alert: 'Wrong', expr, for: '1m', annotations }];
  await writeFile(join(directory, 'alerts.yml'), yaml({ groups: [{ name: 'wrong', rules }] }));
  assert.match(await lintRules(['alerts.yml'], directory), /alerts\/template/);
});

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { ALERT_CASES } from '../../src/alert-cases.ts';
import { alerts } from '../../src/alerts.ts';
import { CONFIG } from '../../src/config.ts';
import { generated } from '../../src/generated.ts';
import { alertsFile } from '../../src/rule-files.ts';

const ROOT = join(import.meta.dirname, '..', '..');

for (const [name, text] of generated()) {
  test(`${name} matches its source; npm run dashboards writes it`, () => {
    assert.equal(readFileSync(join(ROOT, name), 'utf8'), text);
  });
}

test('every alert has one test case, and every case has an alert', () => {
  assert.deepEqual(
    ALERT_CASES.map(({ alert }) => alert).toSorted(),
    alerts()
      .map(({ name }) => name)
      .toSorted(),
  );
});

test('a real fault makes every alert fire, or not-caused.yml has the reason why not', () => {
  const tests = globSync('test/{integration,proof}/*.test.ts', { cwd: ROOT });
  const source = tests.map((file) => readFileSync(join(ROOT, file), 'utf8')).join();
  const caused = alerts().filter(({ name }) => new RegExp(`'${name}['{]`).test(source));
  const excused = parse(readFileSync(join(ROOT, 'test', 'not-caused.yml'), 'utf8')) as Record<string, string>;
  assert.deepEqual(
    [...caused.map(({ name }) => name), ...Object.keys(excused)].toSorted(),
    alerts()
      .map(({ name }) => name)
      .toSorted(),
  );
});

test('alerts have a common prefix, and their summaries are complete sentences', () => {
  for (const { name, summary, description } of alerts()) {
    assert.match(name, /^Tidegauge([A-Z][a-z]+)+$/);
    assert.match(summary, /^[A-Z][^{}]+\.$/, name);
    assert.match(description, /\.$/, name);
  }
});

test('a patience below 1 shortens the waits of alerts, and runbooks can have any URL', () => {
  const text = alertsFile({ ...CONFIG, patience: 0.05, runbooks: 'https://example.org/runbooks' });
  assert.match(text, /for: 3s\n/);
  assert.match(text, /runbook_url: https:\/\/example\.org\/runbooks\/TidegaugeReadingsWaiting\.md/);
});

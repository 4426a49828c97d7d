import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { alerts } from '../../src/alerts.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const PAGES = globSync('docs/runbooks/*.md', { cwd: ROOT }).toSorted();

interface Rules {
  readonly groups: readonly { readonly rules: readonly { annotations: { runbook_url: string } }[] }[];
}

test('every alert has a runbook, no runbook has lost its alert, and the alert names it', () => {
  const names = alerts().map(({ name }) => name);
  assert.deepEqual(
    PAGES.map((page) => basename(page, '.md')),
    names.toSorted(),
  );
  const { groups } = parse(readFileSync(join(ROOT, 'dashboards/prometheus/alerts.yml'), 'utf8')) as Rules;
  const urls = groups.flatMap(({ rules }) => rules).map(({ annotations }) => annotations.runbook_url);
  assert.deepEqual(urls.toSorted(), PAGES);
});

for (const page of PAGES) {
  test(`${page} says what it means, what to look at and what to do, and its links resolve`, () => {
    const text = readFileSync(join(ROOT, page), 'utf8');
    const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading);
    assert.deepEqual(headings, [basename(page, '.md'), 'What it means', 'What to look at', 'What to do']);
    assertLinks(page, text);
  });
}

test('the links of the page on watching resolve', () => {
  assertLinks('dashboards/README.md', readFileSync(join(ROOT, 'dashboards/README.md'), 'utf8'));
});

function assertLinks(page: string, text: string): void {
  for (const [, link] of text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)) {
    assert.ok(
      existsSync(resolve(ROOT, dirname(page), link!)),
      `${page} links to ${link}, which is not there`,
    );
  }
}

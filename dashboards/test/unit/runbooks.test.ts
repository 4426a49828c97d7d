import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { alerts } from '../../src/alerts.ts';
import { runbooks } from '../../src/dashboards/runbooks.ts';
import { DASHBOARDS } from '../../src/dashboards.ts';
import { panelsOf } from '../../src/queries.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const PAGES = globSync('docs/runbooks/Tidegauge*.md', { cwd: ROOT }).toSorted();

/** Titles of all panels and dashboards. */
const NAMES = new Set([
  ...DASHBOARDS.map(({ title }) => title!.replace('Tidegauge / ', '')),
  ...DASHBOARDS.flatMap(panelsOf).map(({ title }) => title!),
]);

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly { alert: string; annotations: { runbook_url: string } }[];
  }[];
}

test('every alert has a runbook, every runbook has an alert, and the alert links to its runbook', () => {
  const names = alerts().map(({ name }) => name);
  assert.deepEqual(
    PAGES.map((page) => basename(page, '.md')),
    names.toSorted(),
  );
  const { groups } = parse(readFileSync(join(ROOT, 'dashboards/prometheus/alerts.yml'), 'utf8')) as Rules;
  const panels = panelsOf(runbooks);
  for (const { alert, annotations } of groups.flatMap(({ rules }) => rules)) {
    const [, id] = /^\/d\/tidegauge-runbooks\?viewPanel=(\d+)$/.exec(annotations.runbook_url) ?? [];
    assert.equal(panels.find((panel) => panel.id === Number(id))?.title, alert);
  }
});

test('the dashboard Runbooks has no link that Grafana cannot open', () => {
  for (const { title, options } of panelsOf(runbooks)) {
    const { content } = options as { content: string };
    assert.match(content, /^## What it means\n/, title);
    for (const [, link] of content.matchAll(/\]\(([^)]*)\)/g)) assert.match(link!, /^(https?:|\/d\/)/, title);
  }
});

for (const page of PAGES) {
  test(`${page} has its three sections, its links resolve, and the panels that it names exist`, () => {
    const text = readFileSync(join(ROOT, page), 'utf8');
    const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading);
    assert.deepEqual(headings, [basename(page, '.md'), 'What it means', 'What to check', 'What to do']);
    assertLinks(page, text);
    for (const [, name] of text.matchAll(/"([A-Z][^"]*)"/g)) {
      assert.ok(
        NAMES.has(name!) || name!.startsWith('Authorization'),
        `${page}: there is no panel or dashboard "${name}"`,
      );
    }
  });
}

test('the links of the README files resolve', () => {
  for (const page of ['dashboards/README.md', 'docs/runbooks/README.md']) {
    assertLinks(page, readFileSync(join(ROOT, page), 'utf8'));
  }
});

function assertLinks(page: string, text: string): void {
  for (const [, link] of text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)) {
    assert.ok(
      existsSync(resolve(ROOT, dirname(page), link!)),
      `${page} links to ${link}, which does not exist`,
    );
  }
}

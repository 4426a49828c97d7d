import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { projectFiles } from '../../project-files.ts';
import { ROOT } from '../../setup.js';

const pages = projectFiles().filter((file) => file.endsWith('.md') && existsSync(join(ROOT, file)));
const withoutCode = (text: string) => text.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, '');

/** The anchors of a page, as GitHub and others make them from its headings. */
function anchorsOf(path: string): Set<string> {
  const text = readFileSync(path, 'utf8').replace(/^```[\s\S]*?^```/gm, '');
  const headings = [...text.matchAll(/^#{1,6} +(.+)$/gm)].map((match) =>
    match[1]!
      .toLowerCase()
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replace(/\s/g, '-'),
  );
  return new Set(headings);
}

test('every relative link of a page leads to a file of the repository and to a heading in it', () => {
  assert.ok(pages.length > 50);
  const broken = pages.flatMap((page) => {
    const text = withoutCode(readFileSync(join(ROOT, page), 'utf8'));
    return [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target]) => {
      if (/^[a-z]+:/.test(target!)) return [];
      const [file = '', anchor] = target!.split('#');
      const path = file === '' ? join(ROOT, page) : join(ROOT, dirname(page), file);
      if (relative(ROOT, path).startsWith('..') || !existsSync(path)) return [`${page}: ${target}`];
      if (anchor === undefined || statSync(path).isDirectory()) return [];
      return anchorsOf(path).has(anchor) ? [] : [`${page}: ${target}`];
    });
  });
  assert.deepEqual(broken, []);
});

test('the index of the documents has every page in docs', () => {
  const index = readFileSync(join(ROOT, 'docs', 'README.md'), 'utf8');
  const missing = pages.filter(
    (page) =>
      /^docs\/[^/]+\.md$/.test(page) && page !== 'docs/README.md' && !index.includes(`(${page.slice(5)}`),
  );
  assert.deepEqual(missing, []);
});

// Finds phrases that the project's text avoids: `npm run words [-- PATH…]`, `npm run words -- --count` for totals.
import { readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { projectFiles } from './project-files.ts';
import { ROOT } from './setup.js';
import { AVOIDED, type Avoided } from './word-list.ts';

/** A phrase found in a text. Line and column count from 1. */
export interface Hit {
  readonly line: number;
  readonly column: number;
  readonly found: string;
  readonly write: string;
}

/** Files that are generated, that come from elsewhere, or that must contain the phrases. */
const EXCLUDED = [
  'LICENSE',
  'package-lock.json',
  'dashboards/grafana',
  'dashboards/prometheus',
  'docs/configuration.md',
  'docs/stores.md',
  'packages/workload/workloads',
  'scripts/word-list.ts',
  'scripts/test/unit/words.test.ts',
];

// A space in a phrase, or a line break with what begins the next line of a comment or quote.
const SPACE = '(?:[ \\t]+|[ \\t]*\\n[ \\t]*(?:(?://|\\*|#|>)[ \\t]*)?)';
const COMPILED = AVOIDED.map((avoided: Avoided) => ({
  avoided,
  expression: new RegExp(`\\b(?:${avoided.pattern.replaceAll(' ', SPACE)})\\b`, 'gi'),
}));

/** The avoided phrases in a text, in its order. A name in backticks is none. */
export function findWords(text: string): Hit[] {
  const taken: { from: number; to: number; write: string }[] = [];
  for (const { avoided, expression } of COMPILED) {
    for (const match of text.matchAll(expression)) {
      const from = match.index;
      const to = from + match[0].length;
      if (text[from - 1] === '`' && text[to] === '`') continue;
      if (taken.some((other) => from < other.to && other.from < to)) continue;
      taken.push({ from, to, write: avoided.write });
    }
  }
  return taken
    .toSorted((a, b) => a.from - b.from)
    .map(({ from, to, write }) => {
      const before = text.slice(0, from);
      return {
        line: before.split('\n').length,
        column: from - before.lastIndexOf('\n'),
        found: text.slice(from, to).replace(/\s*\n\s*(?:\/\/|[*#>])?\s*|\s+/g, ' '),
        write,
      };
    });
}

/** The files to check, relative to the root: those at or below the paths given, or all. */
function filesBelow(paths: readonly string[]): string[] {
  const folders = paths.map((path) => relative(ROOT, resolve(path)));
  const isBelow = (file: string, folder: string) =>
    folder === '' || file === folder || file.startsWith(`${folder}/`);
  return projectFiles().filter(
    (file) =>
      !EXCLUDED.some((path) => isBelow(file, path)) &&
      (folders.length === 0 || folders.some((folder) => isBelow(file, folder))),
  );
}

function read(file: string): string | null {
  try {
    const text = readFileSync(join(ROOT, file), 'utf8');
    return text.includes('\0') ? null : text;
  } catch {
    return null; // Deleted in the working tree, or a link to a directory.
  }
}

function main(): number {
  let values: { count?: boolean; help?: boolean };
  let positionals: string[];
  try {
    ({ values, positionals } = parseArgs({
      allowPositionals: true,
      options: { count: { type: 'boolean' }, help: { type: 'boolean' } },
    }));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    return 2;
  }
  if (values.help === true) {
    process.stdout.write(`Usage: npm run words -- [--count] [PATH…]

Finds words and phrases that the project's text avoids (CONTRIBUTING.md, "Language"). Checks all tracked and new
text files, or those below each PATH.

  --count   print the number of phrases per directory instead of each one

Exit codes: 0 none found, 1 some found, 2 bad usage.
`);
    return 0;
  }
  const files = filesBelow(positionals);
  if (positionals.length > 0 && files.length === 0) {
    process.stderr.write(`no files to check below ${positionals.join(' ')}\n`);
    return 2;
  }
  const hits = files.flatMap((file) => findWords(read(file) ?? '').map((hit) => ({ file, ...hit })));
  process.stdout.write(values.count === true ? countsText(hits) : hitsText(hits));
  if (hits.length === 0) return 0;
  process.stderr.write(`${hits.length} avoided ${hits.length === 1 ? 'phrase' : 'phrases'}\n`);
  return 1;
}

interface FileHit extends Hit {
  /** Relative to the root. */
  readonly file: string;
}

function hitsText(hits: readonly FileHit[]): string {
  return hits
    .map(({ file, line, column, found, write }) => `${file}:${line}:${column}: "${found}": write ${write}\n`)
    .join('');
}

/** The number of phrases per directory, the largest first. */
function countsText(hits: readonly FileHit[]): string {
  const byTop = Map.groupBy(hits, ({ file }) =>
    file
      .split('/')
      .slice(0, /^(?:packages|services)\//.test(file) ? 2 : 1)
      .join('/'),
  );
  return [...byTop]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([top, each]) => `${String(each.length).padStart(6)}  ${top}\n`)
    .join('');
}

if (import.meta.main) process.exitCode = main();

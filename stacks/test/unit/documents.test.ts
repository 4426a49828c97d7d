import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { PROFILES, ROOT, readVariables, STORES } from '../stack-files.ts';

const PAGES = globSync(
  ['docs/deploy.md', 'docs/runbooks/*.md', 'stacks/**/*.md', 'examples/**/*.md', 'dashboards/*.md'],
  { cwd: ROOT },
).toSorted();
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** The anchor that hosts such as GitHub make of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

const helps = new Map<string, string>();
function helpOf(program: string): string {
  const help = helps.get(program) ?? execFileSync(join(ROOT, program), ['--help'], { encoding: 'utf8' });
  helps.set(program, help);
  return help;
}

for (const page of PAGES) {
  test(`the links of ${page} resolve`, () => {
    for (const [, path = '', anchor] of read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)) {
      const target = path === '' ? join(ROOT, page) : resolve(ROOT, dirname(page), path);
      assert.ok(existsSync(target), `${path} does not exist`);
      if (anchor === undefined) continue;
      const headings = [...readFileSync(target, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, text]) =>
        anchorOf(text!),
      );
      assert.ok(headings.includes(anchor), `${path} has no heading #${anchor}`);
    }
  });

  test(`the commands of ${page} exist and have the options that it gives them`, () => {
    for (const [command, program = ''] of read(page).matchAll(/(stacks\/bin\/[a-z]+)[^`\n]*/g)) {
      assert.ok(existsSync(join(ROOT, program)), `there is no ${program}`);
      const [own = ''] = command.slice(program.length).split(/ -- |[;|]/);
      for (const [option] of own.matchAll(/(?<= )--[a-z][a-z-]+/g)) {
        assert.ok(helpOf(program).includes(option), `${program} has no option ${option}`);
      }
    }
  });
}

test('the settings of the examples are variables that the stacks use', () => {
  const stacks = ['docker-stack.yml', 'stacks/cassandra.yml'].map(read).join();
  for (const name of Object.keys(readVariables('examples/three-boards/settings.env'))) {
    assert.match(stacks, new RegExp(`\\$\\{${name}\\b`), name);
  }
  const compose = readVariables('examples/one-board/compose.env');
  for (const file of compose.COMPOSE_FILE!.split(':')) assert.ok(existsSync(join(ROOT, file)), file);
  assert.match(read('stacks/compose.yml'), /\$\{TIDEGAUGE_SECRETS\b/);
  assert.ok(compose.TIDEGAUGE_SECRETS);
});

test('the examples use stores and profiles that exist', () => {
  for (const page of globSync('examples/*/README.md', { cwd: ROOT })) {
    const text = read(page);
    for (const [, store = ''] of text.matchAll(
      /stacks\/bin\/(?:deploy|doctor|images|secrets) ([a-z][a-z-]*)/g,
    )) {
      assert.ok([...STORES, 'monitoring'].includes(store), `${basename(dirname(page))}: ${store}`);
    }
    for (const [, profile = ''] of text.matchAll(/--profile (\S+)/g)) {
      assert.ok((PROFILES as readonly string[]).includes(profile), profile);
    }
  }
});

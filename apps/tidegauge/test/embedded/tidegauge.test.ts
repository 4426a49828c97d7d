import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runProgramSync } from '@tidegauge/process';
import { NODE, ROOT } from '../../../../scripts/setup.js';
import { PROGRAM_GROUPS, PROGRAMS } from '../../src/programs.ts';
import { commitOfClone } from '../../src/version.ts';

const tidegauge = (...args: readonly string[]) =>
  runProgramSync(NODE, ['apps/tidegauge/src/main.ts', ...args], { accept: 'any', cwd: ROOT });

test('--help has every program in its group, on one screen', () => {
  const { code, stdout } = tidegauge('--help');
  assert.equal(code, 0);
  const lines = stdout.split('\n');
  assert.ok(lines.length <= 40, `${lines.length} lines`);
  for (const line of lines) assert.ok(line.length <= 100, line);
  for (const [group, programs] of Object.entries(PROGRAM_GROUPS)) {
    const from = lines.indexOf(`${group}:`) + 1;
    assert.notEqual(from, 0, group);
    const names = lines.slice(from, from + Object.keys(programs).length).map((line) => line.split(' ')[2]);
    assert.deepEqual(names, Object.keys(programs));
  }
});

test('without a program it prints the same as an error', () => {
  const { code, stdout, stderr } = tidegauge();
  assert.deepEqual([code, stdout], [2, '']);
  assert.match(stderr, /^Usage: tidegauge COMMAND /);
});

test('a misspelt program or option is one line with the nearest one', () => {
  for (const [given, line] of [
    ['stat', 'unknown command stat: did you mean start?'],
    ['constructor', 'unknown command constructor: see tidegauge --help'],
    ['--versoin', 'unknown option --versoin: did you mean --version?'],
  ] as const) {
    assert.deepEqual(tidegauge(given), { code: 2, signal: null, stdout: '', stderr: `${line}\n` });
  }
});

test('--version prints the version and the commit', async () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const commit = await commitOfClone();
  const expected = commit === null ? version : `${version}, commit ${commit.slice(0, 12)}`;
  assert.equal(tidegauge('--version').stdout, `tidegauge ${expected}\n`);
});

test('a program gets its arguments, and its help has its name', () => {
  const help = tidegauge('keys', 'create', '--help').stdout;
  assert.match(help, /^Usage: tidegauge keys create NAME \[options\]$/m);
  const printed = tidegauge('retention', '--store', 'sqlite:x.db', '--print-config');
  assert.match(printed.stdout, /^STORE=sqlite:x\.db$/m, printed.stderr);
});

test('start reads the variable of ingest for the data directory', (context) => {
  process.env.DATA_DIR = '/nowhere';
  context.after(() => {
    delete process.env.DATA_DIR;
  });
  assert.match(tidegauge('start', '--print-config').stdout, /^DATA=\/nowhere$/m);
});

test('the completion of bash offers programs, subcommands and options, and zsh gets the same after its module', () => {
  const { stdout: script } = tidegauge('completion', 'bash');
  const complete = (...words: readonly string[]) => {
    const line = `COMP_WORDS=(tidegauge ${words.map((word) => `'${word}'`).join(' ')})`;
    const program = `${script}\n${line}\nCOMP_CWORD=${words.length}\n_tidegauge\necho "\${COMPREPLY[@]}"`;
    return runProgramSync('bash', ['-c', program]).stdout.trim().split(' ');
  };
  assert.deepEqual(complete(''), [...Object.keys(PROGRAMS), '--help', '--version']);
  assert.deepEqual(complete('back'), ['backup']);
  assert.deepEqual(complete('keys', ''), ['create', 'list', 'revoke', '--help']);
  assert.deepEqual(complete('keys', 'create', '--sc'), ['--scopes']);
  assert.deepEqual(complete('start', '--mqtt-po'), ['--mqtt-port']);
  assert.deepEqual(complete('ingest', '--log-level', 'warn', '--print'), ['--print-config']);
  assert.deepEqual(complete('sim', '-'), ['']);
  const zsh = tidegauge('completion', 'zsh').stdout;
  assert.equal(zsh, `autoload -Uz bashcompinit && bashcompinit\n${script}`);
});

import { execFile } from 'node:child_process';
import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { findProgram } from '@tidegauge/lab';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { ROOT } from '../stack-files.ts';

const run = promisify(execFile);

/** The Python programs that npm scripts install. */
const VENV = join(ROOT, '.venv/bin');

const PLACES = ['docker-stack.yml', 'stacks/**/*', 'examples/**/*', 'scripts/debian/**/*'];
const FILES = globSync(PLACES, { cwd: ROOT }).filter((path) => statSync(join(ROOT, path)).isFile());

/** Runs a linter. Rejects with its output when it reports a problem. */
async function lint(program: string, args: readonly string[], files: readonly string[]): Promise<void> {
  if (files.length === 0) throw new Error(`there are no files for ${program}`);
  try {
    await run(program, [...args, ...files], { cwd: ROOT });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program}:\n${stdout}${stderr || String(error)}`);
  }
}

test('every shell script passes shellcheck', async (context) => {
  const found = await startOrSkip('shellcheck', () => findProgram('shellcheck', 'shellcheck'));
  if ('skip' in found) return context.skip(found.skip);
  const scripts = FILES.filter((path) => /^#!\/bin\/(ba)?sh/.test(readFileSync(join(ROOT, path), 'latin1')));
  await lint(found.server, [], scripts);
});

test('every YAML file passes yamllint', async () => {
  const files = FILES.filter((path) => /\.ya?ml$/.test(path));
  await lint(join(VENV, 'yamllint'), ['--strict', '--config-file', 'stacks/.yamllint'], files);
});

test('every Dockerfile passes hadolint', async (context) => {
  const found = await startOrSkip('hadolint', () => findProgram('hadolint', 'hadolint', [VENV]));
  if ('skip' in found) return context.skip(found.skip);
  const files = FILES.filter((path) => path.endsWith('Dockerfile'));
  await lint(found.server, ['--config', 'stacks/.hadolint.yaml', '--no-color'], files);
});

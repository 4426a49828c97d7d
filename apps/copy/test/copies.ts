import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { runHere } from '@tidegauge/test-support/run-here';
import { program } from '../src/main.ts';

export const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/** Runs the program. Resolves to its exit code and output. */
export async function copy(...args: readonly string[]) {
  return runHere(program, ...args);
}

/** The result of a copy that must succeed. */
export async function copied(from: string, to: string, ...args: readonly string[]) {
  const { code, stdout, stderr } = await copy('--from', from, '--to', to, '--json', ...args);
  assert.equal(code, 0, `${stdout}${stderr}`);
  return JSON.parse(stdout);
}

export async function verified(from: string, to: string, ...args: readonly string[]) {
  const { code, stdout, stderr } = await copy('verify', '--from', from, '--to', to, '--json', ...args);
  assert.ok(code !== 2 && stdout !== '', stderr);
  return { code, ...JSON.parse(stdout) };
}

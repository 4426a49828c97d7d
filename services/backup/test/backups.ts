import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { runProgram } from '@tidegauge/process';

export const BACKUP = fileURLToPath(new URL('../src/main.ts', import.meta.url));
export const RESTORE = fileURLToPath(new URL('../src/restore-main.ts', import.meta.url));

/** Runs a program. Resolves to its exit code and output. */
export async function program(main: string, ...args: readonly string[]) {
  return runProgram(process.execPath, [main, ...args], { accept: [0, 1, 2], timeoutMs: 600_000 });
}

/** The result of a run that must succeed. */
export async function result(main: string, ...args: readonly string[]) {
  const { code, stdout, stderr } = await program(main, ...args, '--json');
  assert.equal(code, 0, `${stdout}${stderr}`);
  return JSON.parse(stdout);
}

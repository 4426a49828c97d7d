import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { type Ended, runHere } from '@tidegauge/test-support/run-here';
import { program as backupProgram } from '../src/main.ts';
import { program as restoreProgram } from '../src/restore-main.ts';

export const BACKUP = fileURLToPath(new URL('../src/main.ts', import.meta.url));
export const RESTORE = fileURLToPath(new URL('../src/restore-main.ts', import.meta.url));

type Run = (...args: readonly string[]) => Promise<Ended>;

export const backup: Run = (...args) => runHere(backupProgram, ...args);
export const restore: Run = (...args) => runHere(restoreProgram, ...args);

/** The result of a run that must succeed. */
export async function result(run: Run, ...args: readonly string[]) {
  const { code, stdout, stderr } = await run(...args, '--json');
  assert.equal(code, 0, `${stdout}${stderr}`);
  return JSON.parse(stdout);
}

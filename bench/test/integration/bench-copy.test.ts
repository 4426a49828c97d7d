import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runProgramSync } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/copy.ts', import.meta.url));

test('bench copy --quick copies through the named stores and back', () => {
  const args = [BENCH, '--stores', 'json,sqlite', '--quick'];
  const { code, stdout, stderr } = runProgramSync(process.execPath, args, {
    accept: 'any',
    timeoutMs: 120_000,
  });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^ {2}sqlite to json +\d.*\n {2}json to sqlite +\d.*\n {2}sqlite to sqlite +\d.*\n$/m);
});

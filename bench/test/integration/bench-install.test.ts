import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runProgramSync } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/install.ts', import.meta.url));

test('bench install --quick installs the npm package and shows a reading', () => {
  const args = [BENCH, '--ways', 'npm', '--quick'];
  const { code, stdout, stderr } = runProgramSync(process.execPath, args, {
    accept: 'any',
    timeoutMs: 120_000,
  });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^ {2}npm( +\d+\.\d){5}\n$/m);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findProgram } from '@tidegauge/lab/debian';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { runProgramSync } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/rollups.ts', import.meta.url));

test('bench rollups --quick compares ingest with and without rollups', async (context) => {
  const found = await startOrSkip('mosquitto', () => findProgram('mosquitto', 'mosquitto'));
  if ('skip' in found) return context.skip(found.skip);
  const { code, stdout, stderr } = runProgramSync(process.execPath, [BENCH, '--quick'], {
    accept: 'any',
    timeoutMs: 120_000,
  });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^ {2}not computed +\d.*\n {2}computed +\d.*\n$/m);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findProgram } from '@tidegauge/lab';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { runProgramSync } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/api.ts', import.meta.url));
const wrk = await startOrSkip('wrk', () => findProgram('wrk', 'wrk'));

test('bench api --quick compares kinds of requests with an empty handler', {
  skip: 'skip' in wrk ? wrk.skip : false,
}, () => {
  const { stdout } = runProgramSync(process.execPath, [BENCH, '--quick']);
  const rate = (name: string): number => {
    const found = new RegExp(`^ {2}${name} +([\\d,.]+)/s +\\d+ %`, 'm').exec(stdout);
    assert.ok(found, `${name} in ${stdout}`);
    return Number(found[1]!.replaceAll(',', ''));
  };
  assert.ok(rate('an empty handler') > rate('100 readings of a device'));
  for (const name of ['a record', 'the latest reading of a device']) assert.ok(rate(name) > 0);
});

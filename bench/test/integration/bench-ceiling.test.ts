import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { buildK6 } from '@tidegauge/lab/k6';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { runProgramSync } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/ceiling.ts', import.meta.url));
const k6 = await startOrSkip('k6', buildK6);

test('bench ceiling --quick compares the API with an empty handler', {
  skip: 'skip' in k6 ? k6.skip : false,
}, () => {
  const args = [BENCH, '--store', 'sqlite', '--quick'];
  const { code, stdout, stderr } = runProgramSync(process.execPath, args, {
    accept: 'any',
    timeoutMs: 240_000,
  });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^ {2}the API over sqlite +\d.*\n {2}an empty handler +\d/m);
  assert.match(stdout, /^ {2}an empty handler, script in JavaScript +\d.* us +\d+ us$/m);
  assert.match(stdout, /^our module of k6 reads \d+\.\d times as fast as the script in JavaScript$/m);
  assert.match(stdout, /^the API reaches \d+ % of what k6 can do here$/m);
});

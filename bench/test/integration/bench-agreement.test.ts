import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { buildK6 } from '@tidegauge/lab/k6';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { compileWithYcsb } from '@tidegauge/lab/ycsb';
import { runProgramSync } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/agreement.ts', import.meta.url));
const BINDING = fileURLToPath(new URL('../../../loadtests/ycsb/', import.meta.url));
const k6 = await startOrSkip('k6', buildK6);
const ycsb = await startOrSkip('ycsb', () => compileWithYcsb(BINDING));

test('bench agreement --quick compares k6 with YCSB on one table', {
  skip: 'skip' in k6 ? k6.skip : 'skip' in ycsb ? ycsb.skip : false,
}, () => {
  const args = [BENCH, '--store', 'sqlite', '--quick'];
  const { code, stdout, stderr } = runProgramSync(process.execPath, args, {
    accept: 'any',
    timeoutMs: 240_000,
  });
  assert.equal(code, 0, stderr);
  for (const name of ['throughput', 'READ mean', 'READ p50', 'UPDATE p99']) {
    const row = new RegExp(`^ {2}${name}${' +([\\d.,]+)'.repeat(5)}$`, 'm').exec(stdout);
    assert.ok(row, stdout);
    assert.ok(
      row.slice(1).every((figure) => Number(figure.replaceAll(',', '')) > 0),
      stdout,
    );
  }
});

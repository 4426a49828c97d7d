import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Step } from '@tidegauge/bench/find-saturation';
import { startMosquitto } from '@tidegauge/lab';
import { buildK6 } from '@tidegauge/lab/k6';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { runProgramSync } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/saturate.ts', import.meta.url));
const broker = await startOrSkip('mosquitto', startMosquitto);
if (!('skip' in broker)) await broker.server.stop();
const k6 = await startOrSkip('k6', buildK6);
const folder = mkdtempSync(join(tmpdir(), 'tidegauge-bench-test-'));
after(() => rmSync(folder, { recursive: true }));

function bench(...args: string[]) {
  return runProgramSync(process.execPath, [BENCH, ...args], { accept: 'any', timeoutMs: 240_000 });
}

function figures(...args: string[]) {
  const json = join(folder, 'saturate.json');
  const { code, stdout, stderr } = bench('--quick', ...args, '--json', json);
  assert.equal(code, 0, stderr);
  return { stdout, ...JSON.parse(readFileSync(json, 'utf8')) };
}

test('bench saturate --quick reports that a low rate meets the objective without loss', {
  skip: 'skip' in broker ? broker.skip : false,
}, () => {
  const { curve, knee, beyond, stdout } = figures('--from', '100', '--to', '200', '--p99', '60s');
  assert.deepEqual(
    curve.map(({ offered, broken }: Step) => [offered, broken]),
    [
      [100, []],
      [200, []],
    ],
  );
  assert.equal(knee.offered, 200);
  assert.equal(beyond, true);
  for (const { achieved, offered, p50Ms, p99Ms, cpu } of curve as Step[]) {
    assert.ok(achieved > 0 && achieved <= offered * 1.05);
    assert.ok(p50Ms > 0 && p99Ms > 0 && cpu > 0);
  }
  assert.match(stdout, /^the knee is beyond 200\/s: raise --to$/m);
});

test('bench saturate reports that no rate meets an impossible objective', {
  skip: 'skip' in broker ? broker.skip : false,
}, () => {
  const { curve, knee, stdout } = figures('--from', '100', '--p99', '1ms');
  assert.equal(knee, null);
  assert.equal(curve.length, 2);
  for (const { broken } of curve as Step[]) assert.match(broken[0]!, /^p99 [\d.,]+ ms$/);
  assert.match(stdout, /^no rate held: begin lower with --from$/m);
});

test('bench saturate measures records with k6, and the knee is the highest rate that met the objective', {
  skip: 'skip' in k6 ? k6.skip : false,
}, () => {
  const { curve, knee } = figures('--target', 'records', '--from', '50', '--to', '50');
  assert.ok(curve.length > 0);
  for (const { achieved, offered, p50Ms, p99Ms } of curve as Step[]) {
    assert.equal(offered, 50);
    assert.ok(achieved > 0 && p50Ms <= p99Ms);
  }
  const held = (curve as Step[]).findLast(({ broken }) => broken.length === 0);
  assert.deepEqual(knee, held ?? null);
});

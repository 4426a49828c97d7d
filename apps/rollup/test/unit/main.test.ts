import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runProgram } from '@tidegauge/process';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

const rollup = (...args: readonly string[]) =>
  runProgram(process.execPath, [MAIN, '--store', 'sqlite::memory:', ...args], { accept: [0, 2] });

test('has nothing to do for a store that computes groups from readings, and makes none', async () => {
  const path = join(tmpdir(), `tidegauge-no-store-${process.pid}.db`);
  const { code, stdout } = await rollup('--store', `sqlite:${path}`);
  assert.equal(code, 0);
  assert.equal(existsSync(path), false);
  assert.match(stdout, /^sqlite computes groups from readings/);
});

test('refuses days that do not exist, and an end before the start', async () => {
  for (const [args, reason] of [
    [['--from', '2026-02-30'], /no such day/],
    [['--from', '1969-12-31'], /no such day/],
    [['--to', '23.11.2026'], /no such day/],
    [['--from', '2026-11-23', '--to', '2026-11-22'], /--from is after --to/],
  ] as const) {
    const { code, stderr } = await rollup(...args);
    assert.equal(code, 2, stderr);
    assert.match(stderr, reason);
  }
});

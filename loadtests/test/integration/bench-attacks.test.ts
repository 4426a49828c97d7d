import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findProgram } from '@tidegauge/lab/debian';
import { testWith } from '@tidegauge/lab/unavailable';
import { runProgramSync } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../bench/attacks.ts', import.meta.url));
const options = { accept: 'any', timeoutMs: 120_000 } as const;
const testBench = await testWith('openssl', () => findProgram('openssl', 'openssl'));

// How long sensors wait depends on what else the machine does, so only the program's user judges the waits.
testBench('all attacks at once end no process, lose nothing and refuse no sensor', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-bench-test-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const json = join(folder, 'attacks.json');
  const args = [BENCH, '--quick', '--attacks', 'all', '--json', json];
  const { stderr } = runProgramSync(process.execPath, args, options);
  const { outcomes } = JSON.parse(readFileSync(json, 'utf8'));
  assert.equal(outcomes.length, 1, stderr);
  const [{ problems, publish }] = outcomes as [{ problems: string[]; publish: { count: number } }];
  assert.deepEqual(
    problems.filter((problem) => !problem.includes('longest wait')),
    [],
    stderr,
  );
  assert.ok(publish.count > 0);
});

test('bench:attacks names the attacks when one is misspelled', () => {
  const { code, stderr } = runProgramSync(process.execPath, [BENCH, '--attacks', 'handshake'], options);
  assert.equal(code, 2, stderr);
  assert.match(stderr, /there is no handshake.*handshakes/);
});

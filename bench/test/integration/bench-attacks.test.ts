import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '@tidegauge/lab/debian';
import { testWith } from '@tidegauge/lab/unavailable';
import { runProgramSync } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/attacks.ts', import.meta.url));
const options = { accept: 'any', timeoutMs: 120_000 } as const;
const testBench = await testWith('openssl', () => findProgram('openssl', 'openssl'));

// How long sensors wait depends on what else the machine does, so only the program's user judges the waits. Beside all
// attacks and other tests, a login can also be too late.
testBench(
  'attacks end no process and lose nothing, and a login that takes all places refuses no sensor',
  (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'tidegauge-bench-test-'));
    context.after(() => rmSync(folder, { recursive: true }));
    const json = join(folder, 'attacks.json');
    const args = [BENCH, '--quick', '--attacks', 'idle-connections,all', '--json', json];
    const { stderr } = runProgramSync(process.execPath, args, options);
    const { outcomes } = JSON.parse(readFileSync(json, 'utf8')) as {
      outcomes: { attack: string; problems: string[]; publish: { count: number } }[];
    };
    const names = outcomes.map(({ attack }) => attack);
    assert.deepEqual(names, ['idle-connections', 'all'], stderr);
    for (const { attack, problems, publish } of outcomes) {
      const late = attack === 'all' ? /longest wait|steps were refused/ : /longest wait/;
      const wrong = problems.filter((problem) => !late.test(problem));
      assert.deepEqual(wrong, [], `${attack}: ${stderr}`);
      assert.ok(publish.count > 0);
    }
  },
);

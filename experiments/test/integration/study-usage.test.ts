import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runProgram, runProgramSync } from '@tidegauge/process';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'tidegauge-study-usage-'));
after(() => rmSync(folder, { recursive: true }));

const STUDY = {
  study: 'usage',
  hard: { store: ['sqlite'] },
  easy: { workload: ['a'] },
  fixed: { records: 100, operations: 100 },
  repeat: { deployments: 1, trials: 2, warmup: 0 },
};

function fileOf(name: string, changes: object): string {
  const path = join(folder, `${name}.yml`);
  writeFileSync(path, JSON.stringify({ ...STUDY, ...changes }));
  return path;
}

function study(...args: readonly string[]) {
  return runProgramSync(process.execPath, [MAIN, ...args], { accept: 'any', timeoutMs: 120_000 });
}

/** One line, exit code 2, and no results directory. */
function assertRefused(args: readonly string[], line: RegExp): void {
  const { code, stdout, stderr } = study(...args);
  assert.equal(code, 2, stderr);
  assert.equal(stdout, '');
  assert.match(stderr, line);
  assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
}

test('mistakes in the file are refused before anything is started', () => {
  const results = join(folder, 'none');
  const cases: readonly (readonly [string, object, RegExp])[] = [
    ['unknown factor', { hard: { store: ['sqlite'], memmory: ['1GiB'] } }, /memmory.*did you mean memory/],
    ['unknown store', { hard: { store: ['sqlit'] } }, /there is no store sqlit: did you mean sqlite/],
    ['too many copies', { hard: { store: ['sqlite'], rf: [3] } }, /rf/],
    ['too many nodes', { hard: { store: ['postgres'], nodes: [3] } }, /node/],
  ];
  for (const [name, changes, line] of cases) {
    assertRefused(['run', fileOf(name.replaceAll(' ', '-'), changes), '--results', results], line);
  }
  assert.equal(existsSync(results), false);
});

test('a plan names what this place cannot run', async () => {
  const file = fileOf('swarm', { hard: { store: ['cassandra'], nodes: [3] } });
  // Nothing listens on port 1.
  const { code, stdout } = await runProgram(process.execPath, [MAIN, 'plan', file, '--on', 'swarm'], {
    env: { DOCKER_HOST: 'tcp://127.0.0.1:1' },
    timeoutMs: 120_000,
  });
  assert.equal(code, 0);
  assert.match(stdout, /^4 runs in 1 deployment,/m);
  assert.match(stdout, /^refused by run: not possible on swarm: nodes=3 store=cassandra: .*DOCKER_HOST$/m);
  assert.doesNotMatch(study('plan', fileOf('lab', {})).stdout, /refused/);
});

test('a directory with other files is refused', () => {
  const foreign = join(folder, 'foreign');
  mkdirSync(foreign);
  writeFileSync(join(foreign, 'notes.txt'), 'mine');
  assertRefused(
    ['run', fileOf('plain', {}), '--results', foreign],
    /has files and is not a results directory/,
  );
  assert.deepEqual(readdirSync(foreign), ['notes.txt']);
  assertRefused(['status', foreign], /is not a results directory/);
  assertRefused(['report', foreign], /is not a results directory/);
  assertRefused(['rerun', foreign], /is not a results directory/);
});

test('a disk that is too small is refused', (context: TestContext) => {
  const small = join(folder, 'small');
  mkdirSync(small);
  const { code } = runProgramSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', small], {
    accept: 'any',
  });
  if (code !== 0) return context.skip('a file system cannot be mounted here');
  context.after(() => runProgramSync('umount', [small]));
  const file = fileOf('large', { fixed: { records: 100, operations: 100_000 } });
  assertRefused(
    ['run', file, '--results', join(small, 'results')],
    /MB free, and the study needs about \d+ MB/,
  );
  assert.deepEqual(readdirSync(small), []);
});

import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { findProgram } from '@tidegauge/lab';
import { buildK6 } from '@tidegauge/lab/k6';
import { didYouMean } from '@tidegauge/text';
import { NODE, PYTHON, ROOT, setUpPython } from './setup.js';

const SUITES = ['unit', 'conformance', 'integration', 'stack'];
// Of a test or a whole file; the longest, HBase under faults, takes four minutes of a busy machine.
const TEST_TIMEOUT_MS = 600_000;
// Node's own default leaves one core idle; most files wait for a server half of their time.
const FILES_AT_ONCE = Math.max(2, availableParallelism() - 1);

const asked = process.argv.slice(2);
const unknown = asked.find((suite) => suite !== 'python' && !SUITES.includes(suite));
if (unknown !== undefined) {
  process.stderr.write(
    `${unknown} is no suite${didYouMean(unknown, ['python', ...SUITES])} (python, ${SUITES.join(', ')})\n`,
  );
  process.exit(2);
}
const wanted = asked.length === 0 ? ['python', ...SUITES] : asked;

let failed = false;
// Python first: the run closes on the totals of node's own runner.
if (wanted.includes('python')) {
  setUpPython();
  // The simulator's tests want a real broker; where it cannot be had they say so themselves.
  await findProgram('mosquitto', 'mosquitto').catch(() => null);
  command(PYTHON, ['-m', 'pytest', '-q', 'sensors-sim']);
}
if (wanted.includes('stack')) {
  // One file at a time: each has Docker engines with databases. Before the others, whose totals are the larger.
  const alone = ['--test-concurrency=1', `--test-timeout=${TEST_TIMEOUT_MS}`];
  command(NODE, ['--test', ...alone, ...filesOf('stack')]);
}
const together = SUITES.filter((suite) => wanted.includes(suite) && suite !== 'stack').flatMap(filesOf);
if (together.length > 0) {
  setUpPython();
  // Its first build takes longer than a test may.
  if (wanted.includes('integration')) await buildK6().catch(() => null);
  const options = [`--test-concurrency=${FILES_AT_ONCE}`, `--test-timeout=${TEST_TIMEOUT_MS}`];
  command(NODE, ['--test', ...options, ...together]);
}
process.exitCode = failed ? 1 : 0;

function filesOf(suite: string): string[] {
  const patterns = [
    `{packages,services}/*/test/${suite}/*.test.ts`,
    `{lab,loadtests,dashboards,stacks,scripts}/test/${suite}/*.test.ts`,
  ];
  const found = globSync(patterns, { cwd: ROOT }).toSorted();
  if (found.length === 0) throw new Error(`the ${suite} suite has no files`);
  return found;
}

function command(program: string, args: readonly string[]): void {
  const { status, error } = spawnSync(program, [...args], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (error !== undefined) process.stderr.write(`${program}: ${error.message}\n`);
  failed ||= status !== 0;
}

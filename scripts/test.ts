// Runs test suites and reports failures, skipped tests and slow tests.
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, constants } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { findProgram } from '@tidegauge/lab';
import { didYouMean } from '@tidegauge/text';
import { ROOT, setUpAnalysis, setUpPython } from './setup.js';
import { defaultProcesses, inOrderOf, lanesOf, leaveOutProofs, takeJob } from './test-run/lanes.ts';
import { summarize, type TestRecord } from './test-run/records.ts';
import { repeatsOf, withFlaky } from './test-run/repeats.ts';
import { endJobs, type JobResult, runJob } from './test-run/run-job.ts';
import { DEFAULT_SUITES, type Job, jobsOf, SUITES } from './test-run/suites.ts';
import { type FileTime, fileTimes, processorTime, timesTable } from './test-run/times.ts';
import { refuse, usageProblem } from './usage-problem.ts';

const SCRIPT = 'npm test';
const CORES = availableParallelism();
/** The longest silence. */
const SILENT_MS = 30_000;
/** More files than these did not fail because of other tests. */
const MOST_REPEATED = 4;
/** Slowest files that are printed, and that are written to the file. */
const [PRINTED, WRITTEN] = [20, 40];
const TIMES = join(ROOT, 'results', 'test-times.txt');

const HELP = `Usage: npm test -- [SUITE...] [OPTIONS]

Runs test suites. Without a suite: ${DEFAULT_SUITES.join(', ')}, which need nothing but npm and Python packages.

Suites:
${Object.entries(SUITES)
  .map(([name, { summary }]) => `  ${name.padEnd(12)} ${summary}`)
  .join('\n')}

Options:
  --files PATTERN   only test files that match a glob or contain this text; may be repeated.
                    Without a suite, files of every suite are searched.
  --names PATTERN   only tests whose name matches (a regular expression; for Python, an expression of pytest -k)
  --install         install missing servers (on Debian as root) and build missing tools
  --processes N     how many test processes run at once; default: ${defaultProcesses(CORES)}
  --minutes N       start no proof after this time; the end of the run names those that did not run
  --order TEXT      run the proofs in an order that this text decides. Default: by name
  --repeat          run files with failed tests once more, alone, after all others. Tests that pass then are named as
                    flaky, which is a mistake to correct, and do not fail the run. At most ${MOST_REPEATED} files are repeated.
  --help            print this text

A test whose server is missing is skipped, with the reason. Under CI=true missing servers are installed, and a server
that is still missing is an error, unless lab/unavailable lists it.

Exit codes: 0: all passed. 1: a test failed. 2: bad usage.
`;

const options = {
  files: { type: 'string', multiple: true, default: [] as string[] },
  names: { type: 'string' },
  install: { type: 'boolean', default: process.env.CI === 'true' },
  processes: { type: 'string' },
  minutes: { type: 'string' },
  order: { type: 'string' },
  repeat: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

function parse() {
  try {
    return parseArgs({ options, allowPositionals: true });
  } catch (error) {
    return refuse(SCRIPT, usageProblem(error, options));
  }
}

const { values, positionals } = parse();
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
const known = Object.keys(SUITES);
const unknown = positionals.find((suite) => !known.includes(suite));
if (unknown !== undefined) {
  const near = didYouMean(unknown, known) || `: choose from ${known.join(', ')}`;
  refuse(SCRIPT, `there is no suite ${unknown}${near}`);
}
const whenUnnamed = values.files.length > 0 ? known : DEFAULT_SUITES;
const suites = positionals.length > 0 ? positionals : whenUnnamed;
let jobs: Job[] = [];
try {
  jobs = jobsOf(suites, values.files, ROOT);
  if (values.order !== undefined) jobs = inOrderOf(values.order, jobs);
} catch (error) {
  refuse(SCRIPT, (error as Error).message);
}
const processes = Number(values.processes ?? defaultProcesses(CORES));
if (!Number.isInteger(processes) || processes < 1) {
  refuse(SCRIPT, `--processes takes a whole number from 1, not ${values.processes}`);
}

const limit = Number(values.minutes ?? Number.POSITIVE_INFINITY);
if (!(limit > 0)) refuse(SCRIPT, `--minutes takes a number above 0, not ${values.minutes}`);

// Inherited by every test: see `mayInstall` in the lab.
process.env.TIDEGAUGE_INSTALL = values.install ? 'yes' : 'no';
// See `compilerOptions` in the lab.
process.env.TIDEGAUGE_BRIEF = 'yes';
try {
  await setUpPython();
  if (suites.includes('analysis')) await setUpAnalysis();
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exit(1);
}
if (values.install && suites.includes('python')) {
  // The simulator's tests use it; without it they fail under CI=true and are skipped elsewhere.
  await findProgram('mosquitto', 'mosquitto').catch(() => null);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void endJobs().then(() => process.exit(128 + constants.signals[signal]));
  });
}

const began = performance.now();
const before = processorTime();
let records: TestRecord[] = [];
const problems: string[] = [];
const times: FileTime[] = [];
/** The time of all processes of a suite, milliseconds. */
const suiteTimes = new Map<string, number>();
/** The jobs that repeat files with failed tests, by absolute path of the file. */
const repeats = new Map<string, Job>();
const lanes = lanesOf(jobs, processes);
const leftOut: Job[] = [];
/** Jobs that run, and when a line was printed last. */
const running = new Set<Job>();
let printed = began;
const reminder = setInterval(() => {
  if (performance.now() - printed < SILENT_MS) return;
  printed = performance.now();
  process.stderr.write(`still running: ${[...running].map(({ name }) => name).join(', ')}\n`);
}, 1000);
await Promise.all(lanes.map(work));
if (values.repeat && repeats.size <= MOST_REPEATED)
  for (const [file, job] of repeats) await repeat(file, job);
clearInterval(reminder);

process.stdout.write(timesTable(times, suiteTimes, PRINTED));
// Not for a part of the tests, which would replace the times of all.
if (values.files.length === 0 && values.names === undefined) {
  mkdirSync(dirname(TIMES), { recursive: true });
  writeFileSync(TIMES, timesTable(times, suiteTimes, WRITTEN));
}
process.stdout.write(summarize(records, problems, ROOT));
if (leftOut.length > 0) {
  process.stdout.write(`\nNOT RUN, because ${limit} minutes were over:\n`);
  for (const { name } of leftOut) process.stdout.write(`  ${name}\n`);
}
const after = processorTime();
const busy = Math.round((100 * (after.busy - before.busy)) / (after.total - before.total));
process.stdout.write(
  `${minutes(performance.now() - began)} on ${processes} processes at once, the processors were busy for ${busy} % of it\n`,
);
process.exitCode = problems.length > 0 || records.some(({ outcome }) => outcome === 'failed') ? 1 : 0;

function nextJob(lane: readonly Job[][]): Job | undefined {
  if (performance.now() - began > limit * 60_000) leftOut.push(...leaveOutProofs(lanes));
  return takeJob(lane);
}

async function work(lane: readonly Job[][]): Promise<void> {
  for (let job = nextJob(lane); job !== undefined; job = nextJob(lane)) {
    const result = await runAndReport(job);
    const isPython = SUITES[job.suite]?.folders !== undefined;
    // Tests that a shared file registers belong to the file that runs them.
    const [only] = job.files.length === 1 && !isPython ? job.files : [];
    const found = result.records.map((record) => (only ? { ...record, file: join(ROOT, only) } : record));
    records.push(...found);
    times.push(...fileTimes(job.suite, found, result.ms, ROOT));
    suiteTimes.set(job.suite, (suiteTimes.get(job.suite) ?? 0) + result.ms);
    problems.push(...result.problems);
    for (const [file, again] of repeatsOf(job, found, ROOT)) repeats.set(file, again);
  }
}

/** Runs a file with failed tests again. When all of its tests pass, those that had failed are flaky. */
async function repeat(file: string, job: Job): Promise<void> {
  const again = await runAndReport(job);
  problems.push(...again.problems);
  records = withFlaky(records, file, again.records);
}

async function runAndReport(job: Job): Promise<JobResult> {
  running.add(job);
  const result = await runJob(job, { names: values.names ?? null });
  running.delete(job);
  printed = performance.now();
  const count = (outcome: TestRecord['outcome']): number =>
    result.records.filter((record) => record.outcome === outcome).length;
  const failed = count('failed') > 0 || result.problems.length > 0;
  const skipped = count('skipped') > 0 ? `, ${count('skipped')} skipped` : '';
  const figures = `${count('passed')} passed${skipped}, ${(result.ms / 1000).toFixed(1)} s`;
  process.stdout.write(`${failed ? 'FAILED ' : 'ok     '} ${job.name} (${figures})\n`);
  if (!failed) return result;
  for (const { name, outcome, reason } of result.records) {
    if (outcome === 'failed') process.stdout.write(`\n  ${name}\n${indent(reason ?? '')}\n`);
  }
  for (const problem of result.problems) process.stdout.write(`\n  ${problem}\n`);
  if (result.output !== '') process.stdout.write(`\n  Output:\n${indent(result.output)}\n`);
  return result;
}

function indent(text: string): string {
  return text.trimEnd().replaceAll(/^/gm, '    ');
}

function minutes(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

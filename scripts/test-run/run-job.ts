import { chmod, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { commandOf, processesWith } from '@tidegauge/lab/processes';
import { exitText, FINDINGS, type RunningProcess, startProcess } from '@tidegauge/process';
import { NODE, NODE_ENVIRONMENT, PYTHON, ROOT } from '../setup.js';
import { parseRecords, type TestRecord } from './records.ts';
import { type Job, SUITES } from './suites.ts';

/** Environment variable that marks every process of a job, so that all of them can be ended. */
const MARK = 'TIDEGAUGE_TEST_JOB';
/** A job may also install or build its servers. */
const JOB_TIMEOUT_MS = 2_400_000;
/**
 * The longest tests take five minutes. Some build the images of a stack first, and a shared machine can be slower for half an
 * hour: then tests that waited for nothing exceeded ten minutes.
 */
const TEST_TIMEOUT_MS = 900_000;
const LEFT_OVER_MS = 5000;
const OUTPUT_CHARACTERS = 20_000;
/** pytest's exit code when `--names` matches no test of a package. */
const NO_TESTS = 5;
/** What the lab prints before it installs or builds something. */
const NOTICE = /^(Installing|Downloading|Building|Unpacking) .*\.\.\.$/;
/** A process that has just been killed can still be writing. */
const REMOVAL = { recursive: true, force: true, maxRetries: 5 };
const HERE = fileURLToPath(new URL('.', import.meta.url));

export interface JobResult {
  readonly records: readonly TestRecord[];
  /** What went wrong apart from tests that failed. */
  readonly problems: readonly string[];
  /** The end of what the process wrote. */
  readonly output: string;
  readonly ms: number;
}

/** Processes of the jobs that run now, by mark. */
const active = new Map<string, RunningProcess>();

/** Ends all jobs, with every process that they have started, and removes their files. */
export async function endJobs(): Promise<void> {
  const jobs = [...active];
  for (const [, running] of jobs) void running.stop();
  await Promise.all(
    jobs.map(async ([mark]) => {
      await endLeftOver(mark);
      await rm(mark, REMOVAL).catch(() => {});
    }),
  );
}

export interface JobOptions {
  /** Only tests whose name matches. */
  readonly names: string | null;
  /** How long servers may take to end after the process that stopped them, milliseconds. Default: 5 s. */
  readonly leftOverMs?: number;
  /** How long one test may take, milliseconds. Default: 15 minutes. */
  readonly testTimeoutMs?: number;
}

/** Runs one job in a separate process, and ends every process that the job leaves running. */
export async function runJob(job: Job, options: JobOptions): Promise<JobResult> {
  const began = performance.now();
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-tests-'));
  const recordsFile = join(directory, 'records');
  const findingsFile = join(directory, 'findings');
  const temporary = join(directory, 'tmp');
  const mark = directory;
  const problems: string[] = [];
  try {
    await mkdir(temporary);
    // Servers of the tests run as other users.
    await chmod(directory, 0o711);
    await chmod(temporary, 0o1777);
    const [program, args] = commandFor(job, options);
    let output = '';
    let part = '';
    const running = startProcess({
      command: program,
      args,
      cwd: ROOT,
      env: {
        ...NODE_ENVIRONMENT,
        [MARK]: mark,
        // Removed after the job, with all that its tests and their programs leave there.
        TMPDIR: temporary,
        TEST_RECORDS: recordsFile,
        [FINDINGS]: findingsFile,
        PYTHONPATH: HERE,
        // A runner that runs inside a test, as in its own tests, is no part of that test's run.
        NODE_TEST_CONTEXT: undefined,
      },
      onOutput(text) {
        output = (output + text).slice(-OUTPUT_CHARACTERS);
        const lines = (part + text).split('\n');
        part = lines.pop()!.slice(-OUTPUT_CHARACTERS);
        for (const line of lines) if (NOTICE.test(line)) process.stdout.write(`${line}\n`);
      },
    });
    active.set(mark, running);
    const late = setTimeout(() => {
      problems.push(`${job.name} did not end within ${JOB_TIMEOUT_MS / 60_000} minutes`);
      void running.kill();
    }, JOB_TIMEOUT_MS);
    const exit = await running.exited.finally(() => clearTimeout(late));
    const records = parseRecords(await readFile(recordsFile, 'utf8').catch(() => ''));
    const isEmpty = options.names !== null && exit.code === NO_TESTS && isPython(job);
    if (
      exit.code !== 0 &&
      !isEmpty &&
      problems.length === 0 &&
      !records.some(({ outcome }) => outcome === 'failed')
    ) {
      problems.push(`${job.name}: ${exitText(exit)}, and no failed test`);
    }
    const findings = await readFile(findingsFile, 'utf8').catch(() => '');
    problems.push(...new Set(findings.split('\n').filter((finding) => finding !== '')));
    const left = await endLeftOver(mark, options.leftOverMs);
    if (left.length > 0) problems.push(`${job.name} left processes: ${left.join(', ')}`);
    return { records, problems, output, ms: performance.now() - began };
  } finally {
    active.delete(mark);
    await rm(directory, REMOVAL).catch((error: Error) => {
      problems.push(`${job.name}: ${error.message}`);
    });
  }
}

const isPython = ({ suite }: Job): boolean => SUITES[suite]?.folders !== undefined;

function commandFor(job: Job, { names, testTimeoutMs = TEST_TIMEOUT_MS }: JobOptions): [string, string[]] {
  if (isPython(job)) {
    const chosen = names === null ? [] : ['-k', names];
    return [PYTHON, ['-m', 'pytest', '-q', '-p', 'pytest_records', ...chosen, ...job.files]];
  }
  // All files of a job in its one process.
  return [NODE, [`--test-timeout=${testTimeoutMs}`, `${HERE}test-files.ts`, names ?? '', ...job.files]];
}

/** Ends processes that carry the mark; resolves to those that did not end within their time. */
async function endLeftOver(mark: string, ms = LEFT_OVER_MS): Promise<string[]> {
  for (const deadline = Date.now() + ms; ; await delay(100)) {
    const left = processesWith(MARK, mark);
    if (left.length === 0) return [];
    if (Date.now() < deadline) continue;
    const named = left.map((pid) => `${pid} (${commandOf(pid).slice(0, 100)})`);
    for (const pid of left) kill(pid);
    return named;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

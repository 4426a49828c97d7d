import { setTimeout as delay } from 'node:timers/promises';
import { reportError } from '@tidegauge/service/program';
import type { Phase, RunMarks } from '../results/run-marks.ts';
import { whileItRuns } from '../while-it-runs.ts';
import { countRuns } from './archive/history.ts';
import { type Overhead, overheadOf } from './archive/overhead.ts';
import type { Results } from './archive/results.ts';
import { driversOfTrial, runName } from './archive/run-names.ts';
import { combinationText } from './combination-text.ts';
import type {
  Combination,
  Deployment,
  DeploymentPlan,
  Driver,
  OpenSeries,
  OpenSeriesFunction,
  Place,
  SeriesPlan,
} from './model.ts';
import { overheadText, Progress } from './progress.ts';

/** How long the servers of a deployment may take to stop. */
const STOP_MS = 180_000;
/** Runs that are named at the end. */
const MOST_SHOWN = 5;

export interface RunnerOptions {
  readonly place: Place;
  readonly results: Results;
  readonly openSeries: OpenSeriesFunction;
  /** Aborted when the user interrupts the study. */
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
  /** The whole plan, in seconds, from the sizes in it. Measured times replace it as they become known. */
  readonly estimateSeconds: number;
  /** Accepts servers of other versions than the same combination had before. */
  readonly force: boolean;
  /** Receives phases and results while the study runs. */
  readonly marks?: RunMarks;
  /** Called after each deployment. */
  readonly onDeployment?: () => Promise<void>;
}

export interface StudyOutcome {
  /** Whether all series of the plan are complete. */
  readonly complete: boolean;
  /** Deployments that were not completed, with the reason of the last attempt. */
  readonly failed: readonly {
    readonly deployment: string;
    readonly hard: Combination;
    readonly reason: string;
  }[];
  /** Runs that were invalid at each attempt. */
  readonly invalid: readonly string[];
  readonly planned: number;
  readonly done: number;
  readonly overhead: Overhead;
}

/** The disk is full, or another condition in which no further run can work. */
export class StudyError extends Error {
  override readonly name = 'StudyError';
}

/**
 * Does what remains of a plan: deployments, series and trials in the order of the plan, the drivers of a trial in turns.
 * A series that fails is void and is repeated on a new deployment, at most `requeue` times; then the study continues with
 * the next deployment. An invalid run is repeated at the end of its series.
 *
 * @throws {StudyError} when the results cannot be written
 * @throws the reason of the signal, after the servers have stopped, when the user interrupts the study
 */
export async function runStudy(options: RunnerOptions): Promise<StudyOutcome> {
  const { results, signal } = options;
  const { plan, history } = results;
  const progress = new Progress(plan, history, options.estimateSeconds);
  const failed: StudyOutcome['failed'][number][] = [];
  const session = results.entries.length;
  try {
    for (const deployment of plan.deployments) {
      if (history.isComplete(deployment)) continue;
      const reason = await runDeployment(deployment, options, progress);
      if (reason !== null) failed.push({ deployment: deployment.id, hard: deployment.hard, reason });
      await options.onDeployment?.();
    }
  } catch (error) {
    const full = fullDisk(error, results.directory);
    if (full !== null) throw full;
    results.append({ event: 'closed', complete: false });
    throw error;
  }
  signal.throwIfAborted();
  const counts = countRuns(plan, history);
  const complete = plan.deployments.every((each) => history.isComplete(each));
  results.append({ event: 'closed', complete });
  return { complete, failed, ...counts, overhead: overheadOf(results.entries.slice(session)) };
}

/** Does a part of a study, which is visible in Prometheus as a phase, and to the user when it takes long. */
function marked<T>(
  { marks, results, say }: RunnerOptions,
  phase: Phase,
  name: string,
  work: () => Promise<T>,
): Promise<T> {
  const aloud = () => whileItRuns(`${phase} ${name}`, say, work);
  return marks === undefined ? aloud() : marks.during(phase, `${results.plan.study.name} ${name}`, aloud);
}

/** Resolves to null when all series of the deployment are complete, else to the reason of the last failure. */
async function runDeployment(
  deployment: DeploymentPlan,
  options: RunnerOptions,
  progress: Progress,
): Promise<string | null> {
  const { results, signal, say } = options;
  const { study } = results.plan;
  for (let tries = 0; ; tries += 1) {
    signal.throwIfAborted();
    const attempt = results.history.deploymentAttempts(deployment.id) + 1;
    say(progress.deploymentLine(deployment, attempt));
    results.append({ event: 'deployment-started', deployment: deployment.id, attempt });
    const problem = await tryDeployment(deployment, attempt, options, progress);
    if (problem === null) return null;
    const reason = reportError(problem).text.split('\n')[0]!;
    if (fullDisk(problem, results.directory) !== null) throw problem;
    results.append({ event: 'deployment-failed', deployment: deployment.id, attempt, reason });
    if (signal.aborted) throw signal.reason;
    const last = tries >= study.requeue;
    say(`deployment ${deployment.id} failed: ${reason}${last ? '' : ': it is started again'}`);
    if (last) return reason;
  }
}

/** Starts the servers, does the series that are not complete, and stops the servers. Resolves to what failed, or null. */
async function tryDeployment(
  plan: DeploymentPlan,
  attempt: number,
  options: RunnerOptions,
  progress: Progress,
): Promise<unknown> {
  const { results, place, signal } = options;
  const { study } = results.plan;
  const begun = performance.now();
  const seconds = (): number => (performance.now() - begun) / 1000;
  let deployment: Deployment;
  try {
    deployment = await marked(options, 'deploy', `${combinationText(plan.hard)} ${plan.id}`, () =>
      place.deploy(plan.hard, study, signal),
    );
  } catch (error) {
    return error ?? new Error('the deployment failed');
  }
  let problem: unknown = null;
  try {
    const { versions } = deployment;
    refuseOtherVersions(plan, versions, options);
    results.append({ event: 'deployment-ready', deployment: plan.id, attempt, seconds: seconds(), versions });
    for (const series of plan.series) {
      if (results.history.completeAttempt(series.id) !== null) continue;
      signal.throwIfAborted();
      await runSeries(deployment, plan, series, attempt, options, progress);
    }
  } catch (error) {
    problem = error;
  }
  try {
    await within(deployment.stop(), STOP_MS, `stopping the deployment ${plan.id}`);
  } catch (error) {
    problem ??= error;
  }
  if (problem === null) {
    const { versions } = deployment;
    results.append({ event: 'deployment-ended', deployment: plan.id, attempt, seconds: seconds(), versions });
  }
  return problem;
}

/** One table and its trials. When it rejects, the series is void. */
async function runSeries(
  deployment: Deployment,
  deploymentPlan: DeploymentPlan,
  series: SeriesPlan,
  deploymentAttempt: number,
  options: RunnerOptions,
  progress: Progress,
): Promise<void> {
  const { results, signal, openSeries } = options;
  const { study } = results.plan;
  const attempt = results.history.seriesAttempts(series.id) + 1;
  results.append({
    event: 'series-started',
    series: series.id,
    attempt,
    deployment: deploymentPlan.id,
    deploymentAttempt,
  });
  try {
    const opened = await openSeries(deployment, series, study, {
      deploymentPlan,
      deploymentAttempt,
      seriesAttempt: attempt,
      signal,
    });
    try {
      await runTrials(opened, deploymentPlan, series, attempt, options, progress);
    } finally {
      await opened.close();
    }
    results.append({ event: 'series-ended', series: series.id, attempt });
  } catch (error) {
    if (fullDisk(error, results.directory) === null) {
      const reason = signal.aborted ? 'interrupted' : reportError(error).text.split('\n')[0]!;
      results.append({ event: 'series-void', series: series.id, attempt, reason });
    }
    throw error;
  }
}

/** A run that is still to be done in this series. */
interface Turn {
  readonly trial: number;
  readonly driver: Driver;
}

async function runTrials(
  opened: OpenSeries,
  deploymentPlan: DeploymentPlan,
  series: SeriesPlan,
  seriesAttempt: number,
  options: RunnerOptions,
  progress: Progress,
): Promise<void> {
  const { results } = options;
  const { requeue, name } = results.plan.study;
  const levels = combinationText({ ...deploymentPlan.hard, ...series.easy });
  const doRun = async ({ trial, driver }: Turn, attempt: number): Promise<boolean> => {
    const run = runName({ series: series.id, seriesAttempt, trial, driver, attempt });
    results.append({ event: 'run-started', run, series: series.id, seriesAttempt });
    const warmup = trial <= series.warmup;
    const request = { run, driver, trial, attempt, warmup, csvPath: results.csvPart(run) };
    const document = await marked(options, warmup ? 'warm-up' : 'run', `${levels} ${run}`, () =>
      opened.run(request),
    );
    options.signal.throwIfAborted();
    await results.archiveRun(document);
    const { done, seconds, valid } = document;
    await options.marks?.result(`${name} ${levels} ${run}`, { operations: done, seconds, valid });
    options.say(progress.runLine(deploymentPlan, series, document));
    // Warm-up runs are not analysed, so an invalid one is not repeated.
    return document.valid || warmup;
  };
  const load = async (trial: number, drivers: readonly Driver[], attempt: number): Promise<void> => {
    options.signal.throwIfAborted();
    const begun = performance.now();
    const documents = await marked(options, 'load', `${levels} ${series.id}`, () =>
      opened.load(trial, drivers),
    );
    for (const document of documents) results.archiveLoad(document, attempt);
    const seconds = (performance.now() - begun) / 1000;
    results.append({ event: 'trial-loaded', series: series.id, seriesAttempt, trial, seconds });
  };
  let invalid: Turn[] = [];
  for (let trial = 1; trial <= series.trials; trial += 1) {
    const drivers = driversOfTrial(series, trial);
    await load(trial, drivers, 1);
    for (const driver of drivers) {
      if (!(await doRun({ trial, driver }, 1))) invalid.push({ trial, driver });
    }
  }
  for (let attempt = 2; attempt <= requeue + 1; attempt += 1) {
    const again = invalid;
    invalid = [];
    for (const turn of again) {
      await load(turn.trial, [turn.driver], attempt);
      if (!(await doRun(turn, attempt))) invalid.push(turn);
    }
  }
}

/** Servers of other versions than before give results that must not be mixed. */
function refuseOtherVersions(
  plan: DeploymentPlan,
  versions: Readonly<Record<string, string>>,
  { results, force, say }: RunnerOptions,
): void {
  for (const { id, hard } of results.plan.deployments) {
    if (hard.store !== plan.hard.store) continue;
    const before = results.history.versionsOf(id);
    if (before === null) continue;
    const differs = Object.entries(versions).filter(
      ([name, version]) => (before[name] ?? version) !== version,
    );
    if (differs.length === 0) continue;
    const text = differs.map(([name, version]) => `${name} was ${before[name]} and is ${version}`).join('; ');
    if (!force) {
      throw new Error(
        `the servers have another version than before: ${text}: install the former one, or use --force`,
      );
    }
    say(`continued with --force: ${text}`);
    return;
  }
}

/** A clear error when the cause is a full disk, else null. */
function fullDisk(error: unknown, directory: string): StudyError | null {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 8; cause = cause.cause, depth += 1) {
    if (cause instanceof StudyError) return cause;
    const { code } = cause as NodeJS.ErrnoException;
    // Another process of the study can have met it; its error has the text only.
    if (code === 'ENOSPC' || code === 'EDQUOT' || /\bENOSPC\b|no space left on device/i.test(cause.message)) {
      return new StudyError(
        `the disk of ${directory} is full: make space, and run the same command again to continue`,
      );
    }
  }
  return null;
}

async function within(work: Promise<void>, ms: number, what: string): Promise<void> {
  const late = new AbortController();
  const limit = delay(ms, null, { signal: late.signal, ref: false }).then(
    () => {
      throw new Error(`${what} took longer than ${ms / 1000} s`);
    },
    () => {},
  );
  try {
    await Promise.race([work, limit]);
  } finally {
    late.abort();
  }
}

/** The last lines of a study, for the user. */
export function outcomeText({ planned, done, failed, invalid, overhead }: StudyOutcome): string {
  const lines = [`${done} of ${planned} runs are done`];
  for (const { deployment, hard, reason } of failed)
    lines.push(`failed: ${deployment} (${combinationText(hard)}): ${reason}`);
  if (invalid.length > 0) {
    const shown = invalid.slice(0, MOST_SHOWN).join(', ');
    const more = invalid.length > MOST_SHOWN ? ', …' : '';
    lines.push(`${invalid.length} runs were invalid at each attempt, see the report: ${shown}${more}`);
  }
  const overheadLine = overheadText(overhead);
  if (overheadLine !== null) lines.push(overheadLine);
  return lines.join('\n');
}

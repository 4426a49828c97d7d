import { setTimeout as delay } from 'node:timers/promises';
import type { Phase, RunMarks } from '@tidegauge/loadtests/results/run-marks';
import { whileItRuns } from '@tidegauge/loadtests/while-it-runs';
import { reportError } from '@tidegauge/service/program';
import { countRuns } from './archive/history.ts';
import { type Overhead, overheadOf } from './archive/overhead.ts';
import type { Results } from './archive/results.ts';
import { runName } from './archive/run-names.ts';
import { combinationText } from './combination-text.ts';
import { hasFault } from './levels.ts';
import type {
  Combination,
  Deployment,
  DeploymentPlan,
  Driver,
  OpenRound,
  OpenRoundFunction,
  Place,
  RoundMember,
  RunRequest,
  Study,
} from './model.ts';
import { blocksOf, isNeeded, roundsOf, warmUpRuns } from './plan.ts';
import { overheadText, Progress, showDuration } from './progress.ts';

/** How long the servers of a deployment may take to stop. */
const STOP_MS = 180_000;
/** Runs that are named at the end. */
const MOST_SHOWN = 5;

export interface RunnerOptions {
  readonly place: Place;
  readonly results: Results;
  readonly openRound: OpenRoundFunction;
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
  /** Judges the claims. Resolves to the combinations that are still needed, or null while they are not to be judged. */
  readonly judge?: () => Promise<readonly Combination[] | null>;
  /** No site is begun that would not end within this time, by that of the sites before. Default: no limit. */
  readonly budgetSeconds?: number | null;
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
  /** What the budget was too small for. null: it was not spent. */
  readonly unspent: { readonly deployments: number; readonly seconds: number } | null;
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
 * Does what remains of a plan: sites, rounds and trials in the order of the plan, the runs of a trial in turns. A round
 * that fails is void and is repeated on new deployments, at most `requeue` times; then the study continues with the next
 * site. An invalid run is repeated at the end of its round, with those that it takes turns with.
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
  let unspent: StudyOutcome['unspent'] = null;
  try {
    unspent = await runBlocks(options, progress, failed);
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
  return { complete, failed, unspent, ...counts, overhead: overheadOf(results.entries.slice(session)) };
}

/** Resolves to what the budget was too small for. */
async function runBlocks(
  options: RunnerOptions,
  progress: Progress,
  failed: StudyOutcome['failed'][number][],
): Promise<StudyOutcome['unspent']> {
  const { results, budgetSeconds = null } = options;
  const begun = performance.now();
  let longest = 0;
  for await (const { site, block } of neededSites(options)) {
    const started = performance.now();
    if (budgetSeconds !== null && (started - begun) / 1000 + longest > budgetSeconds) {
      const left = block.filter((each) => !isComplete(each, results));
      return { deployments: left.flat().length, seconds: left.length * longest };
    }
    const problem = await runSite(site, options, progress);
    if (problem !== null) failed.push(problem);
    await options.onDeployment?.();
    longest = Math.max(longest, (performance.now() - started) / 1000);
  }
  return null;
}

type Site = readonly DeploymentPlan[];

/**
 * The sites that are not complete, with those of their block. The study is judged before each block, and at the end. Sites
 * that nothing undecided needs are skipped.
 */
async function* neededSites(
  options: RunnerOptions,
): AsyncGenerator<{ readonly site: Site; readonly block: readonly Site[] }> {
  const { results } = options;
  const { plan, history } = results;
  for (const block of blocksOf(plan.deployments)) {
    const sites = block.filter((site) => !isComplete(site, results));
    if (sites.length === 0) continue;
    await look(block[0]![0]!.block - 1, options);
    for (const site of sites) {
      const { open } = history;
      if (open === null || site.some((each) => isNeeded(each, open))) yield { site, block };
      else for (const { id } of site) results.append({ event: 'deployment-skipped', deployment: id });
    }
  }
  await look(plan.deployments.at(-1)?.block ?? 0, options);
}

function isComplete(site: Site, { history }: Results): boolean {
  return site.every((deployment) => history.isComplete(deployment));
}

/** Judges a study that runs until it is decided. What nothing undecided needs is skipped from then on. */
async function look(block: number, { results, judge, say }: RunnerOptions): Promise<void> {
  if (results.plan.study.repeat.untilDecided !== true || judge === undefined || block === 0) return;
  const open = await judge();
  if (open === null) return;
  results.append({ event: 'look', block, open });
  say(
    open.length === 0
      ? `after ${block} blocks, all is decided`
      : `after ${block} blocks, ${open.length} combinations are needed for what is undecided`,
  );
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

type Failure = StudyOutcome['failed'][number];

/** Resolves to null when all series of the site are complete, else to the deployment that failed last. */
async function runSite(
  site: readonly DeploymentPlan[],
  options: RunnerOptions,
  progress: Progress,
): Promise<Failure | null> {
  const { results, signal, say } = options;
  const { study } = results.plan;
  for (let tries = 0; ; tries += 1) {
    signal.throwIfAborted();
    const problem = await trySite(site, options, progress);
    if (problem === null) return null;
    const { plan, error } = problem;
    const reason = reportError(error).text.split('\n')[0]!;
    if (fullDisk(error, results.directory) !== null) throw error;
    const attempt = results.history.deploymentAttempts(plan.id);
    results.append({ event: 'deployment-failed', deployment: plan.id, attempt, reason });
    if (signal.aborted) throw signal.reason;
    const last = tries >= study.requeue;
    say(`deployment ${plan.id} failed: ${reason}${last ? '' : ': it is started again'}`);
    if (last) return { deployment: plan.id, hard: plan.hard, reason };
  }
}

/** A deployment of a site that is up. */
interface Running {
  readonly plan: DeploymentPlan;
  readonly deployment: Deployment;
  /** From 1. */
  readonly attempt: number;
  /** When it was started, a time of `performance.now()`. */
  readonly begun: number;
}

/** Starts the servers, does the rounds that are not complete, and stops the servers. Resolves to what failed, or null. */
async function trySite(
  site: readonly DeploymentPlan[],
  options: RunnerOptions,
  progress: Progress,
): Promise<{ readonly plan: DeploymentPlan; readonly error: unknown } | null> {
  const { results, signal } = options;
  const running: Running[] = [];
  let failed: { readonly plan: DeploymentPlan; readonly error: unknown } | null = null;
  let plan = site[0]!;
  try {
    for (plan of site) running.push(await deploy(plan, options, progress));
    const open = roundsOf(site).filter((round) =>
      round.some(({ series }) => results.history.completeAttempt(series.id) === null),
    );
    for (const [index, round] of open.entries()) {
      signal.throwIfAborted();
      ({ plan } = round[0]!);
      await runRound(
        round.map(({ plan: { id }, series }) => ({
          series,
          running: running.find((each) => each.plan.id === id)!,
        })),
        { isFirst: index === 0, isLast: index === open.length - 1 },
        options,
        progress,
      );
    }
  } catch (error) {
    failed = { plan, error };
  }
  for (const each of running) {
    try {
      await within(each.deployment.stop(), STOP_MS, `stopping the deployment ${each.plan.id}`);
    } catch (error) {
      failed ??= { plan: each.plan, error };
    }
    if (failed !== null) continue;
    const seconds = (performance.now() - each.begun) / 1000;
    const { versions } = each.deployment;
    results.append({
      event: 'deployment-ended',
      deployment: each.plan.id,
      attempt: each.attempt,
      seconds,
      versions,
    });
  }
  return failed;
}

/** Starts the servers of one deployment. */
async function deploy(plan: DeploymentPlan, options: RunnerOptions, progress: Progress): Promise<Running> {
  const { results, place, signal, say } = options;
  const attempt = results.history.deploymentAttempts(plan.id) + 1;
  say(progress.deploymentLine(plan, attempt));
  results.append({ event: 'deployment-started', deployment: plan.id, attempt });
  const begun = performance.now();
  const deployment = await marked(options, 'deploy', `${combinationText(plan.hard)} ${plan.id}`, () =>
    place.deploy(plan.hard, results.plan.study, signal),
  );
  const { versions } = deployment;
  try {
    refuseOtherVersions(plan, versions, options);
  } catch (error) {
    await within(deployment.stop(), STOP_MS, `stopping the deployment ${plan.id}`);
    throw error;
  }
  const seconds = (performance.now() - begun) / 1000;
  results.append({ event: 'deployment-ready', deployment: plan.id, attempt, seconds, versions });
  return { plan, deployment, attempt, begun };
}

/**
 * The tables of a round and its trials. When it rejects, all its series are void.
 *
 * @param place `isFirst`: the servers have just started. `isLast`: they stop after it
 */
async function runRound(
  round: readonly { readonly series: RoundMember['series']; readonly running: Running }[],
  { isFirst, isLast }: { readonly isFirst: boolean; readonly isLast: boolean },
  options: RunnerOptions,
  progress: Progress,
): Promise<void> {
  const { results, signal, openRound } = options;
  const { history, plan } = results;
  for (const { series } of round) {
    const attempt = history.completeAttempt(series.id);
    const reason = 'a series that takes turns with it is not complete';
    if (attempt !== null) results.append({ event: 'series-void', series: series.id, attempt, reason });
  }
  const members = round.map(({ series, running }): RoundMember => {
    const seriesAttempt = history.seriesAttempts(series.id) + 1;
    const { deployment, plan: deploymentPlan, attempt: deploymentAttempt } = running;
    results.append({
      ...{ event: 'series-started', series: series.id, attempt: seriesAttempt },
      ...{ deployment: deploymentPlan.id, deploymentAttempt },
    });
    return { deployment, deploymentPlan, series, deploymentAttempt, seriesAttempt };
  });
  try {
    const opened = await openRound(members, plan.study, signal);
    let isDone = false;
    try {
      await runTrials(opened, members, isFirst, options, progress);
      isDone = true;
    } finally {
      // After a failure, the servers stop too.
      await opened.close(isLast || !isDone);
    }
    for (const { series, seriesAttempt: attempt } of members)
      results.append({ event: 'series-ended', series: series.id, attempt });
  } catch (error) {
    if (fullDisk(error, results.directory) === null) {
      const reason = signal.aborted ? 'interrupted' : reportError(error).text.split('\n')[0]!;
      for (const { series, seriesAttempt: attempt } of members)
        results.append({ event: 'series-void', series: series.id, attempt, reason });
    }
    throw error;
  }
}

/** A driver of a series. */
interface Lane {
  readonly member: RoundMember;
  readonly driver: Driver;
}

/** Runs of one trial that are still to be done, in turns. */
interface Turns {
  readonly trial: number;
  readonly lanes: readonly Lane[];
}

/**
 * What takes turns with each other: all lanes of the round but those of k6, each of which is alone. With a failure each
 * is alone too: the time without a node is not the same part of each turn.
 */
function lanesOf(members: readonly RoundMember[], study: Study): readonly (readonly Lane[])[] {
  const lanes = members.flatMap((member) => member.series.drivers.map((driver) => ({ member, driver })));
  if (study.repeat.pairing === 'none' || hasFault(study, members[0]!.series.easy))
    return lanes.map((lane) => [lane]);
  const [alone, together] = [true, false].map((isK6) =>
    lanes.filter(({ driver }) => (driver === 'k6') === isK6),
  );
  return [...(together!.length === 0 ? [] : [together!]), ...alone!.map((lane) => [lane])];
}

async function runTrials(
  opened: OpenRound,
  members: readonly RoundMember[],
  isFirst: boolean,
  options: RunnerOptions,
  progress: Progress,
): Promise<void> {
  const { results } = options;
  const { study } = results.plan;
  const { requeue, name } = study;
  const { series: first } = members[0]!;
  const { trials, warmup: warmups } = first;
  const doRuns = async ({ trial, lanes }: Turns, attempt: number): Promise<boolean> => {
    const warmup = trial <= warmups;
    const requests = lanes.map(({ member: { series, seriesAttempt }, driver }): RunRequest => {
      const run = runName({ series: series.id, seriesAttempt, trial, driver, attempt });
      results.append({ event: 'run-started', run, series: series.id, seriesAttempt });
      return { run, series: series.id, driver, trial, attempt, warmup, csvPath: results.csvPart(run) };
    });
    const levels = lanes.map(levelsText);
    const others = requests.length === 1 ? '' : ` and ${requests.length - 1} more`;
    const what = `${levels[0]} ${requests[0]!.run}${others}`;
    const documents = await marked(options, warmup ? 'warm-up' : 'run', what, () => opened.run(requests));
    options.signal.throwIfAborted();
    for (const [index, document] of documents.entries()) {
      await results.archiveRun(document);
      const { run, done, seconds, valid } = document;
      await options.marks?.result(`${name} ${levels[index]} ${run}`, { operations: done, seconds, valid });
      const { deploymentPlan, series } = lanes[index]!.member;
      options.say(progress.runLine(deploymentPlan, series, document));
    }
    // Warm-up runs are not analysed, so an invalid one is not repeated.
    return warmup || documents.every(({ valid }) => valid);
  };
  const load = async (trial: number, lanes: readonly Lane[], attempt: number): Promise<void> => {
    for (const member of members) {
      const drivers = lanes.filter((lane) => lane.member === member).map(({ driver }) => driver);
      if (drivers.length === 0) continue;
      options.signal.throwIfAborted();
      const { series, seriesAttempt } = member;
      const begun = performance.now();
      const documents = await marked(options, 'load', `${levelsText({ member })} ${series.id}`, () =>
        opened.load(drivers.map((driver) => ({ series: series.id, driver, trial }))),
      );
      for (const document of documents) results.archiveLoad(document, attempt);
      const seconds = (performance.now() - begun) / 1000;
      results.append({ event: 'trial-loaded', series: series.id, seriesAttempt, trial, seconds });
    }
  };
  const turns = lanesOf(members, study);
  let invalid: Turns[] = [];
  for (const { trial, attempt } of passesOf(trials, warmUpRuns(study, first, isFirst))) {
    await load(trial, turns.flat(), attempt);
    // What is alone rotates, so that no driver is always the first.
    const start = (trial - 1) % turns.length;
    for (const lanes of [...turns.slice(start), ...turns.slice(0, start)]) {
      if (!(await doRuns({ trial, lanes }, attempt))) invalid.push({ trial, lanes });
    }
  }
  for (let attempt = 2; attempt <= requeue + 1; attempt += 1) {
    const again = invalid;
    invalid = [];
    for (const each of again) {
      await load(each.trial, each.lanes, attempt);
      if (!(await doRuns(each, attempt))) invalid.push(each);
    }
  }
}

/** The runs of each lane, before any is repeated because it was invalid. */
function passesOf(trials: number, warmUps: number): { readonly trial: number; readonly attempt: number }[] {
  const first = Array.from({ length: warmUps }, (_, index) => ({ trial: 1, attempt: index + 1 }));
  return [...first, ...Array.from({ length: trials - 1 }, (_, index) => ({ trial: index + 2, attempt: 1 }))];
}

function levelsText({ member: { deploymentPlan, series } }: Pick<Lane, 'member'>): string {
  return combinationText({ ...deploymentPlan.hard, ...series.easy });
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
export function outcomeText({ planned, done, failed, invalid, overhead, unspent }: StudyOutcome): string {
  const lines = [`${done} of ${planned} runs are done`];
  if (unspent !== null) {
    const { deployments, seconds } = unspent;
    lines.push(
      `the budget is spent: the rest of this block has ${deployments} deployments, and takes about ${showDuration(seconds)}: npm run study -- continue`,
    );
  }
  for (const { deployment, hard, reason } of failed)
    lines.push(`failed: ${deployment} (${combinationText(hard)}): ${reason}`);
  if (invalid.length > 0) {
    const shown = invalid.slice(0, MOST_SHOWN).join(', ');
    const more = invalid.length > MOST_SHOWN ? ', …' : '';
    lines.push(
      `${invalid.length} runs were invalid at each attempt: ${shown}${more}; the report has the reasons. Repeat the study on a quiet machine (--wait), or change the rule under valid in the file`,
    );
  }
  const overheadLine = overheadText(overhead);
  if (overheadLine !== null) lines.push(overheadLine);
  return lines.join('\n');
}

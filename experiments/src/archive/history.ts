import type { Combination, DeploymentPlan, JournalEntry, Plan, SeriesPlan } from '../model.ts';
import { parseRunName } from './run-names.ts';

export type RunEnded = Extract<JournalEntry, { event: 'run-ended' }>;

interface SeriesHistory {
  /** The number of the last attempt, 0 before the first one. */
  attempts: number;
  /** The attempt that has begun and has neither ended nor become void. */
  open: number | null;
  /** The attempt whose runs count. */
  complete: number | null;
}

/** What a journal contains about deployments, series and runs. It follows the journal entry by entry. */
export class History {
  readonly #series = new Map<string, SeriesHistory>();
  readonly #deployments = new Map<string, number>();
  readonly #versions = new Map<string, Readonly<Record<string, string>>>();
  readonly #runs = new Map<string, RunEnded>();
  readonly #skipped = new Set<string>();
  #open: readonly Combination[] | null = null;

  constructor(entries: readonly JournalEntry[] = []) {
    for (const entry of entries) this.add(entry);
  }

  add(entry: JournalEntry): void {
    if (entry.event === 'deployment-started') this.#deployments.set(entry.deployment, entry.attempt);
    if (entry.event === 'deployment-ready') this.#versions.set(entry.deployment, entry.versions);
    if (entry.event === 'run-ended') this.#runs.set(entry.run, entry);
    if (entry.event === 'deployment-skipped') this.#skipped.add(entry.deployment);
    if (entry.event === 'look') this.#open = entry.open;
    if (entry.event === 'series-started') {
      this.#series.set(entry.series, { attempts: entry.attempt, open: entry.attempt, complete: null });
    }
    if (entry.event === 'series-ended') this.#end(entry.series, entry.attempt, entry.attempt);
    if (entry.event === 'series-void') this.#end(entry.series, entry.attempt, null);
  }

  #end(series: string, attempt: number, complete: number | null): void {
    const known = this.#series.get(series);
    if (known?.attempts === attempt) this.#series.set(series, { attempts: attempt, open: null, complete });
  }

  /** The last attempt of a deployment, 0 before the first one. */
  deploymentAttempts(deployment: string): number {
    return this.#deployments.get(deployment) ?? 0;
  }

  /** Versions of the servers when the deployment was last ready, or null. */
  versionsOf(deployment: string): Readonly<Record<string, string>> | null {
    return this.#versions.get(deployment) ?? null;
  }

  seriesAttempts(series: string): number {
    return this.#series.get(series)?.attempts ?? 0;
  }

  /** The attempt that has begun and has not ended: the process stopped in it. */
  openAttempt(series: string): number | null {
    return this.#series.get(series)?.open ?? null;
  }

  /** The attempt whose runs count, or null. */
  completeAttempt(series: string): number | null {
    return this.#series.get(series)?.complete ?? null;
  }

  /** Combinations that were undecided when the study was judged last. null: it was not. */
  get open(): readonly Combination[] | null {
    return this.#open;
  }

  /** Whether nothing undecided needs the deployment, so that it is not done. */
  isSkipped({ id }: DeploymentPlan): boolean {
    return this.#skipped.has(id);
  }

  isComplete(deployment: DeploymentPlan): boolean {
    return (
      this.isSkipped(deployment) || deployment.series.every(({ id }) => this.completeAttempt(id) !== null)
    );
  }

  /** The deployments of a plan that are not skipped. */
  wanted({ deployments }: Plan): readonly DeploymentPlan[] {
    return deployments.filter((deployment) => !this.isSkipped(deployment));
  }

  /** All runs that ended, also those that do not count. */
  get runs(): ReadonlyMap<string, RunEnded> {
    return this.#runs;
  }

  /** Runs of the complete attempt of a series, in their order. Invalid ones are among them. */
  runsOf(series: string): readonly RunEnded[] {
    const attempt = this.completeAttempt(series);
    if (attempt === null) return [];
    return [...this.#runs.values()].filter((run) => run.series === series && run.seriesAttempt === attempt);
  }
}

/** How much of a plan is done. */
export interface Counts {
  /** Runs of the plan, without repetitions. */
  readonly planned: number;
  /** Planned runs that are done: a run of them is valid and counts, or they are for warm-up. */
  readonly done: number;
  /** Names of the last runs of trials in complete series that were never valid. */
  readonly invalid: readonly string[];
}

/** Counts the runs of a plan in a journal. */
export function countRuns(plan: Plan, history: History): Counts {
  let planned = 0;
  let done = 0;
  const invalid: string[] = [];
  for (const each of history.wanted(plan).flatMap(({ series }) => series)) {
    planned += runsIn(each);
    for (const { run, valid } of lastRuns(each, history)) {
      if (valid) done += 1;
      else invalid.push(run);
    }
  }
  return { planned, done, invalid };
}

/** The last run of each trial and driver of a series, or a valid one. Those for warm-up count as valid. */
function lastRuns({ id, warmup }: SeriesPlan, history: History): Iterable<RunEnded> {
  const last = new Map<string, RunEnded>();
  for (const ended of history.runsOf(id)) {
    const name = parseRunName(ended.run);
    if (name === null) continue;
    const cell = `${name.trial} ${name.driver}`;
    const valid = ended.valid || name.trial <= warmup;
    if (last.get(cell)?.valid !== true) last.set(cell, { ...ended, valid });
  }
  return last.values();
}

/**
 * Runs that a series still needs. Runs of the attempt that is open count as done. An invalid run does not, until its
 * repetitions are used up.
 */
export function remainingRuns({ study }: Plan, history: History, series: SeriesPlan): number {
  if (history.completeAttempt(series.id) !== null) return 0;
  const open = history.openAttempt(series.id);
  let done = 0;
  for (const { run, valid, seriesAttempt, series: id } of history.runs.values()) {
    if (id !== series.id || seriesAttempt !== open) continue;
    const name = parseRunName(run);
    if (name === null) continue;
    const isWarmUp = name.trial <= series.warmup;
    if (isWarmUp ? name.attempt === 1 : valid || name.attempt > study.requeue) done += 1;
  }
  return Math.max(0, runsIn(series) - done);
}

/** Planned runs of a series. */
export function runsIn({ trials, drivers }: SeriesPlan): number {
  return trials * drivers.length;
}

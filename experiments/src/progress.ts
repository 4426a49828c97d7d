import { type History, remainingRuns, runsIn } from './archive/history.ts';
import type { Overhead } from './archive/overhead.ts';
import { combinationText } from './combination-text.ts';
import type { DeploymentPlan, Plan, RunDocument, SeriesPlan } from './model.ts';
import { showSeconds } from './plan-text.ts';

/** How far a study is, and how long the rest takes. */
export class Progress {
  readonly #plan: Plan;
  readonly #history: History;
  /** Mean seconds of a planned run with all around it, before anything was measured. */
  readonly #expected: number;
  readonly #costs = new Map<string, { seconds: number; runs: number }>();
  #last = performance.now();

  constructor(plan: Plan, history: History, estimateSeconds: number) {
    this.#plan = plan;
    this.#history = history;
    this.#expected = estimateSeconds / Math.max(1, countOf(plan.deployments));
  }

  /** A line at the start of a deployment. */
  deploymentLine(deployment: DeploymentPlan, attempt: number): string {
    this.#last = performance.now();
    const number = this.#plan.deployments.indexOf(deployment) + 1;
    const levels = combinationText(deployment.hard);
    const again = attempt === 1 ? '' : `, attempt ${attempt}`;
    return `deployment ${number} of ${this.#plan.deployments.length}: ${levels}, block ${deployment.block}${again}`;
  }

  /** A line at the end of a run. Its time, with all since the run before, goes into the time left. */
  runLine(deployment: DeploymentPlan, series: SeriesPlan, document: RunDocument): string {
    const now = performance.now();
    const took = (now - this.#last) / 1000;
    this.#last = now;
    for (const key of keysOf(deployment, series)) {
      const { seconds, runs } = this.#costs.get(key) ?? { seconds: 0, runs: 0 };
      this.#costs.set(key, { seconds: seconds + took, runs: runs + 1 });
    }
    const { trial, attempt, driver, valid, warmup, done, seconds } = document;
    const notes = [
      ...(warmup ? ['warm-up'] : []),
      ...(attempt > 1 ? [`attempt ${attempt}`] : []),
      ...(valid ? [] : [`not valid: ${reasonOf(document)}`]),
    ];
    const rate = seconds > 0 ? `, ${Math.round(done / seconds)} operations/s` : '';
    const left = showDuration(this.#secondsLeft());
    const share = Math.floor(100 * this.#share());
    // Deployments side by side take turns, so each line names its levels of both kinds.
    const levels = combinationText({ ...deployment.hard, ...series.easy });
    return `${String(share).padStart(3)} %  ${levels} ${driver} trial ${trial}/${series.trials}: ${showDuration(seconds)}${rate}${notes.map((note) => `, ${note}`).join('')}; about ${left} left`;
  }

  #share(): number {
    let remaining = 0;
    for (const { series } of this.#history.wanted(this.#plan))
      for (const each of series) remaining += remainingRuns(this.#plan, this.#history, each);
    const planned = countOf(this.#history.wanted(this.#plan));
    return (planned - remaining) / planned;
  }

  #secondsLeft(): number {
    let left = 0;
    for (const deployment of this.#history.wanted(this.#plan)) {
      for (const series of deployment.series) {
        left += remainingRuns(this.#plan, this.#history, series) * this.#cost(deployment, series);
      }
    }
    return left;
  }

  /** Seconds of a run of a series: measured for the most similar series of which a run is known. */
  #cost(deployment: DeploymentPlan, series: SeriesPlan): number {
    for (const key of keysOf(deployment, series)) {
      const known = this.#costs.get(key);
      if (known !== undefined) return known.seconds / known.runs;
    }
    return this.#expected;
  }
}

/** One line for the user. null: no run has ended. */
export function overheadText({ betweenMedian, betweenMost, share }: Overhead): string | null {
  if (betweenMedian === null || betweenMost === null) return null;
  const shareText = share === null ? '' : `, ${(share * 100).toFixed(1)} % of the measured time`;
  return `overhead between the runs of a series: median ${showDuration(betweenMedian)}, most ${showDuration(betweenMost)}${shareText}`;
}

/** `34 ms`, `7.1 s`, `12 min`, `3 h 20 min`. */
export function showDuration(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  return seconds < 10 ? `${seconds.toFixed(1)} s` : showSeconds(seconds);
}

/** From the most similar runs to all runs. */
function keysOf({ hard }: DeploymentPlan, { easy }: SeriesPlan): readonly string[] {
  return [
    JSON.stringify([hard, easy]),
    JSON.stringify([hard.store, easy.workload]),
    JSON.stringify(hard.store),
    '',
  ];
}

function countOf(deployments: readonly DeploymentPlan[]): number {
  return deployments.flatMap(({ series }) => series).reduce((sum, each) => sum + runsIn(each), 0);
}

function reasonOf({ checks }: RunDocument): string {
  const broken = checks.filter(({ ok }) => !ok);
  const texts = broken.map(({ rule, measured, limit, unit, note }) =>
    measured === null || limit === null
      ? `${rule}: ${note ?? 'not measured'}`
      : `${rule} ${showFigure(measured)} ${unit}, limit ${showFigure(limit)}`,
  );
  return texts.join('; ') || 'no check failed';
}

/** Three digits. */
function showFigure(value: number): string {
  return String(Number(value.toPrecision(3)));
}

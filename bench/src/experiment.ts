import { join } from 'node:path';
import { readDocument } from '@tidegauge/experiments/archive/durable-files';
import { environmentOf } from '@tidegauge/experiments/archive/environment';
import { openResults } from '@tidegauge/experiments/archive/results';
import { parseStudy } from '@tidegauge/experiments/file/read-study';
import type { Combination, Place } from '@tidegauge/experiments/model';
import { makePlan } from '@tidegauge/experiments/plan';
import { outcomeText, runStudy } from '@tidegauge/experiments/runner';
import { openRound } from '@tidegauge/experiments/trial/open-round';
import { runAnalysis } from '@tidegauge/loadtests/results/run-analysis';
import { EXIT } from '@tidegauge/service/program';
import type { Interval } from './added-latency.ts';

const MOST_ANALYSIS_BYTES = 64 * 2 ** 20;

/** The analysis' verdict on two groups. `none`: they cannot be compared, such as without valid runs. */
export type Verdict = 'different' | 'equivalent' | 'undecided' | 'none';

/** A comparison of two groups. */
export interface Compared {
  readonly metric: string;
  /** Levels of the factors that are analysed apart. */
  readonly per: Combination;
  /** Levels of the factors that are compared. */
  readonly first: Combination;
  readonly second: Combination;
  /** Mean of the second group, in the unit of the metric. null: it has no valid run. */
  readonly secondMean: number | null;
  /** The first over the second, with its 95 % interval. null: there is none. */
  readonly ratio: Interval | null;
  readonly verdict: Verdict;
}

interface Value {
  readonly value: number | null;
}

interface Estimate {
  readonly value: Value;
  readonly low: Value;
  readonly high: Value;
}

interface Group {
  readonly label: string;
  readonly factors: Combination;
  readonly mean: Estimate;
}

/** The part of `analysis.json` that is read here. */
export interface Analysis {
  readonly families: readonly {
    readonly metric: string;
    readonly per: Combination;
    readonly groups: readonly Group[];
    readonly pairs: readonly {
      readonly first: string;
      readonly second: string;
      readonly ratio: Estimate;
      readonly verdict: Verdict;
    }[];
  }[];
}

export interface Experiment {
  /** Loading, all runs and the analysis. */
  readonly seconds: number;
  /** Runs that were invalid at each attempt. */
  readonly invalid: number;
  readonly analysis: Analysis;
}

export interface ExperimentOptions {
  readonly place: Place;
  /** Results directory, which is new. */
  readonly directory: string;
  readonly signal: AbortSignal;
}

/**
 * Runs an experiment and its analysis, as `npm run study` does.
 *
 * @param file the data of an experiment file
 * @throws {ConfigError} the file has mistakes
 * @throws {Error} a deployment or the analysis failed
 */
export async function runExperiment(file: object, options: ExperimentOptions): Promise<Experiment> {
  const { place, directory, signal } = options;
  const begun = performance.now();
  const source = `${JSON.stringify(file, null, 2)}\n`;
  const plan = makePlan(await parseStudy(source, { name: 'experiment', directory }));
  // One line for each run would hide the results.
  const say = () => {};
  const environment = await environmentOf(place);
  const opening = { source, force: false, needBytes: 0, say };
  const results = await openResults(directory, plan, environment, opening);
  let invalid: number;
  try {
    const run = { place, results, openRound, signal, say, estimateSeconds: 0, force: false };
    const outcome = await runStudy(run);
    if (outcome.failed.length > 0) throw new Error(outcomeText(outcome));
    invalid = outcome.invalid.length;
  } finally {
    results.close();
  }
  if ((await runAnalysis('report', [directory], 'pipe')) !== EXIT.OK)
    throw new Error('the analysis failed: see above');
  const path = join(directory, 'report', 'analysis.json');
  const analysis = readDocument<Analysis>(path, MOST_ANALYSIS_BYTES, 'the analysis writes it');
  return { seconds: (performance.now() - begun) / 1000, invalid, analysis };
}

/** All pairs of groups of an analysis. */
export function comparisonsOf({ families }: Analysis): readonly Compared[] {
  return families.flatMap(({ metric, per, groups, pairs }) => {
    const named = (label: string): Group => groups.find((group) => group.label === label)!;
    return pairs.map(({ first, second, ratio, verdict }) => ({
      metric,
      per,
      first: named(first).factors,
      second: named(second).factors,
      secondMean: named(second).mean.value.value,
      ratio: intervalOf(ratio),
      verdict,
    }));
  });
}

function intervalOf({ value, low, high }: Estimate): Interval | null {
  if (value.value === null || low.value === null || high.value === null) return null;
  return { value: value.value, low: low.value, high: high.value };
}

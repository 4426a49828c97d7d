import { median } from '@tidegauge/loadtests/results/statistics';
import { textTable } from '@tidegauge/loadtests/results/table';
import { halfWidth, type Interval } from './added-latency.ts';
import type { Compared, Verdict } from './experiment.ts';
import { REFERENCE } from './truth-study.ts';

/** The largest difference that does not matter: the default of experiments. */
const MARGIN = 0.05;
/** Shares of comparisons of a level with itself. */
const MOST_DIFFERENT = 0.05;
const FEWEST_EQUIVALENT = 0.9;
/** Of intervals of 95 %, some miss by chance. */
const FEWEST_FOUND = 0.9;
const MOST_SECONDS = 120;
const VERDICTS: readonly Verdict[] = ['different', 'equivalent', 'undecided', 'none'];

interface Measured {
  /** From 1. */
  readonly round: number;
  readonly seconds: number;
  /** Runs that were invalid at each attempt. */
  readonly invalid: number;
}

/** A level compared with itself. */
export interface SameResult extends Measured {
  readonly store: string;
  readonly threads: number;
  readonly comparisons: readonly Compared[];
}

/** A known delay, and what the analysis found. */
export interface Planted {
  readonly percent: number;
  readonly metric: string;
  /** Latency with the delay over that of the reference. null: the reference has no valid run. */
  readonly truth: number | null;
  readonly ratio: Interval | null;
  /** Whether the interval has the truth. null: there is no truth or no interval. */
  readonly isFound: boolean | null;
}

export interface PlantedResult extends Measured {
  readonly found: readonly Planted[];
}

/** Two stores, on a machine that does other work or does not. */
export interface BusyResult extends Measured {
  readonly isBusy: boolean;
  readonly comparisons: readonly Compared[];
}

/** How often there was each verdict. */
export function tally(comparisons: readonly Pick<Compared, 'verdict'>[]): Readonly<Record<Verdict, number>> {
  const of = (wanted: Verdict) => comparisons.filter(({ verdict }) => verdict === wanted).length;
  return {
    different: of('different'),
    equivalent: of('equivalent'),
    undecided: of('undecided'),
    none: of('none'),
  };
}

/**
 * What was found of each delay. A delay adds as much to each latency, so it adds as much to means and medians.
 *
 * @param delays of each level of `network`, with its delay in milliseconds
 */
export function plantedIn(
  comparisons: readonly Compared[],
  delays: ReadonlyMap<string, { readonly percent: number; readonly delayMs: number }>,
): readonly Planted[] {
  return comparisons.flatMap(({ metric, first, second, secondMean, ratio }) => {
    const delay = delays.get(String(first.network));
    if (delay === undefined || second.network !== REFERENCE) return [];
    const truth = secondMean === null ? null : 1 + delay.delayMs / secondMean;
    const isFound = truth === null || ratio === null ? null : ratio.low <= truth && truth <= ratio.high;
    return [{ percent: delay.percent, metric, truth, ratio, isFound }];
  });
}

/** The pairs of comparisons of the same groups whose verdicts cannot both be true. */
export function contradictionsIn(
  comparisons: readonly Compared[],
): readonly (readonly [one: Compared, other: Compared])[] {
  return [...Map.groupBy(comparisons, nameOf).values()].flatMap((alike) =>
    alike.flatMap((one, index) =>
      alike
        .slice(index + 1)
        .filter((other) => contradict(one, other))
        .map((other) => [one, other] as const),
    ),
  );
}

function contradict(one: Compared, other: Compared): boolean {
  if (one.verdict === 'different' && other.verdict === 'different') return isAbove(one) !== isAbove(other);
  return (
    (one.verdict === 'equivalent' && isBeyondMargin(other)) ||
    (other.verdict === 'equivalent' && isBeyondMargin(one))
  );
}

function isAbove({ ratio }: Compared): boolean {
  return ratio !== null && ratio.value > 1;
}

function isBeyondMargin({ verdict, ratio }: Compared): boolean {
  if (verdict !== 'different' || ratio === null) return false;
  return ratio.low > 1 + MARGIN || ratio.high < 1 / (1 + MARGIN);
}

/** What is not as it must be, a line for each. */
export function unmetIn(
  same: readonly SameResult[],
  planted: readonly PlantedResult[],
  busy: readonly BusyResult[],
): readonly string[] {
  const lines: string[] = [];
  const compared = same.flatMap(({ comparisons }) => comparisons);
  if (same.length > 0) {
    const { different, equivalent } = tally(compared);
    const of = `of ${compared.length} comparisons of a level with itself`;
    if (different > MOST_DIFFERENT * compared.length) lines.push(`${different} ${of} found a difference`);
    if (equivalent < FEWEST_EQUIVALENT * compared.length || compared.length === 0)
      lines.push(`only ${equivalent} ${of} found both equivalent`);
    const slow = same.filter(({ seconds }) => seconds > MOST_SECONDS).length;
    if (slow > 0) lines.push(`${slow} of ${same.length} experiments took more than ${MOST_SECONDS} s`);
  }
  const invalid = [...same, ...planted, ...busy].reduce((sum, one) => sum + one.invalid, 0);
  if (invalid > 0) lines.push(`${invalid} runs were invalid at each attempt: their comparisons lack them`);
  const delays = planted.flatMap(({ found }) => found);
  const found = delays.filter(({ isFound }) => isFound === true).length;
  if (planted.length > 0 && (found < FEWEST_FOUND * delays.length || delays.length === 0))
    lines.push(`only ${found} of ${delays.length} intervals have the planted delay`);
  const stores = busy.flatMap(({ comparisons }) => comparisons);
  const { none } = tally(stores);
  if (none > 0) lines.push(`${none} of ${stores.length} comparisons of two stores have no verdict`);
  const contradictions = contradictionsIn(stores).length;
  if (contradictions > 0) lines.push(`${contradictions} pairs of verdicts on two stores contradict`);
  return lines;
}

/** A row for each store, number of threads and metric, and one for all. */
export function sameTable(results: readonly SameResult[]): string {
  const all = results.flatMap(({ store, threads, seconds, comparisons }) =>
    comparisons.map((one) => ({ ...one, seconds, name: `${store}, ${threads} at once, ${one.metric}` })),
  );
  const row = (name: string, some: typeof all): readonly string[] => [
    name,
    String(some.length),
    ...countsOf(some),
    Math.max(0, ...some.map(({ seconds }) => seconds)).toFixed(0),
  ];
  const groups = [...Map.groupBy(all, ({ name }) => name)].map(([name, some]) => row(name, some));
  const header = ['a level with itself', 'compared', ...VERDICTS, 'longest s'];
  return textTable([header, ...groups, row('all', all)]);
}

/** A row for each delay and metric. */
export function plantedTable(results: readonly PlantedResult[]): string {
  const all = results.flatMap(({ found }) => found);
  const groups = Map.groupBy(all, ({ percent, metric }) => `${percent} %, ${metric}`);
  const rows = [...groups].map(([name, some]) => {
    const truths = some.map(({ truth }) => truth).filter((truth) => truth !== null);
    const ratios = some.map(({ ratio }) => ratio).filter((ratio) => ratio !== null);
    const added = ratios.map(({ value }) => value);
    const found = some.filter(({ isFound }) => isFound === true).length;
    return [name, percentOf(truths), percentOf(added), halfOf(ratios), `${found} of ${some.length}`];
  });
  return textTable([['planted delay', 'truth %', 'found %', '± %', 'in the interval'], ...rows]);
}

/** A row for each metric and driver. */
export function busyTable(results: readonly BusyResult[]): string {
  const all = results.flatMap(({ isBusy, comparisons }) => comparisons.map((one) => ({ ...one, isBusy })));
  const rows = [...Map.groupBy(all, nameOf)].map(([name, some]) => {
    const [quiet, busy] = [false, true].map((wanted) =>
      countsOf(some.filter(({ isBusy }) => isBusy === wanted)).join(' / '),
    );
    const range = rangeOf(some.flatMap(({ ratio }) => (ratio === null ? [] : [ratio.value])));
    return [name, quiet!, busy!, range, String(contradictionsIn(some).length)];
  });
  const heading = VERDICTS.join(' / ');
  return textTable([
    ['two stores', `quiet: ${heading}`, `busy: ${heading}`, 'ratios', 'contradictions'],
    ...rows,
  ]);
}

function nameOf({ metric, per }: Pick<Compared, 'metric' | 'per'>): string {
  return [metric, ...Object.entries(per).map(([name, level]) => `${name} ${level}`)].join(', ');
}

function countsOf(comparisons: readonly Pick<Compared, 'verdict'>[]): readonly string[] {
  const counts = tally(comparisons);
  return VERDICTS.map((verdict) => String(counts[verdict]));
}

function rangeOf(ratios: readonly number[]): string {
  if (ratios.length === 0) return '–';
  return `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
}

/** The median of ratios, as percent above 1. */
function percentOf(ratios: readonly number[]): string {
  return ratios.length === 0 ? '–' : (100 * (median(ratios) - 1)).toFixed(2);
}

function halfOf(ratios: readonly Interval[]): string {
  return ratios.length === 0 ? '–' : (100 * median(ratios.map(halfWidth))).toFixed(2);
}

import { meanWithVariance, studentQuantile } from '../../results/student.ts';
import type { Level } from '../model.ts';

/** What this needs of a difference between two drivers in `analysis.json`. */
export interface DriverDifference {
  /** Such as `read.mean`. */
  readonly metric: string;
  readonly unit: string;
  readonly first: string;
  readonly second: string;
  /** Factors that vary in the study, without the driver. */
  readonly factors: Readonly<Record<string, Level>>;
  readonly second_mean: { readonly value: { readonly value: number | null } };
  /** The difference of each pair of runs of one trial. */
  readonly pairs: readonly { readonly value: number | null }[];
}

/** What the application adds to the mean latency of one operation on one store, by one study. */
export interface ApplicationCost {
  readonly store: string;
  /** An operation, such as `read`; `all` if the study does not distinguish them. */
  readonly operation: string;
  /** Operations at the same time. */
  readonly threads: number;
  /** Combinations of the other factors. Each has the same weight. */
  readonly combinations: number;
  /** Pairs of runs of all combinations. */
  readonly pairs: number;
  readonly unit: string;
  /** Mean latency of the raw store. */
  readonly raw: number;
  /** Mean of the differences `app - raw`, and its 95 % interval. */
  readonly difference: number;
  readonly low: number;
  readonly high: number;
}

const ALL = 'all.mean';

/** Factors at the level where nothing but the store and the application takes part in a latency. */
const UNDISTURBED: Readonly<Record<string, Level>> = { fault: 'none', network: 'none', target: 0 };

/**
 * What the application adds on each store, from runs with the fewest threads of the study, without a fault, a network
 * profile or a target rate. Combinations are strata: the mean of their mean differences, with Student's interval and
 * the degrees of freedom of Satterthwaite (Biometrics Bulletin 2, 1946). Combinations with one pair are left out,
 * because they have no variance.
 *
 * @param fixed levels of the factors that do not vary
 */
export function applicationCosts(
  differences: readonly DriverDifference[],
  fixed: Readonly<Record<string, Level>>,
): readonly ApplicationCost[] {
  const usable = differences
    .filter(
      ({ first, second, metric }) => first === 'app' && second === 'raw' && /^[a-z-]+\.mean$/.test(metric),
    )
    .map((each) => ({ ...each, factors: { ...fixed, ...each.factors } }))
    .filter(({ factors }) => isUndisturbed(factors));
  const threadsOf = (each: (typeof usable)[number]): number => Number(each.factors.threads ?? 1);
  const threads = Math.min(...usable.map(threadsOf));
  // All operations together say less than each kind.
  const hasOnlyAll = usable.every(({ metric }) => metric === ALL);
  const groups = Map.groupBy(
    usable.filter((each) => threadsOf(each) === threads && (each.metric !== ALL || hasOnlyAll)),
    ({ factors, metric }) => `${factors.store} ${metric}`,
  );
  const costs: ApplicationCost[] = [];
  for (const [key, cells] of groups) {
    const [store, metric] = key.split(' ') as [string, string];
    const strata = cells.flatMap(stratumOf);
    if (strata.length === 0) continue;
    const { mean: difference, low, high } = stratifiedMean(strata);
    costs.push({
      store,
      operation: metric.slice(0, -'.mean'.length),
      threads,
      combinations: strata.length,
      pairs: strata.reduce((sum, { count }) => sum + count, 0),
      unit: cells[0]!.unit,
      raw: strata.reduce((sum, { raw }) => sum + raw, 0) / strata.length,
      difference,
      low,
      high,
    });
  }
  return costs.toSorted((a, b) => (`${a.store} ${a.operation}` < `${b.store} ${b.operation}` ? -1 : 1));
}

function isUndisturbed(factors: Readonly<Record<string, Level>>): boolean {
  return Object.entries(UNDISTURBED).every(
    ([name, level]) => String(factors[name] ?? level) === String(level),
  );
}

interface Stratum {
  readonly count: number;
  readonly mean: number;
  /** Of the mean. */
  readonly variance: number;
  readonly raw: number;
}

function stratumOf({ pairs, second_mean }: DriverDifference): readonly Stratum[] {
  const values = pairs.map(({ value }) => value).filter((value) => value !== null);
  const raw = second_mean.value.value;
  const count = values.length;
  if (count < 2 || raw === null) return [];
  return [{ count, ...meanWithVariance(values), raw }];
}

function stratifiedMean(strata: readonly Stratum[]): { mean: number; low: number; high: number } {
  const mean = strata.reduce((sum, each) => sum + each.mean, 0) / strata.length;
  const variance = strata.reduce((sum, each) => sum + each.variance, 0);
  const spread = strata.reduce((sum, each) => sum + each.variance ** 2 / (each.count - 1), 0);
  // Rounded down, which makes the interval a little wider.
  const degrees = spread === 0 ? 1 : Math.max(1, Math.floor(variance ** 2 / spread));
  const half = (studentQuantile(0.975, degrees) * Math.sqrt(variance)) / strata.length;
  return { mean, low: mean - half, high: mean + half };
}

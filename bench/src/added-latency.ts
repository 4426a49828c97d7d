import { mean, median, quantile } from '@tidegauge/loadtests/results/statistics';
import { studentQuantile } from '@tidegauge/loadtests/results/student';

/** Latencies of one type of operation, directly on the store and through the application, in milliseconds. */
export interface Latencies {
  readonly raw: readonly number[];
  readonly app: readonly number[];
}

/** A value with its 95 % confidence interval. */
export interface Interval {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** What the application adds to one type of operation, in milliseconds. null: too few operations for an interval. */
export interface AddedLatency {
  /** Through the application. */
  readonly operations: number;
  readonly raw: { readonly median: number; readonly mean: number; readonly p99: number };
  readonly median: Interval | null;
  readonly mean: Interval | null;
  readonly p99: Interval | null;
}

/** More sections make them shorter, so that they depend on one another; fewer make the interval wide. */
const SECTIONS = 20;
const FEWEST_SECTIONS = 5;
/** Operations that a section needs for its median, and for its 99th percentile. */
const FOR_MEDIAN = 5;
const FOR_P99 = 100;
/** A median is known well enough within this share of the store's own median, or within this time. */
const PRECISE_SHARE = 0.05;
const PRECISE_MS = 0.02;

/**
 * A statistic of a series of blocks, with an interval that holds although neighbouring blocks resemble one another: the
 * series is divided into sections, and Student's interval is that of the statistic of the sections, around the
 * statistic of the whole series ("sectioning": Asmussen and Glynn, Stochastic Simulation, 2007, III.5).
 *
 * @param least operations that a section must have on each side
 * @returns null when that leaves fewer than five sections
 */
export function sectioned(
  blocks: readonly Latencies[],
  statistic: (latencies: Latencies) => number,
  least: number,
): Interval | null {
  const all = joined(blocks);
  const fit = Math.floor(Math.min(all.raw.length, all.app.length) / least);
  const count = Math.min(SECTIONS, blocks.length, fit);
  if (count < FEWEST_SECTIONS) return null;
  const value = statistic(all);
  let squares = 0;
  for (let section = 0; section < count; section += 1) {
    const [from, to] = [section, section + 1].map((edge) => Math.floor((edge * blocks.length) / count));
    squares += (statistic(joined(blocks.slice(from, to))) - value) ** 2;
  }
  const half = studentQuantile(0.975, count - 1) * Math.sqrt(squares / (count - 1) / count);
  return { value, low: value - half, high: value + half };
}

/**
 * The added latency in a series of blocks.
 *
 * @param isPaired the operations of a block are the same on both sides, in the same order: the median is that of their
 * differences. Otherwise it is the difference of the medians
 */
export function addedLatency(blocks: readonly Latencies[], isPaired: boolean): AddedLatency {
  const { raw, app } = joined(blocks);
  const difference =
    (figure: (values: readonly number[]) => number) =>
    (latencies: Latencies): number =>
      figure(latencies.app) - figure(latencies.raw);
  return {
    operations: app.length,
    raw: { median: median(raw), mean: mean(raw), p99: p99(raw) },
    median: sectioned(blocks, isPaired ? medianOfDifferences : difference(median), FOR_MEDIAN),
    mean: sectioned(blocks, difference(mean), FOR_MEDIAN),
    p99: sectioned(blocks, difference(p99), FOR_P99),
  };
}

/** Whether the interval of the median is as narrow as the table of the README needs. */
export function isPrecise({ raw, median: added }: AddedLatency): boolean {
  if (added === null) return false;
  return halfWidth(added) <= Math.max(PRECISE_MS, PRECISE_SHARE * raw.median);
}

export function halfWidth({ low, high }: Interval): number {
  return (high - low) / 2;
}

function medianOfDifferences({ raw, app }: Latencies): number {
  return median(app.map((latency, index) => latency - raw[index]!));
}

function joined(blocks: readonly Latencies[]): Latencies {
  return { raw: blocks.flatMap(({ raw }) => raw), app: blocks.flatMap(({ app }) => app) };
}

function p99(values: readonly number[]): number {
  return quantile(values, 0.99);
}

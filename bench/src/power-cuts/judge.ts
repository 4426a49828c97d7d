import { quantile } from '@tidegauge/loadtests/results/statistics';
import type { Acknowledged } from './traffic.ts';

/** What one power cut or kill has lost. */
export interface Cut {
  /** Messages acknowledged before the cut. */
  readonly acknowledged: number;
  /** Those that are not found after it. */
  readonly missing: readonly number[];
  /** Age of the oldest missing message at the cut, seconds; 0 when none is missing. */
  readonly seconds: number;
  /** The broker does not have the session, and so none of its messages. */
  readonly sessionLost: boolean;
}

/** Figures of some cuts: how many lost something, and the spread of the loss in messages and in seconds. */
export interface CutSummary {
  /** Messages acknowledged before a cut: the median. */
  readonly acknowledged: number;
  /** Missing messages of all cuts. A message that is missing after several cuts of one disk counts each time. */
  readonly missing: number;
  readonly examples: readonly number[];
  /** Cuts that lost a message. */
  readonly withLoss: number;
  /** Cuts that lost the session. */
  readonly sessionsLost: number;
  readonly messages: Spread;
  readonly seconds: Spread;
}

export interface Spread {
  readonly median: number;
  readonly p90: number;
  readonly most: number;
}

/**
 * Compares what was acknowledged with what is found.
 *
 * @param at time of the cut, on the clock of `acknowledged`
 * @param found null when the session is lost
 */
export function judgeCut(
  acknowledged: readonly Acknowledged[],
  at: number,
  found: ReadonlySet<number> | null,
): Cut {
  const lost = acknowledged.filter(({ number }) => !found?.has(number));
  const oldest = lost.reduce((least, each) => Math.min(least, each.at), at);
  return {
    acknowledged: acknowledged.length,
    missing: lost.map(({ number }) => number),
    seconds: (at - oldest) / 1000,
    sessionLost: found === null,
  };
}

/** @param cuts at least one */
export function summaryOf(cuts: readonly Cut[]): CutSummary {
  const acknowledged = cuts.map((cut) => cut.acknowledged);
  const missing = cuts.map((cut) => cut.missing.length);
  return {
    acknowledged: quantile(acknowledged, 0.5),
    missing: missing.reduce((sum, each) => sum + each, 0),
    examples: cuts.flatMap((cut) => cut.missing.slice(0, 3)).slice(0, 10),
    withLoss: missing.filter((count) => count > 0).length,
    sessionsLost: cuts.filter(({ sessionLost }) => sessionLost).length,
    messages: spreadOf(missing),
    seconds: spreadOf(cuts.map(({ seconds }) => seconds)),
  };
}

function spreadOf(values: readonly number[]): Spread {
  return { median: quantile(values, 0.5), p90: quantile(values, 0.9), most: Math.max(...values) };
}

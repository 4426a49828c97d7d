/** The measurement of one rate. */
export interface Step {
  /** Operations per second that were scheduled. */
  readonly offered: number;
  /** Operations per second that were done. */
  readonly achieved: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor use of the process under test, in cores. */
  readonly cpu: number;
  /** Reasons why the rate does not meet the objective. Empty: the rate meets it. */
  readonly broken: readonly string[];
}

export interface SearchOptions {
  readonly from: number;
  readonly to: number;
  /** The search ends when the lowest failed rate is within this factor of the highest rate that met the objective. */
  readonly precision: number;
}

export interface Saturation {
  /** All measurements, ordered by rate. */
  readonly curve: readonly Step[];
  /** The measurement of the highest rate that met the objective. null: no rate met it. */
  readonly knee: Step | null;
  /** No rate failed, up to the highest one that the search may try. The saturation is at a higher rate. */
  readonly beyond: boolean;
}

/** The step, marked as broken if it achieved less than this share (0 to 1) of the offered rate. */
export function requireShare(step: Step, share: number): Step {
  const { offered, achieved, broken } = step;
  if (achieved >= offered * share) return step;
  const percent = ((achieved / offered) * 100).toFixed(0);
  return { ...step, broken: [...broken, `${percent} % of the rate achieved`] };
}

/**
 * Searches for the highest rate that meets the objective. Doubles the rate until one fails, then halves the gap. A rate
 * that fails is tried a second time, because a pause of the machine can also cause a failure.
 */
export async function findSaturation(
  { from, to, precision }: SearchOptions,
  measure: (rate: number) => Promise<Step>,
): Promise<Saturation> {
  const curve: Step[] = [];
  const found = { held: null as Step | null, failed: Number.POSITIVE_INFINITY };
  const holds = async (rate: number): Promise<boolean> => {
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const step = await measure(rate);
      curve.push(step);
      if (step.broken.length > 0) continue;
      found.held = step;
      return true;
    }
    found.failed = rate;
    return false;
  };
  for (let rate = from; (await holds(rate)) && rate < to; rate = Math.min(to, rate * 2));
  const beyond = !Number.isFinite(found.failed);
  while (!beyond && found.held !== null && found.failed / found.held.offered > precision) {
    const middle = Math.round((found.held.offered + found.failed) / 2);
    if (middle === found.held.offered || middle === found.failed) break;
    await holds(middle);
  }
  return { curve: curve.toSorted((a, b) => a.offered - b.offered), knee: found.held, beyond };
}

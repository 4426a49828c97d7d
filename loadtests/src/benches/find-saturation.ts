/** One rate that was tried. */
export interface Step {
  /** Operations per second that were due. */
  readonly offered: number;
  /** Those that were done. */
  readonly achieved: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Of the process under test, in cores. */
  readonly cpu: number;
  /** Why it does not keep the objective; empty where it does. */
  readonly broken: readonly string[];
}

export interface SearchOptions {
  readonly from: number;
  readonly to: number;
  /** The search ends when the lowest rate that failed is within this factor of the highest that held. */
  readonly precision: number;
}

export interface Saturation {
  /** All that was tried, by rate, as it was tried. */
  readonly curve: readonly Step[];
  /** The highest rate that held; null when none did. */
  readonly knee: Step | null;
  /** Nothing failed up to the highest rate that may be offered: the knee lies beyond. */
  readonly beyond: boolean;
}

/** The step, broken also where it achieved less than that share of what was offered. */
export function requireShare(step: Step, share: number): Step {
  const { offered, achieved, broken } = step;
  if (achieved >= offered * share) return step;
  const percent = ((achieved / offered) * 100).toFixed(0);
  return { ...step, broken: [...broken, `${percent} % of the rate achieved`] };
}

/**
 * Searches the highest rate that holds: doubles it until one fails, then halves the gap. A rate that fails is tried
 * once more, for a pause of the machine is no saturation.
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

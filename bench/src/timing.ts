import { quantile } from '@tidegauge/loadtests/results/statistics';

/** The rate and the latencies of a run of equal operations. */
export interface Timing {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Runs `count` operations, `workers` at once. Each receives its number, from 0. Rejects when an operation rejects. */
export async function timeCount(
  count: number,
  workers: number,
  operation: (number: number) => Promise<unknown>,
): Promise<Timing> {
  return timeWhile(workers, (number) => number < count, operation);
}

/**
 * Runs operations for about `seconds`, `workers` at once. Each receives its number, from 0. Rejects when an operation
 * rejects.
 */
export async function timeSeconds(
  seconds: number,
  workers: number,
  operation: (number: number) => Promise<unknown>,
): Promise<Timing> {
  const end = performance.now() + seconds * 1000;
  return timeWhile(workers, () => performance.now() < end, operation);
}

async function timeWhile(
  workers: number,
  more: (number: number) => boolean,
  operation: (number: number) => Promise<unknown>,
): Promise<Timing> {
  const durations: number[] = [];
  let next = 0;
  const begun = performance.now();
  const worker = async (): Promise<void> => {
    while (more(next)) {
      const started = performance.now();
      await operation(next++);
      durations.push(performance.now() - started);
    }
  };
  await Promise.all(Array.from({ length: workers }, worker));
  return {
    perSecond: (durations.length * 1000) / (performance.now() - begun),
    p50Ms: quantile(durations, 0.5),
    p99Ms: quantile(durations, 0.99),
  };
}

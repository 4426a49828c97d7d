/** Microseconds. */
export interface Latency {
  readonly count: number;
  readonly mean: number;
  readonly min: number;
  readonly max: number;
  readonly p50: number;
  readonly p90: number;
  readonly p95: number;
  readonly p99: number;
  readonly p999: number;
}

/** Of durations in milliseconds, which are sorted in place; null of none. Percentiles by nearest rank. */
export function latencyOfSamples(samples: Float32Array | Float64Array): Latency | null {
  const count = samples.length;
  if (count === 0) return null;
  const sorted = samples.sort();
  let sum = 0;
  for (const sample of sorted) sum += sample;
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(share * count) - 1)]! * 1000;
  return {
    count,
    mean: (sum / count) * 1000,
    min: at(0),
    max: at(1),
    p50: at(0.5),
    p90: at(0.9),
    p95: at(0.95),
    p99: at(0.99),
    p999: at(0.999),
  };
}

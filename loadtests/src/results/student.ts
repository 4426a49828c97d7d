/** A mean and its 95 % confidence interval. */
export interface Estimate {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/** The mean of independent values, and the variance of this mean, which is NaN for less than two values. */
export function meanWithVariance(values: readonly number[]): {
  readonly mean: number;
  readonly variance: number;
} {
  const count = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, variance: squares / (count - 1) / count };
}

/**
 * The mean and Student's confidence interval of independent values with an approximately normal distribution, such as
 * the differences between paired blocks. The interval of a single value is infinite. NaN for no values.
 */
export function estimate(values: readonly number[]): Estimate {
  const count = values.length;
  const { mean, variance } = meanWithVariance(values);
  if (count < 2) return { mean, low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };
  const half = studentQuantile(0.975, count - 1) * Math.sqrt(variance);
  return { mean, low: mean - half, high: mean + half };
}

/** The quantile `p` (0.5 to 1, exclusive) of Student's t distribution, for whole degrees of freedom. */
export function studentQuantile(p: number, degrees: number): number {
  let low = 0;
  let high = 1;
  while (studentTail(high, degrees) > 1 - p) high *= 2;
  for (let step = 0; step < 100; step += 1) {
    const middle = (low + high) / 2;
    if (studentTail(middle, degrees) > 1 - p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/**
 * P(T > t) for t >= 0. This is half of the incomplete beta function I_x(degrees / 2, 1 / 2) with
 * x = degrees / (degrees + t^2). It uses the finite sums for whole degrees of freedom (Abramowitz and Stegun, 26.7.3
 * and 26.7.4).
 */
export function studentTail(t: number, degrees: number): number {
  const angle = Math.atan(t / Math.sqrt(degrees));
  const cosine = Math.cos(angle);
  const odd = degrees % 2 === 1;
  let term = odd ? cosine : 1;
  let sum = odd && degrees === 1 ? 0 : term;
  for (let power = odd ? 3 : 2; power <= degrees - 2; power += 2) {
    term *= ((power - 1) / power) * cosine * cosine;
    sum += term;
  }
  const inside = odd ? (2 / Math.PI) * (angle + Math.sin(angle) * sum) : Math.sin(angle) * sum;
  return (1 - inside) / 2;
}

import { log, wholePart } from './exact.ts';
import { hashModulo } from './hash.ts';
import type { Random } from './random.ts';
import { Zipfian } from './zipfian.ts';

/** Returns the next number. Each generator equals YCSB's generator of that name, draw for draw. */
export type Generator = () => number;

export function constant(value: number): Generator {
  return () => value;
}

/** From `low` to `high`, both included. */
export function uniform(random: Random, low: number, high: number): Generator {
  const interval = high - low + 1;
  return () => random.below(interval) + low;
}

/** From `low` to `high`, both included; lower numbers are more likely. */
export function zipfian(random: Random, low: number, high: number): Generator {
  const generator = new Zipfian(random, high - low + 1);
  return () => low + generator.next();
}

const SCRAMBLED_ITEMS = 10_000_000_000;
const SCRAMBLED_ZETA = 26.46902820178302;

/** The popularity of 10^10 items, distributed by hash over `low` to `high`, so that many of those are popular. */
export function scrambledZipfian(random: Random, low: number, high: number): Generator {
  const generator = new Zipfian(random, SCRAMBLED_ITEMS + 1, SCRAMBLED_ZETA);
  const items = high - low + 1;
  return () => low + hashModulo(generator.next(), items);
}

/** Zipfian, counted back from the newest item, which `last` returns. */
export function skewedLatest(random: Random, last: () => number): Generator {
  const generator = new Zipfian(random, last());
  return () => {
    const newest = last();
    return newest - generator.next(newest);
  };
}

/**
 * Uniform in each of two parts: the first `dataFraction` of `low` to `high` gets `operationFraction` of the
 * draws.
 */
export function hotspot(
  random: Random,
  low: number,
  high: number,
  dataFraction: number,
  operationFraction: number,
): Generator {
  const hot = Math.trunc((high - low + 1) * dataFraction);
  const cold = high - low + 1 - hot;
  return () =>
    random.double() < operationFraction ? low + random.below(hot) : low + hot + random.below(cold);
}

/** How far back from the newest item, exponentially: `percentile` % of the draws are within `range`. */
export function exponential(random: Random, percentile: number, range: number): Generator {
  const gamma = -log(1 - percentile / 100) / range;
  return () => {
    const draw = random.double();
    // YCSB's infinity, which becomes the largest int.
    if (draw === 0) return 0x7fff_ffff;
    return wholePart(-Math.log(draw) / gamma, () => -log(draw) / gamma);
  };
}

/** From `low` to `high`, again and again. */
export function sequential(low: number, high: number, first = 0, step = 1): Generator {
  const interval = high - low + 1;
  let counter = first;
  return () => {
    const value = low + (counter % interval);
    counter += step;
    return value;
  };
}

/** Lengths as counted in blocks: `buckets[i]` of them have up to `i + 1` blocks of `blockSize`. */
export interface Histogram {
  readonly blockSize: number;
  readonly buckets: readonly number[];
}

export function histogram(random: Random, { blockSize, buckets }: Histogram): Generator {
  const area = buckets.reduce((sum, count) => sum + count, 0);
  return () => {
    let number = random.below(area);
    let index = 0;
    for (; index < buckets.length - 1; index += 1) {
      number -= buckets[index]!;
      if (number <= 0) return (index + 1) * blockSize;
    }
    return index * blockSize;
  };
}

/** One of several, by weight. */
export function discrete<T>(
  random: Random,
  weighted: readonly (readonly [weight: number, value: T])[],
): () => T {
  const sum = weighted.reduce((total, [weight]) => total + weight, 0);
  return () => {
    let draw = random.double();
    for (const [weight, value] of weighted) {
      const part = weight / sum;
      if (draw < part) return value;
      draw -= part;
    }
    // Rounding may leave a last sliver.
    return weighted.at(-1)![1];
  };
}

/** A reading of a series. Time in milliseconds. */
export interface Sample {
  readonly time: number;
  readonly value: number;
}

/** What the server answers for a tile: buckets aligned to the epoch, those without readings left out. */
export function bucketsOf(samples: readonly Sample[], from: number, to: number, length: number) {
  const buckets = new Map<number, { time: number; count: number; min: number; max: number; sum: number }>();
  for (const { time, value } of samples) {
    if (time < from || time >= to) continue;
    const start = time - (time % length);
    const bucket = buckets.get(start) ?? { time: start, count: 0, min: value, max: value, sum: 0 };
    bucket.count += 1;
    bucket.min = Math.min(bucket.min, value);
    bucket.max = Math.max(bucket.max, value);
    bucket.sum += value;
    buckets.set(start, bucket);
  }
  return [...buckets.values()].sort((a, b) => a.time - b.time);
}

/** The answer for a series, in the form of `Promise.allSettled`. */
export function answer(value: object) {
  return { status: 'fulfilled', value };
}

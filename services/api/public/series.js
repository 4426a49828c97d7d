// One metric over the time shown, in buckets: history from the server, and live readings that are added to it.

/** Ranges of time, each with a bucket length that gives about 240 to 360 points. Seconds. */
export const RANGES = [
  { label: '5 min', words: '5 minutes', seconds: 300, bucket: 1 },
  { label: '1 h', words: 'hour', seconds: 3600, bucket: 15 },
  { label: '6 h', words: '6 hours', seconds: 21_600, bucket: 60 },
  { label: '24 h', words: '24 hours', seconds: 86_400, bucket: 300 },
  { label: '7 d', words: '7 days', seconds: 604_800, bucket: 1800 },
];

export class Series {
  #range;
  /** Start of bucket in seconds -> {count, min, max, sum}. */
  #buckets = new Map();

  constructor(range) {
    this.#range = range;
  }

  /** The number of buckets. */
  get size() {
    return this.#buckets.size;
  }

  /** The number of readings. */
  get count() {
    return [...this.#buckets.values()].reduce((sum, { count }) => sum + count, 0);
  }

  /** Replaces all buckets with those of the server, whose times are milliseconds. */
  replace(buckets) {
    this.#buckets.clear();
    for (const { time, count, min, max, sum } of buckets) {
      this.#buckets.set(time / 1000, { count, min, max, sum });
    }
  }

  /** Adds a reading; `time` in seconds. */
  add(time, value) {
    const start = Math.floor(time / this.#range.bucket) * this.#range.bucket;
    const bucket = this.#buckets.get(start);
    if (bucket === undefined) {
      this.#buckets.set(start, { count: 1, min: value, max: value, sum: value });
    } else {
      bucket.count += 1;
      bucket.min = Math.min(bucket.min, value);
      bucket.max = Math.max(bucket.max, value);
      bucket.sum += value;
    }
  }

  /** Columns for the chart up to `now` (seconds): times, means, minima, maxima; null where the line breaks. */
  columns(now) {
    const from = now - this.#range.seconds - this.#range.bucket;
    for (const start of this.#buckets.keys()) if (start < from) this.#buckets.delete(start);
    const starts = [...this.#buckets.keys()].sort((a, b) => a - b);
    const tooFar = breakLength(starts, this.#range.bucket);
    const columns = [[], [], [], []];
    for (const [index, start] of starts.entries()) {
      if (index > 0 && start - starts[index - 1] > tooFar)
        push(columns, starts[index - 1] + 1, null, null, null);
      const { count, min, max, sum } = this.#buckets.get(start);
      push(columns, start, sum / count, min, max);
    }
    return columns;
  }
}

function push(columns, ...row) {
  for (const [index, column] of columns.entries()) column.push(row[index]);
}

/** The line breaks at pauses above this: four times the usual pause between ascending starts, at least a bucket. */
export function breakLength(starts, bucket) {
  return 4 * Math.max(bucket, usualPause(starts) ?? 0);
}

/** The usual pause between ascending times, the 90th percentile; null with fewer than two times. */
export function usualPause(times) {
  const steps = times.slice(1).map((time, index) => time - times[index]);
  steps.sort((a, b) => a - b);
  return steps[Math.floor(steps.length * 0.9)] ?? null;
}

// From buckets to what is drawn: the extremes of each pixel column, the line through the means, and the value at a time.
// Buckets are `{time, end, min, max, mean}` in milliseconds, by time, and do not overlap. Pure functions.

import { breakLength } from './series.js';

/**
 * The smallest and the largest value of each of `width` columns of [from, to). A bucket is in every column that it
 * overlaps, so a column has the extremes of all readings in its time. NaN: no bucket.
 */
export function columnsOf(buckets, from, to, width) {
  const low = new Float64Array(width).fill(Number.NaN);
  const high = new Float64Array(width).fill(Number.NaN);
  const pixel = (to - from) / width;
  for (const { time, end, min, max } of buckets) {
    const first = Math.max(0, Math.floor((time - from) / pixel));
    const last = Math.min(width - 1, Math.ceil((end - from) / pixel) - 1);
    for (let column = first; column <= last; column += 1) {
      // Comparisons with NaN are false.
      low[column] = low[column] <= min ? low[column] : min;
      high[column] = high[column] >= max ? high[column] : max;
    }
  }
  return { low, high };
}

/** The extremes of all columns, `[low, high]`; null without values. */
export function extentOf({ low, high }) {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const [column, value] of low.entries()) {
    if (Number.isNaN(value)) continue;
    least = Math.min(least, value);
    most = Math.max(most, high[column]);
  }
  return least > most ? null : [least, most];
}

/** The time without readings at which the line breaks, by the usual interval of the series. Milliseconds. */
export function gapOf(buckets) {
  const longest = buckets.reduce((most, { time, end }) => Math.max(most, end - time), 0);
  return breakLength(
    buckets.map(({ time }) => time),
    longest,
  );
}

/** The line through the means, in parts without a gap: lists of `[time, mean]`. */
export function partsOf(buckets, gap) {
  const parts = [];
  let before = null;
  for (const bucket of buckets) {
    if (bucket.mean === null) continue;
    if (before === null || bucket.time - before.time > gap) parts.push([]);
    parts.at(-1).push([middleOf(bucket), bucket.mean]);
    before = bucket;
  }
  return parts;
}

/** The bucket nearest to a time; null when it is further away than half of a gap. */
export function bucketAt(buckets, time, gap) {
  let [least, most] = [0, buckets.length];
  while (least < most) {
    const middle = (least + most) >> 1;
    if (buckets[middle].end <= time) least = middle + 1;
    else most = middle;
  }
  // At a border it is the later one.
  const near = [buckets[least], buckets[least - 1]].filter((bucket) => bucket !== undefined);
  const distance = (bucket) => Math.max(bucket.time - time, time - bucket.end, 0);
  const [nearest] = near.sort((a, b) => distance(a) - distance(b));
  return nearest === undefined || distance(nearest) > gap / 2 ? null : nearest;
}

function middleOf({ time, end }) {
  return (time + end) / 2;
}

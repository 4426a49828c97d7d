// Requests for figures of a series, which is its key: `<device>/<metric>`. Times and lengths are milliseconds.

import { get } from './api.js';

const PATH = 'v1/readings/aggregate';
const START = '1970-01-01T00:00:00Z';
/** One bucket of this length contains every time. */
const WHOLE = '200000d';

/**
 * Buckets in [from, to): `{buckets: [{time, count, min, max, sum}], completeFrom, unit}`. The readings before
 * `completeFrom` were deleted; it is null when none were needed.
 */
export async function readBuckets(series, from, to, bucket, signal) {
  // Lengths have at most nine digits.
  const length = bucket % 1000 === 0 ? `${bucket / 1000}s` : `${bucket}ms`;
  const query = { ...namesOf(series), ...timesOf(from, to), bucket: length, fn: 'min,max,sum' };
  const { buckets, unit, incompleteBefore } = await get(PATH, query, signal);
  return {
    buckets: buckets.map(({ time, ...figures }) => ({ time: Date.parse(time), ...figures })),
    completeFrom: timeOf(incompleteBefore),
    unit,
  };
}

/** The exact figures in [from, to): `{figures, completeFrom}`. `figures` is `{min, max, mean, last}`, or null. */
export async function readFigures(series, from, to, signal) {
  const query = { ...namesOf(series), ...timesOf(from, to), bucket: WHOLE, fn: 'min,max,mean,last' };
  const { buckets, incompleteBefore } = await get(PATH, query, signal);
  return { figures: buckets[0] ?? null, completeFrom: timeOf(incompleteBefore) };
}

/** The time of the first reading before `now`, or null. */
export async function readFirst(series, now) {
  const query = { ...namesOf(series), from: START, to: textOf(now), bucket: WHOLE, fn: 'first' };
  const { buckets } = await get(PATH, query);
  return timeOf(buckets[0]?.firstTime ?? null);
}

function namesOf(series) {
  const slash = series.lastIndexOf('/');
  return { device: series.slice(0, slash), metric: series.slice(slash + 1) };
}

function timesOf(from, to) {
  return { from: textOf(from), to: textOf(to) };
}

function textOf(time) {
  return new Date(time).toISOString();
}

function timeOf(text) {
  return text === null ? null : Date.parse(text);
}

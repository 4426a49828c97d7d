// Requests for figures of series, several in one. A series is its key, `<device>/<metric>`. Times and lengths are
// milliseconds.

import { get, isRefused } from './api.js';
import { keyOf } from './history-lines.js';

/** Marked readings are looked for when there are at most so many readings. */
export const MOST_SEARCHED = 20_000;
const PATH = 'v1/readings/series';
const START = '1970-01-01T00:00:00Z';
/** One bucket of this length contains every time. */
const WHOLE = '200000d';

/**
 * Buckets of series in [from, to), in the form of `Promise.allSettled`; null as `to` is now. A value is `{buckets: [{time,
 * count, min, max, sum}], completeFrom, unit}`. The readings before `completeFrom` were deleted; it is null when none were
 * needed.
 */
export function readBuckets(keys, from, to, bucket, signal = undefined) {
  // Lengths have at most nine digits.
  const length = bucket % 1000 === 0 ? `${bucket / 1000}s` : `${bucket}ms`;
  return readEach(keys, { ...timesOf(from, to), bucket: length, fn: 'min,max,sum' }, signal);
}

/** The exact figures of series in [from, to), as `readBuckets`: `{buckets: [{count, min, max, mean, last}], completeFrom}`. */
export function readFigures(keys, from, to, signal) {
  return readEach(keys, { ...timesOf(from, to), bucket: WHOLE, fn: 'min,max,mean,last' }, signal);
}

/** The times of the first readings of series before `now`, null for a series without readings. @throws {RequestError} */
export async function readFirst(keys, now) {
  const query = { from: START, to: textOf(now), bucket: WHOLE, fn: 'first' };
  const found = await readTogether(keys, query);
  return found.map(({ buckets: [whole] }) => (whole === undefined ? null : Date.parse(whole.firstTime)));
}

/**
 * The readings of series in [from, to) that were marked as wrong: key -> `[{time, value}]`. The server reads all readings to
 * find them.
 *
 * @throws {RequestError}
 */
export async function readWrong(keys, from, to, signal = undefined) {
  const query = { device: keys.map(deviceIn), metric: keys.map(metricIn), ...timesOf(from, to) };
  const { readings } = await get('v1/readings/wrong', query, signal);
  const found = Map.groupBy(readings, keyOf);
  return new Map(
    [...found].map(([key, list]) => [
      key,
      list.map(({ time, value }) => ({ time: Date.parse(time), value })),
    ]),
  );
}

/** A series that the server refuses, such as one that a limited key may not read, does not hide the others. */
async function readEach(keys, query, signal) {
  try {
    const values = await readTogether(keys, query, signal);
    return values.map((value) => ({ status: 'fulfilled', value }));
  } catch (reason) {
    if (keys.length === 1 || !isRefused(reason)) return keys.map(() => ({ status: 'rejected', reason }));
    const alone = keys.map((key) => readTogether([key], query, signal).then(([value]) => value));
    return Promise.allSettled(alone);
  }
}

async function readTogether(keys, query, signal = undefined) {
  const [device, metric] = [keys.map(deviceIn), keys.map(metricIn)];
  const { series } = await get(PATH, { device, metric, ...query }, signal);
  return series.map(({ buckets, unit, incompleteBefore }) => ({
    buckets: buckets.map(({ time, ...figures }) => ({ time: Date.parse(time), ...figures })),
    completeFrom: incompleteBefore === null ? null : Date.parse(incompleteBefore),
    unit,
  }));
}

function deviceIn(key) {
  return key.slice(0, key.lastIndexOf('/'));
}

function metricIn(key) {
  return key.slice(key.lastIndexOf('/') + 1);
}

function timesOf(from, to) {
  return { from: textOf(from), to: to === null ? undefined : textOf(to) };
}

function textOf(time) {
  return new Date(time).toISOString();
}

// Which lines a view has, their axes, and their figures as CSV. Pure functions.

import { byInterest, isHousekeeping, symbol } from './format.js';
import { EARLIER } from './view-state.js';
import { shifted } from './zoned-time.js';

/** Most lines, without those of an earlier period. */
const MOST_LINES = 20;
/** Number of colours in the style sheet. Further lines have the same ones with dashes. */
export const COLOURS = 8;
/** Metrics of a sensor whose history is opened. */
const METRICS_OPENED = 4;
const CSV_COLUMNS = ['device', 'metric', 'unit', 'period', 'from', 'to', 'count', 'min', 'mean', 'max'];

/** The key of a series, also that of its tiles. */
export function keyOf({ device, metric }) {
  return `${device}/${metric}`;
}

/** The metrics of a sensor that are numbers, the most interesting first, as series. */
export function seriesOf({ name, metrics }) {
  const numeric = [...metrics].filter(([, { value }]) => typeof value === 'number').map(([metric]) => metric);
  const measured = numeric.filter((metric) => !isHousekeeping(metric));
  return (measured.length > 0 ? measured : numeric)
    .sort(byInterest)
    .slice(0, METRICS_OPENED)
    .map((metric) => ({ device: name, metric }));
}

/**
 * The series of a view, and those of all sensors of its sites: `{series, left}`. `left` is the number of series beyond
 * the limit.
 *
 * @param all the sensors that are known, in the order of their lines
 */
export function linesOf(view, all) {
  const found = new Map(view.series.map((each) => [keyOf(each), each]));
  for (const { site, metric } of view.groups) {
    const members = all.filter((sensor) => sensor.site === site && isNumber(sensor, metric));
    for (const { name } of members) found.set(keyOf({ device: name, metric }), { device: name, metric });
  }
  const series = [...found.values()];
  return { series: series.slice(0, MOST_LINES), left: Math.max(0, series.length - MOST_LINES) };
}

/**
 * By how much a line is earlier than the time shown, which begins at `from`. At its begin, both have the same time of day.
 */
export function offsetOf({ earlier }, from, zone) {
  return earlier === null ? 0 : from - shifted(from, zone, EARLIER[earlier]);
}

/** Lines with one unit share an axis. Without a unit, those of one metric do, and of metrics that only differ in numbers. */
export function axisOf(metric, unit) {
  const sign = symbol(unit);
  return sign === '' ? `metric ${metric.replaceAll(/\d+/g, '0')}` : `unit ${sign}`;
}

/**
 * The buckets of lines as CSV (RFC 4180), each with its begin and end in UTC.
 *
 * @param lines `{device, metric, unit, earlier, buckets}`. `earlier` is a key of EARLIER, or null
 */
export function csvOf(lines) {
  const rows = lines.flatMap(({ device, metric, unit, earlier, buckets }) =>
    buckets.map(({ time, end, count, min, mean, max }) => [
      device,
      metric,
      quoted(unit),
      earlier === null ? '' : EARLIER[earlier].label,
      new Date(time).toISOString(),
      new Date(end).toISOString(),
      count,
      min,
      mean ?? '',
      max,
    ]),
  );
  return [CSV_COLUMNS, ...rows].map((row) => `${row.join(',')}\r\n`).join('');
}

function isNumber({ metrics }, metric) {
  return typeof metrics.get(metric)?.value === 'number';
}

/** Names of devices and metrics have no characters with a meaning in CSV. Units can. */
function quoted(text) {
  return text === undefined ? '' : `"${text.replaceAll('"', '""')}"`;
}

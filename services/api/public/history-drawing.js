// What the chart of the history view draws of a line, from the tiles that are there.

import { columnsOf, extentOf, gapOf, partsOf } from './columns.js';
import { axisOf, offsetOf } from './history-lines.js';

/** What is drawn beyond both edges, so that lines do not end inside, and read for a small move: a share of the time shown. */
const MARGIN = 0.25;

/**
 * A line with what is drawn of it, and with the times of its tiles: `part` is shown, and `beside` beyond the edges. `offset`
 * was added to the times of its buckets.
 *
 * @param view `{span, zone, level, pixels}`: the time shown, the level of the tiles, and the width of the chart
 */
export function drawnLine(line, tiles, { span, zone, level, pixels }) {
  const offset = offsetOf(line, span.from, zone);
  const margin = MARGIN * (span.to - span.from);
  const at = (time) => Math.max(0, Math.round(time - offset));
  const [from, to] = [at(span.from), at(span.to)];
  const [least, most] = [at(span.from - margin), at(span.to + margin)];
  const { key: series } = line;
  const known = tiles.cover(series, least, most, level);
  const buckets = offset === 0 ? known : known.map((bucket) => later(bucket, offset));
  const gap = gapOf(buckets);
  const columns = columnsOf(buckets, span.from, span.to, pixels);
  return {
    ...line,
    part: { series, from, to },
    beside: [
      { series, from: least, to: from },
      { series, from: to, to: most },
    ],
    offset,
    buckets,
    gap,
    columns,
    axis: axisOf(line.metric, line.unit),
    parts: partsOf(buckets, gap),
    extent: extentOf(columns),
    isEarlier: line.earlier !== null,
  };
}

/** The axes of lines, `{key, unit}`, in the order of their first lines. */
export function axesOf(lines) {
  const found = new Map(lines.map(({ metric, unit }) => [axisOf(metric, unit), unit]));
  return [...found].map(([key, unit]) => ({ key, unit }));
}

/** The same bucket at a later time. */
export function later(bucket, offset) {
  return { ...bucket, time: bucket.time + offset, end: bucket.end + offset };
}

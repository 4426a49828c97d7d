// The cursor of the history view, which reads all lines at once, and the part that a drag selects. `shown` is what the
// chart shows: `{lines, span, zone}`.

import { bucketAt } from './columns.js';
import { $, setText } from './dom.js';
import { nameOf, paintCursor, valueText } from './history-table.js';
import { momentIn } from './zoned-time.js';

/** Steps of the cursor in the time shown, with the keyboard. */
const STEPS = 100;

/** The time at the cursor, or null. */
let cursor = null;

/** Where the cursor is in a time, from 0 to 1; null without a cursor in it. */
export function cursorShare({ from, to }) {
  return cursor === null || cursor < from || cursor > to ? null : (cursor - from) / (to - from);
}

/** Puts the cursor at a share of the time shown; null removes it. */
export function placeCursor(shown, share) {
  const { from, to } = shown.span;
  cursor = share === null ? null : Math.round(from + share * (to - from));
  paintCursors(shown);
}

/** Moves the cursor by the keyboard, and gives the values to a screen reader. */
export function stepCursor(shown, step) {
  const share = cursorShare(shown.span);
  placeCursor(shown, share === null ? 0.5 : Math.min(1, Math.max(0, share + step / STEPS)));
  const values = shown.lines.flatMap((line) => {
    const bucket = bucketAt(line.buckets, cursor, line.gap);
    return bucket === null ? [] : [`${nameOf(line)}: ${valueText(bucket, line.unit)}`];
  });
  setText($('history-read'), `${momentIn(cursor, shown.zone)}. ${values.join('. ')}`);
}

/** Draws the cursor, and shows the values at it. */
export function paintCursors({ lines, span, zone }) {
  const share = cursorShare(span);
  $('history-cursor').hidden = share === null;
  if (share !== null) $('history-cursor').style.left = `${100 * share}%`;
  setText($('history-at'), share === null ? '' : `At ${momentIn(cursor, zone)}`);
  for (const line of lines)
    paintCursor(line, share === null ? null : bucketAt(line.buckets, cursor, line.gap));
}

/** Marks the part between two shares; null and null mark none. */
export function paintSelection(start, end) {
  const selection = $('history-selection');
  selection.hidden = start === null;
  if (start === null) return;
  selection.style.left = `${100 * Math.min(start, end)}%`;
  selection.style.width = `${100 * Math.abs(end - start)}%`;
}

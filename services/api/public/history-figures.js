// Reads the exact figures of the lines of the history view, and shows them in its table.

import { complain } from './banner.js';
import { $, setText } from './dom.js';
import { offsetOf } from './history-lines.js';
import { readFigures } from './history-reads.js';
import { paintFigures } from './history-table.js';
import { explain } from './model.js';
import { momentIn } from './zoned-time.js';

/** Figures until now, and those that could not be read, are read again after this or later. Milliseconds. */
const AGAIN_MS = 5000;
const MOST_AGAIN_MS = 60_000;

let reading = new AbortController();
let readAt = 0;
let hasFailed = false;

/**
 * Reads the figures of lines in a time, and aborts the requests for those of another one. Resolves to the number of
 * readings, or to null when it was aborted.
 */
export async function refreshFigures(lines, span, zone) {
  reading.abort();
  reading = new AbortController();
  const { signal } = reading;
  readAt = performance.now();
  let failure = null;
  let completeFrom = 0;
  const found = new Map();
  for (const line of lines) paintFigures(line, undefined);
  const periods = Map.groupBy(lines, (line) => offsetOf(line, span.from, zone));
  await Promise.all(
    [...periods].map(async ([offset, members]) => {
      const [from, to] = [Math.max(0, span.from - offset), span.to - offset];
      if (to <= from) return;
      const keys = members.map(({ key }) => key);
      for (const [index, { value, reason }] of (await readFigures(keys, from, to, signal)).entries()) {
        if (reason !== undefined) failure = explain(reason);
        completeFrom = Math.max(completeFrom, value?.completeFrom ?? 0);
        found.set(members[index].id, { unit: value?.unit, figures: value?.buckets[0] ?? null });
      }
    }),
  );
  if (signal.aborted) return null;
  for (const line of lines) {
    // The unit of the list can be older: this answer can be the first one that has it.
    const { unit = line.unit, figures = null } = found.get(line.id) ?? {};
    paintFigures({ id: line.id, unit }, figures);
  }
  hasFailed = failure !== null;
  complain('history-figures', failure);
  const before = momentIn(completeFrom, zone);
  const note = `Readings before ${before} were deleted, so figures can be incomplete.`;
  setText($('history-note'), completeFrom === 0 ? '' : note);
  return [...found.values()].reduce((sum, { figures }) => sum + (figures?.count ?? 0), 0);
}

/** Aborts the requests, because other lines or another view are shown. */
export function abortFigures() {
  reading.abort();
  complain('history-figures', null);
}

/** Whether to read the figures again: those of a time that is over do not change, and those of a long time slowly. */
export function areFiguresDue({ from, to }, isUntilNow) {
  const slow = isUntilNow ? Math.min(MOST_AGAIN_MS, (to - from) / 10_000) : Number.POSITIVE_INFINITY;
  return performance.now() - readAt >= (hasFailed ? AGAIN_MS : Math.max(AGAIN_MS, slow));
}

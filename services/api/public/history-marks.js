// What is marked in the history view: annotations as flags above the chart, and readings that were marked as wrong.

import { $, element } from './dom.js';
import { offsetOf } from './history-lines.js';
import { MOST_SEARCHED, readWrong } from './history-reads.js';

/** The marked readings of lines: id of a line -> `[{time, value}]` at their own times. */
let wrong = new Map();
let reading = new AbortController();
/** The annotations that have flags, as a text. */
let flagged = '';

/**
 * Reads the readings that were marked as wrong, unless there are too many readings to look for them.
 *
 * @param count the number of readings of the lines
 * @throws {RequestError}
 */
export async function refreshWrong(lines, span, zone, count) {
  reading.abort();
  reading = new AbortController();
  const { signal } = reading;
  const found = new Map();
  const periods = Map.groupBy(count > MOST_SEARCHED ? [] : lines, (line) => offsetOf(line, span.from, zone));
  const reads = [...periods].map(async ([offset, members]) => {
    const [from, to] = [Math.max(0, span.from - offset), span.to - offset];
    if (to <= from) return;
    const keys = members.map(({ key }) => key);
    const lists = await readWrong(keys, from, to, signal);
    for (const { id, key } of members) found.set(id, lists.get(key) ?? []);
  });
  try {
    await Promise.all(reads);
    if (!signal.aborted) wrong = found;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** A drawn line with its marked readings. */
export function withWrong(line) {
  const readings = wrong.get(line.id) ?? [];
  return { ...line, wrong: readings.map(({ time, value }) => ({ time: time + line.offset, value })) };
}

/** Puts a flag at each annotation in the time shown. `focus(id)` is called for a click: the list below has all details. */
export function paintFlags(notes, { from, to }, focus) {
  const shown = notes.filter((note) => note.from < to && (note.to ?? note.from + 1) > from);
  const key = JSON.stringify(shown.map(({ id, text }) => [id, text]));
  if (key !== flagged) {
    flagged = key;
    $('history-flags').replaceChildren(...shown.map((note) => flagOf(note, focus)));
  }
  for (const [index, flag] of [...$('history-flags').children].entries())
    flag.style.left = `${(100 * (Math.max(from, shown[index].from) - from)) / (to - from)}%`;
}

/** Not for the keyboard and screen readers, which have the list. */
function flagOf({ id, text }, focus) {
  const attributes = { type: 'button', tabindex: '-1', 'aria-hidden': 'true', title: text };
  const flag = element('button', attributes, '⚑');
  flag.addEventListener('click', () => focus(id));
  return flag;
}

// The table under the chart of the history view: each line with its value at the cursor and its figures.

import { $, element, setText } from './dom.js';
import { measure, quantity } from './format.js';
import { COLOURS } from './history-lines.js';
import { nameText } from './names.js';
import { hrefOf } from './sensor-list.js';
import { EARLIER } from './view-state.js';

const FIGURES = ['min', 'mean', 'max', 'last'];
/** Figures that are the value of a reading which can be shown. */
const EXTREMES = new Set(['min', 'max']);

/** Id of a line -> its cells. */
const cells = new Map();

/** The name of a line in one phrase. */
export function nameOf({ device, metric, earlier }) {
  const name = `${nameText(metric)} of ${nameText(device)}`;
  return earlier === null ? name : `${name}, ${EARLIER[earlier].label}`;
}

/** Replaces the rows. Calls `on.remove(line)`, and `on.inspect(line, figure)` for `min` and `max`. */
export function listLines(lines, on) {
  cells.clear();
  $('history-rows').replaceChildren(...lines.map((line) => rowOf(line, on)));
  $('history-table').hidden = lines.length === 0;
}

/** @param figures `{min, mean, max, last}`, null when there are no readings, undefined while they are being read */
export function paintFigures({ id, unit }, figures) {
  const row = cells.get(id);
  row.row.setAttribute('aria-busy', String(figures === undefined));
  // The figures of the last view stay until those of this one are there.
  if (figures === undefined) return;
  for (const figure of FIGURES) {
    const value = figures?.[figure];
    setText(row[figure], typeof value === 'number' ? quantity(value, unit) : '–');
    if (EXTREMES.has(figure)) row[figure].disabled = typeof value !== 'number';
  }
}

/** @param bucket `{min, mean, max}` at the cursor, or null */
export function paintCursor({ id, unit }, bucket) {
  const { at, range } = cells.get(id);
  setText(at, bucket === null ? '–' : valueText(bucket, unit));
  setText(range, bucket === null || bucket.min === bucket.max ? '' : rangeText(bucket));
}

/** The value at the cursor in words. */
export function valueText({ mean, max }, unit) {
  return quantity(mean ?? max, unit);
}

function rangeText({ min, max }) {
  return `${measure(min)} – ${measure(max)}`;
}

function rowOf(line, on) {
  const { id, device, metric, earlier, colour } = line;
  const [number, dashes] = [colour % COLOURS, Math.floor(colour / COLOURS)];
  const swatch = element('i', { 'data-colour': number, 'data-dashes': dashes, 'aria-hidden': 'true' });
  if (earlier !== null) swatch.setAttribute('data-earlier', '');
  // A long name breaks after a slash, not within a word.
  const parted = nameText(device)
    .split(/(?<=\/)/)
    .flatMap((part) => [element('wbr'), part]);
  const link = element('a', { href: hrefOf(device), title: device }, ...parted);
  const what = earlier === null ? nameText(metric) : `${nameText(metric)}, ${EARLIER[earlier].label}`;
  const name = element('th', { scope: 'row' }, swatch, link, ' ', element('span', { title: metric }, what));
  const row = { at: element('span'), range: element('small') };
  const figures = FIGURES.map((figure) => {
    if (!EXTREMES.has(figure)) {
      row[figure] = element('td', { class: figure }, '–');
      return row[figure];
    }
    row[figure] = element('button', { type: 'button', title: 'Show the reading', disabled: '' }, '–');
    row[figure].addEventListener('click', () => on.inspect(line, figure));
    return element('td', { class: figure }, row[figure]);
  });
  const last = element('td', { class: 'remove' });
  if (earlier === null) {
    const label = `Remove ${nameOf(line)}`;
    const button = element('button', { type: 'button', 'aria-label': label }, '×');
    button.addEventListener('click', () => on.remove(line));
    last.append(button);
  }
  const at = element('td', { class: 'at' }, row.at, ' ', row.range);
  row.row = element('tr', { 'aria-busy': 'true' }, name, at, ...figures, last);
  cells.set(id, row);
  return row.row;
}

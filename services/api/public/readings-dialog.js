// The dialog with the readings of a time, which marks readings as wrong and restores them. The page loads this module
// when the dialog is opened for the first time.

import { get, send } from './api.js';
import { attempt, labelled, openDialog, selectField, statusLine, workButton } from './dialog.js';
import { element, setText } from './dom.js';
import { count, quantity } from './format.js';
import { readBuckets } from './history-reads.js';
import { readLatest } from './model.js';
import { nameText } from './names.js';
import { LEVELS, levelOf } from './tiles.js';
import { offerUndo } from './undo.js';
import { wrongNumber } from './wrong-value.js';
import { momentIn, spanIn } from './zoned-time.js';

const PATH = 'v1/readings/wrong';
const ROWS = 50;
/** Buckets in which a reading is searched at once, and a length that is short enough, milliseconds. */
const SEARCHED = 1000;
const SHORT_MS = 1000;
/** A change of more marked readings than these cannot be undone at once. */
const MOST_UNDONE = 100;

/**
 * Shows the readings in [from, to), the newest first.
 *
 * @param lines `{device, metric, unit}`, of which the visitor chooses one
 * @param changed called with `device`, `metric`, `from` and `to` after readings were marked or restored
 */
export async function openReadings(lines, { from, to }, zone, changed) {
  const line = selectField(
    lines.map(({ device, metric }, index) => [index, `${nameText(metric)} of ${nameText(device)}`]),
  );
  const rows = element('tbody');
  const said = statusLine();
  const [above, below] = [limitField(), limitField()];
  const limits = () => ({ above: limitOf(above), below: limitOf(below) });
  const more = workButton('Show more', said, () => readMore(view));
  more.hidden = true;
  const mark = workButton('Mark as wrong', said, async () => changeAll(view, 'POST', limits()));
  const restore = workButton('Restore', said, () => changeAll(view, 'DELETE', {}));
  const view = { from, to, zone, changed, rows, more, said, cursor: undefined, series: lines[0] };
  const heading = ['Time', 'Value'].map((name) => element('th', { scope: 'col' }, name));
  const content = element(
    'div',
    { class: 'readings' },
    element('p', {}, `${spanIn(from, to, zone)} (${zone})`),
    labelled('Line', line),
    element(
      'section',
      { class: 'scrolled', tabindex: '0', 'aria-label': 'Readings, the newest first' },
      element('table', {}, element('thead', {}, element('tr', {}, ...heading, element('td'))), rows),
    ),
    element('div', { class: 'tools' }, more),
    element(
      'fieldset',
      { class: 'form marking' },
      element('legend', {}, 'All readings of this time'),
      labelled('Above (optional)', above),
      labelled('Below (optional)', below),
      element('div', { class: 'tools' }, mark, restore),
    ),
  );
  const choose = () => {
    view.series = lines[Number(line.value)];
    return readAgain(view);
  };
  line.addEventListener('change', () => void attempt(said, choose));
  openDialog({ name: 'Readings', title: 'Readings', said }, content);
  await attempt(said, choose);
}

/**
 * The time of the smallest or the largest reading in [from, to), as a short range.
 *
 * @param figure `min` or `max`
 * @returns `{from, to}`, or null without readings
 * @throws {RequestError}
 */
export async function findExtreme(key, { from, to }, figure) {
  for (let range = { from, to }; ; ) {
    const length = LEVELS[levelOf(range.to - range.from, SEARCHED)];
    const [{ value, reason }] = await readBuckets([key], range.from, range.to, length);
    if (reason !== undefined) throw reason;
    if (value.buckets.length === 0) return null;
    const isFurther = (a, b) => (figure === 'max' ? a.max > b.max : a.min < b.min);
    const { time } = value.buckets.reduce((best, each) => (isFurther(each, best) ? each : best));
    range = { from: Math.max(range.from, time), to: Math.min(range.to, time + length) };
    if (length <= SHORT_MS) return range;
  }
}

async function readAgain(view) {
  view.cursor = undefined;
  view.rows.replaceChildren();
  await readMore(view);
}

async function readMore(view) {
  const { series, from, to, cursor, rows } = view;
  const { device, metric } = series;
  const range = { from: textOf(from), to: textOf(to) };
  const { readings, next } = await get('v1/readings', { device, metric, ...range, limit: ROWS, cursor });
  // Another line may be chosen by now.
  if (view.series !== series || view.cursor !== cursor) return;
  view.cursor = next ?? undefined;
  view.more.hidden = next === null;
  rows.append(...readings.map((reading) => rowOf(view, reading)));
  if (rows.children.length === 0)
    rows.append(element('tr', {}, element('td', { colspan: '3' }, 'No readings in this time.')));
}

function rowOf(view, { time, value }) {
  const { unit } = view.series;
  const cell = element('td');
  const button = element('button', { type: 'button', class: 'marking' });
  const when = momentIn(Date.parse(time), view.zone);
  let isWrong = false;
  const show = (current) => {
    const number = wrongNumber(current);
    isWrong = number !== null;
    const text = quantity(number ?? current, unit);
    cell.replaceChildren(isWrong ? element('s', {}, text) : text);
    setText(button, isWrong ? 'Restore' : 'Wrong');
    button.setAttribute(
      'aria-label',
      isWrong ? `Restore ${text}, ${when}` : `Mark ${text} as wrong, ${when}`,
    );
    button.hidden = !isWrong && typeof current !== 'number';
  };
  button.addEventListener('click', () =>
    attempt(view.said, async () => {
      const method = isWrong ? 'DELETE' : 'POST';
      const { device, metric } = view.series;
      await send(method, PATH, { device, metric, from: time });
      const stored = await get('v1/readings', { device, metric, from: time, order: 'asc', limit: 1 });
      if (stored.readings[0]?.time === time) show(stored.readings[0].value);
      tell(view);
    }),
  );
  show(value);
  return element('tr', {}, element('td', {}, when), cell, element('td', {}, button));
}

/** Marks all readings of the time, or restores them. */
async function changeAll(view, method, limits) {
  const { device, metric } = view.series;
  const range = { device, metric, from: textOf(view.from), to: textOf(view.to) };
  const before = await get(PATH, range);
  const changed = await changeRange(method, { ...range, ...limits });
  await readAgain(view);
  tell(view);
  const words = `${count(changed)} ${changed === 1 ? 'reading was' : 'readings were'}`;
  const text = `${words} ${method === 'POST' ? 'marked as wrong' : 'restored'}.`;
  if (changed === 0 || !before.complete || before.readings.length > MOST_UNDONE) {
    setText(view.said, text);
    return;
  }
  offerUndo(view.said, text, async () => {
    if (method === 'POST') await changeRange('DELETE', range);
    // Those that were marked before stay marked.
    for (const { time } of before.readings) await send('POST', PATH, { device, metric, from: time });
    await readAgain(view);
    tell(view);
  });
}

/** Repeats a request until the whole range is done. Resolves to the number of readings that it changed. */
async function changeRange(method, query) {
  let changed = 0;
  for (let { from } = query; from !== null; ) {
    const answer = await send(method, PATH, { ...query, from });
    changed += answer.changed;
    from = answer.next;
  }
  return changed;
}

/** Reports the change to the page, whose latest value can be another one. */
function tell({ series, from, to, changed }) {
  const { device, metric } = series;
  readLatest(device).catch(() => {});
  changed({ device, metric, from, to });
}

function limitField() {
  return element('input', { class: 'field', type: 'number', step: 'any' });
}

/** A text that is no number must not become no limit. */
function limitOf({ value, validity }) {
  if (validity.badInput) throw new Error('A limit is a number.');
  return value === '' ? undefined : Number(value);
}

function textOf(time) {
  return new Date(time).toISOString();
}

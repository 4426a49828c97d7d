// The list of sensors, grouped by site. Rows are created once, when the list is scrolled to them. Only visible rows are
// updated.

import { serverNow } from './api.js';
import { $, element, said, setText, setValue, svg } from './dom.js';
import { firstSteps } from './first-steps.js';
import { age, byInterest, count, quantity } from './format.js';
import {
  contentsOfSensors,
  explain,
  isCut,
  isQuiet,
  labelOf,
  readingState,
  SPARK_POINTS,
  seedSpark,
  sensors,
  sortedSensors,
} from './model.js';
import { nameText } from './names.js';

const SPARK_WIDTH = 72;
const SPARK_HEIGHT = 20;
/** Number of metrics whose values are in a row. The charts show more. */
const METRICS_SHOWN = 3;
/** Rows that are listed at first, and further ones when a row is visible that has at most so many after it. */
const ROWS_AT_ONCE = 60;
const ROWS_AHEAD = 30;
/** Names with more characters have a smaller font, because they take several lines. */
const LONG_NAME = 40;

const rows = new Map();
const visible = new Set();
const dirty = new Set();
const calm = matchMedia('(prefers-reduced-motion: reduce)');
/** The sensors that match the search words, in the order of the list, and how many of them are listed. */
let matching = [];
let rowsListed = 0;
/** Site -> the number of its sensors that match. */
let sizes = new Map();
/** The last site in the list, `{site, items}`, with the element of its sensors. */
let lastGroup = null;
/** Names of the last rows, when there are more sensors. */
const last = new Set();
let listed = '';
let seeding = false;
let current = null;

const watcher = new IntersectionObserver(
  (entries) => {
    let isNearEnd = false;
    for (const { target, isIntersecting } of entries) {
      const { name } = target.dataset;
      if (isIntersecting) visible.add(name);
      else visible.delete(name);
      if (isIntersecting) dirty.add(name);
      isNearEnd ||= isIntersecting && last.has(name);
    }
    if (isNearEnd) listMore(ROWS_AT_ONCE);
  },
  { rootMargin: '100px' },
);

/** The link to a sensor's charts. */
export function hrefOf(name) {
  return `#/sensor/${name.split('/').map(encodeURIComponent).join('/')}`;
}

/** `onChosen` is called when a sensor is clicked, also when it is already selected. */
export function initSensorList(onChosen) {
  $('search').addEventListener('input', () => arrange(ROWS_AT_ONCE));
  $('sensor-list').addEventListener('click', ({ target }) => {
    // Called after the address has changed.
    if (target.closest('.row') !== null) setTimeout(onChosen);
  });
  $('sensor-list').addEventListener('keydown', moveFocus);
  $('search').addEventListener('keydown', moveFocus);
}

/** Marks a sensor for an update, because it has reported. */
export function touch(sensor) {
  dirty.add(sensor.name);
}

/** Marks the sensor whose charts are shown. */
export function select(name) {
  rows.get(current)?.link.removeAttribute('aria-current');
  current = name;
  rows.get(current)?.link.setAttribute('aria-current', 'true');
}

/** Puts the focus on a sensor's row, which scrolls to it. */
export function focusRow(name) {
  rows.get(name)?.link.focus();
}

/** The first sensor in the list, or null. */
export function firstListed() {
  return $('sensor-list').querySelector('.row')?.dataset.name ?? null;
}

/** Updates the list: its order when sensors were added, and the rows of sensors that have reported. */
export function paintList() {
  if (contents() !== listed) {
    const { scrollTop } = $('sensor-list');
    arrange(Math.max(ROWS_AT_ONCE, rowsListed));
    // Setting it computes the layout.
    if (scrollTop > 0) $('sensor-list').scrollTop = scrollTop;
  }
  for (const name of dirty) {
    if (!visible.has(name)) continue;
    dirty.delete(name);
    paintRow(sensors.get(name), rows.get(name));
  }
}

/** Fills the visible sparklines from history, one after the other, to limit the load of the server. */
export async function seedVisible() {
  if (seeding) return;
  seeding = true;
  try {
    for (const name of [...visible]) {
      if (!visible.has(name)) continue;
      await seedSpark(sensors.get(name));
      dirty.add(name);
    }
  } catch {
    // A sparkline without history grows as readings arrive. Other parts of the page show the error.
  }
  seeding = false;
}

/** Updates the ages of visible rows, which change without readings. */
export function paintAges() {
  for (const name of visible) paintAge(sensors.get(name), rows.get(name));
}

/** A text that changes when the list must be built again; it does not include the search words. */
function contents() {
  const { state, error } = readingState();
  return sensors.size > 0 ? contentsOfSensors() : `${state} ${error?.message}`;
}

/** Lists the first `number` sensors that match the search words. */
function arrange(number) {
  listed = contents();
  const words = $('search').value.toLowerCase().split(/\s+/).filter(Boolean);
  matching = sortedSensors().filter((sensor) => isMatch(sensor, words));
  sizes = new Map();
  for (const { site } of matching) sizes.set(site, (sizes.get(site) ?? 0) + 1);
  $('sensor-list').replaceChildren(...(matching.length === 0 ? [emptyState(words)] : []));
  [rowsListed, lastGroup] = [0, null];
  listMore(number);
  const isKnown = sensors.size > 0 || readingState().state === 'ready';
  setText($('sensor-count'), isKnown ? count(sensors.size) : '–');
  $('sensor-note').hidden = !isCut();
  setText($('sensor-note'), `Only the first ${count(sensors.size)} sensors are listed.`);
}

function isMatch({ name, attributes, site, city, kind }, words) {
  if (words.length === 0) return true;
  const text = [name, nameText(name), labelOf({ attributes }), site, city, kind].join(' ').toLowerCase();
  return words.every((word) => text.includes(word));
}

/** Adds the rows of the next sensors. */
function listMore(number) {
  const some = matching.slice(rowsListed, rowsListed + number);
  for (const sensor of some) {
    if (lastGroup?.site !== sensor.site) lastGroup = addGroup(sensor.site);
    lastGroup.items.append(element('li', {}, rowOf(sensor).link));
  }
  rowsListed += some.length;
  last.clear();
  if (rowsListed === matching.length) return;
  for (const { name } of matching.slice(Math.max(0, rowsListed - ROWS_AHEAD), rowsListed)) {
    last.add(name);
    // The watcher reports it again, also if it is visible already.
    const { link } = rows.get(name);
    watcher.unobserve(link);
    watcher.observe(link);
  }
}

/** Adds the heading of a site, and the empty list of its sensors. */
function addGroup(site) {
  const size = sizes.get(site);
  const heading = element(
    'h3',
    { title: site },
    site === '' ? 'No site' : nameText(site),
    ' ',
    element('span', {}, `${count(size)} ${size === 1 ? 'sensor' : 'sensors'}`),
  );
  const items = element('ul');
  $('sensor-list').append(element('section', {}, heading, items));
  return { site, items };
}

function emptyState(words) {
  if (words.length > 0) return element('p', { class: 'empty' }, 'No sensor matches.');
  const { state, error } = readingState();
  if (state === 'loading') return element('p', { class: 'empty' }, 'Reading the list of sensors…');
  if (state === 'failed') return element('p', { class: 'empty' }, explain(error));
  return element('div', { class: 'empty' }, element('p', {}, 'No sensor has reported yet.'), firstSteps());
}

function rowOf(sensor) {
  const known = rows.get(sensor.name);
  if (known !== undefined) {
    nameRow(sensor, known);
    return known;
  }
  const { name } = sensor;
  const named = element('span', { class: 'name' });
  const line = svg('polyline', {});
  const row = {
    link: element('a', { class: 'row', href: hrefOf(name), 'data-name': name, title: name }),
    named,
    age: element('span', { class: 'age', 'aria-hidden': 'true' }),
    heard: element('span', { class: 'hidden' }),
    values: element('span', { class: 'values' }),
    spark: svg('svg', { viewBox: `0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`, 'aria-hidden': 'true' }, line),
    line,
    metrics: 0,
    figures: new Map(),
    seen: sensor.seen,
  };
  row.link.append(named, row.heard, row.age, row.values, row.spark);
  nameRow(sensor, row);
  if (name === current) row.link.setAttribute('aria-current', 'true');
  rows.set(name, row);
  // Painted at once, so that a row has its height from the start.
  paintRow(sensor, row);
  watcher.observe(row.link);
  dirty.add(name);
  return row;
}

/** A name is short below the heading of its site. */
function nameRow(sensor, { named }) {
  const { name, site } = sensor;
  const short = labelOf(sensor) ?? nameText(name.startsWith(`${site}/`) ? name.slice(site.length + 1) : name);
  named.dataset.long = String(short.length > LONG_NAME);
  setText(named, short);
}

function paintRow(sensor, row) {
  if (row.metrics !== sensor.metrics.size) nameMetrics(sensor, row);
  for (const [metric, figure] of row.figures) {
    const { value, unit, isWrong } = sensor.metrics.get(metric);
    setValue(figure, quantity(value, unit), isWrong);
  }
  row.line.setAttribute('points', sparkPoints(sensor.spark));
  paintAge(sensor, row);
  if (sensor.seen > row.seen && !calm.matches) {
    row.spark.animate([{ strokeWidth: 2.6 }, { strokeWidth: 1.4 }], { duration: 900, easing: 'ease-out' });
  }
  row.seen = sensor.seen;
}

function nameMetrics(sensor, row) {
  row.metrics = sensor.metrics.size;
  row.figures.clear();
  row.values.replaceChildren();
  const metrics = [...sensor.metrics.keys()].sort(byInterest);
  for (const metric of metrics.slice(0, METRICS_SHOWN)) {
    const figure = element('b');
    row.figures.set(metric, figure);
    row.values.append(said(', '), element('span', { title: metric }, `${nameText(metric)} `, figure), ' ');
  }
  const more = metrics.length - METRICS_SHOWN;
  if (more > 0) row.values.append(said(', '), element('span', {}, `+${more} more`));
}

function paintAge(sensor, row) {
  const now = serverNow();
  const seconds = (now - sensor.seen) / 1000;
  const heard = sensor.seen === 0 ? 'never' : age(seconds);
  setText(row.age, heard);
  // Complete phrases for a screen reader: "probe-1, heard 5 s ago, temperature 21.5".
  setText(row.heard, `, heard ${/^\d/.test(heard) ? `${heard} ago` : heard}`);
  row.link.dataset.quiet = String(isQuiet(sensor, now));
}

function sparkPoints(values) {
  if (values.length < 2) return '';
  const low = Math.min(...values);
  const span = Math.max(...values) - low;
  const step = SPARK_WIDTH / (SPARK_POINTS - 1);
  const first = SPARK_WIDTH - (values.length - 1) * step;
  return values
    .map((value, index) => {
      const y =
        span === 0 ? SPARK_HEIGHT / 2 : SPARK_HEIGHT - 2 - ((value - low) / span) * (SPARK_HEIGHT - 4);
      return `${(first + index * step).toFixed(1)},${y.toFixed(1)}`;
    })
    .join(' ');
}

/** The up and down arrow keys move the focus through the list and the search box above it. */
function moveFocus(event) {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  const links = [...$('sensor-list').querySelectorAll('.row')];
  const at = links.indexOf(document.activeElement);
  const next = event.key === 'ArrowDown' ? links[at + 1] : (links[at - 1] ?? $('search'));
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}

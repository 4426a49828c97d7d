// Today's figures of the sensors of a site, for one metric. The server computes them from rollups.

import { get, serverNow } from './api.js';
import { $, element, setText, setValue, svg } from './dom.js';
import { age, byInterest, collator, count, isHousekeeping, quantity } from './format.js';
import { explain, isQuiet, labelOf, readingState, sensors, sortedSensors } from './model.js';
import { nameText } from './names.js';
import { hrefOf } from './sensor-list.js';

/** The most sensors in the table. */
const MOST_ROWS = 100;
const REFRESH_MS = 60_000;
/** A day of hourly means is drawn in a box of this size. */
const WIDTH = 96;
const HEIGHT = 24;
const HOUR_MS = 3_600_000;
const ALL = '';

/** Today's figures by sensor, and the selection that they belong to. */
let figures = new Map();
let loaded = '';
let midnight = 0;
let lastAt = 0;
let loading = false;
let offered = '';
let listed = '';
const cells = new Map();

export function initOverview() {
  $('overview-metric').addEventListener('change', paintOverview);
  $('overview-site').addEventListener('change', () => {
    if (selected().members.length === 0) $('overview-metric').value = mostShared($('overview-site').value);
    paintOverview();
  });
}

/** Updates the table: about once a second. Reads figures once a minute, and when another site or metric is chosen. */
export function paintOverview() {
  if (sensors.size === 0) return;
  offer();
  $('overview').hidden = $('overview-metric').value === '';
  if (!$('overview').checkVisibility()) return;
  const selection = selected();
  if (loaded !== selection.key || Date.now() - lastAt > REFRESH_MS) void refresh(selection);
  paintRows(selection);
}

/** Fills the lists of sites and metrics when these have changed, for the first time when all sensors are known. */
function offer() {
  if (offered === '' && readingState().state !== 'ready') return;
  const sites = new Set();
  const metrics = new Set();
  for (const sensor of sensors.values()) {
    sites.add(sensor.site);
    for (const [metric, { value }] of sensor.metrics) if (typeof value === 'number') metrics.add(metric);
  }
  sites.delete('');
  const names = [...sites].sort(collator.compare);
  const words = [...metrics].sort(byInterest);
  const now = JSON.stringify([names, words]);
  if (now === offered) return;
  offered = now;
  const first = sensors.size <= MOST_ROWS ? ALL : (names[0] ?? ALL);
  fill($('overview-site'), [[ALL, 'all'], ...names.map((name) => [name, nameText(name)])], first);
  const pairs = words.map((word) => [word, nameText(word)]);
  fill($('overview-metric'), pairs, mostShared($('overview-site').value));
}

/** The metric with numbers that most sensors of a site have. The state of the sensor's board is last. */
function mostShared(site) {
  const shares = new Map();
  for (const sensor of membersOf(site)) {
    for (const [metric, { value }] of sensor.metrics)
      if (typeof value === 'number') shares.set(metric, (shares.get(metric) ?? 0) + 1);
  }
  const order = ([a, x], [b, y]) => isHousekeeping(a) - isHousekeeping(b) || y - x || byInterest(a, b);
  return [...shares].sort(order)[0]?.[0];
}

function membersOf(site) {
  return sortedSensors().filter((sensor) => site === ALL || sensor.site === site);
}

function fill(select, choices, first) {
  const chosen = select.options.length === 0 ? first : select.value;
  select.replaceChildren(...choices.map(([value, label]) => element('option', { value }, label)));
  select.value = choices.some(([value]) => value === chosen) ? chosen : first;
}

function selected() {
  const [site, metric] = [$('overview-site').value, $('overview-metric').value];
  const members = membersOf(site).filter((sensor) => sensor.metrics.has(metric));
  return { key: JSON.stringify([site, metric]), site, metric, members };
}

async function refresh({ key, site, metric, members }) {
  if (loading) return;
  loading = true;
  try {
    const start = new Date(serverNow());
    start.setHours(0, 0, 0, 0);
    const { groups } = await get('v1/readings/groups', {
      ...{ by: 'device', metric, bucket: '1h', from: start.toISOString(), limit: MOST_ROWS },
      ...whereOf(site, members),
    });
    midnight = start.getTime();
    figures = new Map(groups.map((group) => [group.key, group]));
    setText($('overview-said'), '');
  } catch (error) {
    figures = new Map();
    setText($('overview-said'), explain(error));
  }
  loaded = key;
  lastAt = Date.now();
  loading = false;
  paintOverview();
}

/** A site that is not in the registry is the first part of the names of its sensors. */
function whereOf(site, members) {
  if (site === ALL) return {};
  return members.every(({ name }) => name.startsWith(`${site}/`)) ? { prefix: site } : { site };
}

function paintRows({ key, site, metric, members }) {
  const shown = members.slice(0, MOST_ROWS);
  const names = JSON.stringify([key, shown.map((sensor) => [sensor.name, labelOf(sensor)])]);
  if (names !== listed) {
    listed = names;
    cells.clear();
    $('overview-rows').replaceChildren(...shown.map((sensor) => rowOf(sensor, site)));
  }
  const now = serverNow();
  let [quiet, newest] = [0, 0];
  for (const sensor of members) {
    if (isQuiet(sensor, now)) quiet += 1;
    newest = Math.max(newest, sensor.seen);
  }
  for (const sensor of shown) paintRow(sensor, metric, now);
  const parts = [
    `${count(members.length)} ${members.length === 1 ? 'sensor' : 'sensors'}`,
    quiet === 0 ? 'none quiet' : `${count(quiet)} quiet`,
    ...(newest === 0 ? [] : [`newest ${ageOf(newest, now)}`]),
    ...(members.length > MOST_ROWS ? [`the first ${MOST_ROWS} are listed`] : []),
  ];
  setText($('overview-sum'), parts.join(' · '));
  $('overview-sum').dataset.quiet = String(quiet > 0);
}

/** A name is short if the site is chosen. */
function rowOf(sensor, site) {
  const { name } = sensor;
  const isShort = site !== ALL && name.startsWith(`${site}/`);
  const short = labelOf(sensor) ?? nameText(isShort ? name.slice(site.length + 1) : name);
  // A long name breaks after a slash, not within a word.
  const parted = short.split(/(?<=\/)/).flatMap((part) => [element('wbr'), part]);
  const band = svg('polygon', {});
  const line = svg('polyline', {});
  const drawing = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, 'aria-hidden': 'true' }, band, line);
  const parts = { band, line };
  for (const figure of ['min', 'mean', 'max']) parts[figure] = element('td', { class: figure });
  for (const part of ['value', 'ago']) parts[part] = element('span', { class: part });
  parts.now = element('td', { class: 'now' }, parts.value, ' ', parts.ago);
  parts.row = element(
    'tr',
    {},
    element('th', { scope: 'row' }, element('a', { href: hrefOf(name), title: name }, ...parted)),
    ...[parts.now, parts.min, parts.mean, parts.max],
    element('td', { class: 'day' }, drawing),
  );
  cells.set(name, parts);
  return parts.row;
}

function paintRow(sensor, metric, now) {
  const parts = cells.get(sensor.name);
  const { value, unit, isWrong } = sensor.metrics.get(metric);
  const quiet = isQuiet(sensor, now);
  setValue(parts.value, quantity(value, unit), isWrong);
  setText(parts.ago, quiet ? ageOf(sensor.seen, now) : '');
  parts.row.dataset.quiet = String(quiet);
  const today =
    loaded === JSON.stringify([$('overview-site').value, metric]) ? figures.get(sensor.name) : null;
  for (const figure of ['min', 'mean', 'max']) {
    setText(parts[figure], typeof today?.[figure] === 'number' ? quantity(today[figure], '') : '–');
  }
  draw(parts, today?.buckets ?? []);
}

function ageOf(seen, now) {
  const words = age((now - seen) / 1000);
  return /^\d/.test(words) ? `${words} ago` : words;
}

/** The mean of each hour as a line, between minimum and maximum. The box is 24 hours wide. */
function draw({ band, line }, buckets) {
  const known = buckets.filter(({ mean }) => mean !== null);
  const low = Math.min(...known.map(({ min }) => min));
  const span = Math.max(...known.map(({ max }) => max)) - low;
  const x = ({ time }) => ((((Date.parse(time) - midnight) / HOUR_MS + 0.5) / 24) * WIDTH).toFixed(1);
  const y = (value) =>
    (span > 0 ? HEIGHT - 2 - ((value - low) / span) * (HEIGHT - 4) : HEIGHT / 2).toFixed(1);
  const points = (of, some = known) => some.map((bucket) => `${x(bucket)},${y(of(bucket))}`);
  line.setAttribute('points', points(({ mean }) => mean).join(' '));
  const edge = [...points(({ max }) => max), ...points(({ min }) => min, known.toReversed())];
  band.setAttribute('points', edge.join(' '));
}

// The charts of one sensor.

import { serverNow } from './api.js';
import { complain } from './banner.js';
import { Chart } from './chart.js';
import { $, element, setText } from './dom.js';
import { byInterest } from './format.js';
import { keyOf, seriesOf } from './history-lines.js';
import { MOST_SEARCHED, readBuckets, readWrong } from './history-reads.js';
import { explain, labelOf, learnUnit, readingState, sensors, titleOf } from './model.js';
import { nameText } from './names.js';
import { Notes } from './notes.js';
import { changeLimit, readRules, showLimits } from './sensor-limits.js';
import { RANGES } from './series.js';
import { offerUndo } from './undo.js';
import { EMPTY_VIEW, hashOf } from './view-state.js';
import { localZone } from './zoned-time.js';

/** History is read again at this interval, because live readings do not replace what they correct. */
const REFRESH_MS = 60_000;
/** While readings are missed constantly (the feed is too fast), history is read at this interval. */
const GAP_REFRESH_MS = 3000;
/** Annotations and marked readings are read with the history, but not more often than this. */
const MARKS_MS = 30_000;
const MAX_CHARTS = 12;
/** Buttons that need a sensor. */
const OF_SENSOR = ['edit-sensor', 'edit-alerts', 'annotate-sensor', 'sensor-readings'];
/** The name of the range in the browser's storage. */
const KEPT_RANGE = 'range';

let shown = null;
let range = RANGES[0];
/** Whether the visitor chose the range, now or earlier. Otherwise it grows until the charts have readings. */
let isChosen = false;
let charts = new Map();
let nextRefresh = Number.POSITIVE_INFINITY;
let lastRefresh = 0;
/** Whether the charts have their history. */
let isRead = false;
/** When annotations and marked readings were read last, while history is read more often. */
let marksAt = Number.NEGATIVE_INFINITY;
const notes = new Notes({ list: $('sensor-notes'), said: $('sensor-said'), changed: () => void readMarks() });

export function initSensorView() {
  $('edit-sensor').addEventListener('click', () => void edit());
  $('edit-alerts').addEventListener('click', () => void editAlerts());
  $('annotate-sensor').addEventListener('click', () => void annotate());
  $('sensor-readings').addEventListener('click', () => void showReadings());
  document.addEventListener('rules', () => void refreshLimits());
  const kept = keptRange();
  isChosen = kept !== undefined;
  range = kept ?? range;
  const buttons = RANGES.map((each) => {
    const button = element('button', { type: 'button' }, each.label);
    button.addEventListener('click', () => {
      isChosen = true;
      setRange(each);
      keepRange();
    });
    return button;
  });
  $('ranges').append(...buttons);
  markRange();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    for (const chart of charts.values()) chart.recolour();
  });
}

function setRange(next) {
  range = next;
  markRange();
  if (shown !== null) rebuild();
}

function markRange() {
  for (const [index, button] of [...$('ranges').querySelectorAll('button')].entries())
    button.setAttribute('aria-pressed', String(RANGES[index] === range));
}

/** The range that was chosen last, or undefined. A browser can refuse its storage. */
function keptRange() {
  try {
    const kept = localStorage.getItem(KEPT_RANGE);
    return RANGES.find(({ label }) => label === kept);
  } catch {
    return undefined;
  }
}

function keepRange() {
  try {
    localStorage.setItem(KEPT_RANGE, range.label);
  } catch {
    // It is lost on reload then.
  }
}

/** Shows a sensor, even one that has not reported yet; null shows none. */
export function show(name) {
  if (name === shown) return;
  shown = name;
  $('sensor-said').replaceChildren();
  notes.clear();
  if (!isChosen) range = RANGES[0];
  markRange();
  paintTitle();
  rebuild();
}

/** The name of the sensor that is shown, or null. */
export function shownSensor() {
  return shown;
}

/** Adds a live reading if it is from the sensor that is shown. */
export function addLive(reading) {
  if (reading.device !== shown) return;
  charts.get(reading.metric)?.add(Date.parse(reading.time), reading.value);
}

/** Readings were missed, so history is read again soon to fill the charts. */
export function addGap() {
  nextRefresh = Math.min(nextRefresh, Math.max(performance.now(), lastRefresh + GAP_REFRESH_MS));
}

export function paintSensor() {
  paintTitle();
  if (shown === null) return;
  const sensor = sensors.get(shown);
  arrangeCharts();
  for (const [metric, chart] of charts) {
    chart.latest(sensor.metrics.get(metric));
    chart.paint();
  }
  const left = (sensor?.metrics.size ?? 0) - charts.size;
  $('charts-cut').hidden = left <= 0;
  if (left > 0)
    setText($('charts-cut'), `${left} more metrics are not drawn. “Add a line…” under History shows them.`);
  if (performance.now() >= nextRefresh) void refresh();
  widen();
}

function paintTitle() {
  const { state } = readingState();
  const sensor = sensors.get(shown);
  const nothing = {
    loading: 'Reading the list of sensors…',
    failed: 'Sensors cannot be shown now',
    ready: 'No sensor yet',
  };
  setText($('sensor-title'), shown === null ? nothing[state] : titleOf(shown));
  $('sensor-title').title = shown ?? '';
  for (const id of OF_SENSOR) $(id).disabled = shown === null;
  const isSilent = shown !== null && state === 'ready' && (sensor?.metrics.size ?? 0) === 0;
  setText($('sensor-facts'), facts(sensor ?? {}, isSilent));
  const link = sensor === undefined ? '#/history' : historyOf(sensor);
  if ($('open-history').getAttribute('href') !== link) $('open-history').setAttribute('href', link);
}

function facts(sensor, isSilent) {
  const { site = '', city, kind, year = null } = sensor;
  const name = labelOf(sensor) === null ? null : nameText(sensor.name);
  const silent = isSilent ? 'No readings from this sensor yet' : null;
  return [
    name,
    silent,
    kind,
    city,
    site === '' ? null : nameText(site),
    year === null ? null : `since ${year}`,
  ]
    .filter(Boolean)
    .join(' · ');
}

/** The link to the history of a sensor, with the range of its charts. */
function historyOf(sensor) {
  const parts = { series: seriesOf(sensor), range: { last: range.seconds * 1000 } };
  return hashOf({ ...EMPTY_VIEW, ...parts });
}

/** Shows the dialog with what is registered about the sensor. A change can be undone until another sensor is shown. */
async function edit() {
  await changeSensor(async (name) => {
    const { editDevice } = await import('./device-dialog.js');
    const undo = await editDevice(name);
    return undo === null ? null : { said: 'Saved.', undo };
  });
}

/**
 * Does a change of the sensor that is shown, and shows what was done, with a button that undoes it.
 *
 * @param work resolves to `{said, undo}`, or to null when nothing was changed
 */
async function changeSensor(work) {
  const name = shown;
  const place = $('sensor-said');
  setText(place, '');
  try {
    const done = await work(name);
    if (done === null || shown !== name) return;
    // A unit may be another one.
    void refresh();
    offerUndo(place, done.said, async () => {
      await done.undo();
      void refresh();
    });
  } catch (error) {
    if (shown === name) setText(place, error.message);
  }
}

/** Moves a limit of a chart. Resolves when the charts have the limits of the server again. */
async function moveLimit(limit, value) {
  await changeSensor(() => changeLimit(limit, value));
  await refreshLimits();
}

async function refreshLimits() {
  const device = shown;
  if (device === null) return;
  await readRules(device);
  if (device === shown) for (const chart of charts.values()) showLimits(chart, device);
}

async function editAlerts() {
  try {
    const { openAlerts } = await import('./alert-dialog.js');
    await openAlerts(shown);
  } catch (error) {
    setText($('sensor-said'), error.message);
  }
}

/** Shows the dialog of a new annotation, which begins now unless the visitor changes it. */
async function annotate() {
  await notes.add([shown], { from: Math.round(serverNow()), to: null }, localZone());
}

/** Shows the readings of the sensor in the time of its charts. */
async function showReadings() {
  const device = shown;
  const numeric = [...charts.keys()].filter(
    (metric) => typeof metricsOf(device).get(metric)?.value === 'number',
  );
  const lines = numeric.map((metric) => ({ device, metric, unit: metricsOf(device).get(metric).unit }));
  if (lines.length === 0) return;
  try {
    const { openReadings } = await import('./readings-dialog.js');
    await openReadings(lines, spanNow(), localZone(), () => {
      marksAt = Number.NEGATIVE_INFINITY;
      void refresh();
    });
  } catch (error) {
    setText($('sensor-said'), error.message);
  }
}

function metricsOf(device) {
  return sensors.get(device)?.metrics ?? new Map();
}

/** The time of the charts, milliseconds. */
function spanNow() {
  const to = Math.ceil(serverNow());
  return { from: to - range.seconds * 1000, to };
}

/** Shows the annotations of the sensor, and the readings that were marked as wrong. */
async function readMarks() {
  const device = shown;
  marksAt = performance.now();
  const { from, to } = spanNow();
  const wanted = [...charts].filter(([, chart]) => chart.points !== null);
  const keys = wanted.map(([metric]) => keyOf({ device, metric }));
  const count = wanted.reduce((sum, [, chart]) => sum + chart.count, 0);
  const isFew = keys.length > 0 && count <= MOST_SEARCHED;
  try {
    const [wrong] = await Promise.all([
      isFew ? readWrong(keys, from, to + 1) : new Map(),
      notes.read([device], { from, to }, localZone()),
    ]);
    for (const [index, [metric, chart]] of wanted.entries()) {
      if (charts.get(metric) === chart)
        chart.marks = { notes: notes.shown, wrong: wrong.get(keys[index]) ?? [] };
    }
    complain('marks', null);
  } catch (error) {
    if (device !== shown) return;
    complain('marks', explain(error));
    marksAt = Number.NEGATIVE_INFINITY;
    addGap();
  }
}

/** Without a choice of the visitor, shows a longer range when no chart has two points. */
function widen() {
  const next = RANGES[RANGES.indexOf(range) + 1];
  if (!isRead || isChosen || next === undefined) return;
  const points = [...charts.values()].map((chart) => chart.points).filter((number) => number !== null);
  if (points.length > 0 && points.every((number) => number < 2)) setRange(next);
}

function rebuild() {
  isRead = false;
  for (const chart of charts.values()) chart.remove();
  charts = new Map();
  marksAt = Number.NEGATIVE_INFINITY;
  for (const about of ['history', 'marks']) complain(about, null);
  arrangeCharts();
  void refresh();
}

/** Draws the metrics of most interest. One that becomes known later can take the place of another. */
function arrangeCharts() {
  const metrics = [...metricsOf(shown).keys()].sort(byInterest).slice(0, MAX_CHARTS);
  for (const [metric, chart] of charts) {
    if (metrics.includes(metric)) continue;
    chart.remove();
    charts.delete(metric);
  }
  for (const metric of metrics) if (!charts.has(metric)) addChart(metric);
}

function addChart(metric) {
  const chart = new Chart(metric, range, moveLimit);
  charts.set(metric, chart);
  marksAt = Number.NEGATIVE_INFINITY;
  showLimits(chart, shown);
  const behind = [...charts.values()].filter((other) => byInterest(metric, other.metric) < 0);
  behind.sort((a, b) => byInterest(a.metric, b.metric));
  $('chart-grid').insertBefore(chart.card, behind[0]?.card ?? null);
  addGap();
}

async function refresh() {
  nextRefresh = performance.now() + REFRESH_MS;
  const wanted = [...charts];
  // Not counted as a refresh, so that the first charts are read at once.
  if (wanted.length === 0) return;
  lastRefresh = performance.now();
  void refreshLimits();
  const device = shown;
  const keys = wanted.map(([metric]) => keyOf({ device, metric }));
  const from = serverNow() - range.seconds * 1000;
  const answers = await readBuckets(keys, from, null, range.bucket * 1000);
  let failure = null;
  for (const [index, [metric, chart]] of wanted.entries()) {
    const { value, reason } = answers[index];
    if (reason === undefined) learnUnit(device, metric, value.unit);
    else failure = explain(reason);
    // Another sensor may be shown by now.
    if (charts.get(metric) !== chart) continue;
    if (reason === undefined) {
      chart.unit = value.unit;
      chart.history(value.buckets);
    } else {
      chart.fail(failure);
    }
  }
  if (device !== shown) return;
  isRead = failure === null;
  complain('history', failure);
  if (failure !== null) addGap();
  else if (lastRefresh - marksAt >= MARKS_MS) void readMarks();
}

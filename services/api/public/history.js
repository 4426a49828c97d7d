// The history view: any time of any series in one chart, with a table of figures. The address holds what is shown. The
// page loads this module when the view is opened for the first time.

import { serverNow } from './api.js';
import { complain } from './banner.js';
import { $, setText } from './dom.js';
import { attachGestures } from './gestures.js';
import { HistoryChart } from './history-chart.js';
import { initControls, paintChoice, paintControls } from './history-controls.js';
import { cursorShare, paintCursors, paintSelection, placeCursor, stepCursor } from './history-cursor.js';
import { askLine, askTimes } from './history-dialogs.js';
import { axesOf, drawnLine } from './history-drawing.js';
import { abortFigures, areFiguresDue, refreshFigures } from './history-figures.js';
import { copyLink, saveCsv, savePicture } from './history-files.js';
import { keyOf, linesOf, offsetOf, seriesOf } from './history-lines.js';
import { paintFlags, refreshWrong, withWrong } from './history-marks.js';
import { readBuckets, readFirst } from './history-reads.js';
import { listLines } from './history-table.js';
import { explain, sensors, sortedSensors } from './model.js';
import { Notes } from './notes.js';
import { levelOf, Tiles } from './tiles.js';
import {
  EMPTY_VIEW,
  formatView,
  hashOf,
  LEAST_SPAN,
  pan,
  parseView,
  pinched,
  selected,
  spanOf,
  zoom,
} from './view-state.js';
import { localZone } from './zoned-time.js';

/** A view is in the address, and its figures are read, after it stayed the same for this long. Milliseconds. */
const REST_MS = 300;
/** While the view changes, tiles are requested at this interval, and those that arrive are drawn. Milliseconds. */
const WANT_MS = 100;
/** The time of the first reading is read again at this interval until it is known. Milliseconds. */
const AGAIN_MS = 5000;
/** Annotations and marked readings of a time until now are read again after this. Milliseconds. */
const MARKS_MS = 60_000;
/** Around a chosen time, readings within so many pixels are shown. */
const NEAR = 4;
/** Old tiles are looked for at every so many paints. */
const BEATS = 4;

const chart = new HistoryChart($('history-plot'));
const tiles = new Tiles({ read: readTiles, changed: arrived, failed: showFailure });
const notes = new Notes({ list: $('history-notes'), said: $('history-said'), changed: readNotes });

let isOpen = false;
let view = EMPTY_VIEW;
/** Returns the name of the sensor to show while the view is empty, or null. */
let suggest = () => null;
/** `{from, to}` of the last drawing, or of the change after it. */
let span = spanOf(view.range, serverNow(), null);
/** The range when two fingers touched. */
let pinchedSpan = span;
/** Series -> the time of its first reading, or null. */
const firsts = new Map();
let firstAt = Number.NEGATIVE_INFINITY;
/** Lines as `{id, key, device, metric, unit, earlier, colour}`; `earlier` is a key of EARLIER or null. */
let lines = [];
let listed = '';
/** The lines as they were drawn last, with `buckets`, `gap` and `offset`. */
let drawn = [];
/** Units that came with tiles, by series. */
const units = new Map();
/** Why the last request of tiles failed, or null. */
let failure = null;

let isRequested = false;
let isDirty = false;
let beats = 0;
let rest = null;
let wantedAt = 0;
/** The timer of the next request of tiles, or null. */
let wantLater = null;
/** When tiles that arrived were drawn, and the timer of the next ones, or null. */
let arrivedAt = Number.NEGATIVE_INFINITY;
let arriveLater = null;
/** When annotations and marked readings are read again. */
let marksDue = Number.POSITIVE_INFINITY;
/** What a time in the chart is chosen for: `annotate`, `readings`, or null. */
let choice = null;

/**
 * Shows the view in a query of the address. Without a query it shows the last view, or else a sensor.
 *
 * @param suggestion returns the name of that sensor, or null while no sensor is known
 */
export function openHistory(query, suggestion) {
  if (!isOpen) firsts.clear();
  isOpen = true;
  suggest = suggestion;
  if (query !== '') view = parseView(query);
  else if (view !== EMPTY_VIEW) writeAddress();
  relist();
  changed();
}

/** Another view of the page is shown. */
export function leaveHistory() {
  if (!isOpen) return;
  isOpen = false;
  clearTimeout(rest);
  clearTimeout(wantLater);
  abortFigures();
  choose(null);
  notes.clear();
  for (const about of ['notes', 'wrong']) complain(about, null);
  tiles.want([], 0, serverNow());
  showFailure(null);
}

/** Adds a live reading. */
export function addToHistory({ device, metric, time, value }) {
  const key = keyOf({ device, metric });
  if (typeof value !== 'number' || !lines.some((line) => line.key === key)) return;
  tiles.add(key, Date.parse(time), value);
  isDirty = true;
}

/** Readings were missed. */
export function missInHistory() {
  tiles.miss(serverNow());
}

/** Updates the view, four times a second. */
export function paintHistory() {
  if (!isOpen) return;
  relist();
  const { width } = chart.area;
  const moved = currentSpan().to - span.to;
  const isOld = beats++ % BEATS === 0;
  if (isDirty || isOld || (width > 0 && moved >= (span.to - span.from) / width)) requestDraw();
  if (performance.now() >= marksDue) void refresh();
  else if (areFiguresDue(span, isUntilNow())) void refreshFigures(lines, currentSpan(), zoneName());
  if (view.range.all) void wantFirst();
}

function isUntilNow() {
  return view.range.from === undefined;
}

function zoneName() {
  return view.zone === 'utc' ? 'UTC' : localZone();
}

/** What the chart shows. */
function shown() {
  return { lines: drawn, notes: notes.shown, span, zone: zoneName() };
}

/** The time to show now. The old one stays until the time of the first reading is known. */
function currentSpan() {
  const first = firstTime();
  if (view.range.all && first === undefined) return span;
  return spanOf(view.range, serverNow(), first ?? null);
}

/** Changes parts of the view. Returns whether it is another view now. */
function change(part) {
  const query = formatView({ ...view, ...part });
  if (query === formatView(view)) return false;
  // As a link restores it, so that the view is never one that the address cannot hold.
  view = parseView(query);
  relist();
  changed();
  return true;
}

/** Draws the view soon, and completes it when it does not change for a moment. */
function changed() {
  span = currentSpan();
  if (view.range.all) void wantFirst();
  clearTimeout(rest);
  rest = setTimeout(() => {
    writeAddress();
    // The next click can be one on All.
    void refresh().then(wantFirst);
  }, REST_MS);
  requestDraw();
}

/** Reads the figures of the time shown, its annotations, and the readings in it that were marked as wrong. */
async function refresh() {
  marksDue = isUntilNow() ? performance.now() + MARKS_MS : Number.POSITIVE_INFINITY;
  void readNotes();
  const [wanted, shownSpan, zone] = [lines, currentSpan(), zoneName()];
  const count = await refreshFigures(wanted, shownSpan, zone);
  if (count !== null) await readMarks('wrong', () => refreshWrong(wanted, shownSpan, zone, count));
}

function readNotes() {
  return readMarks('notes', () => notes.read(devices(), currentSpan(), zoneName()));
}

async function readMarks(about, read) {
  let failure = null;
  try {
    await read();
  } catch (error) {
    failure = explain(error);
    marksDue = performance.now() + AGAIN_MS;
  }
  if (!isOpen) return;
  complain(about, failure);
  requestDraw();
}

/** The devices of the lines. */
function devices() {
  return [...new Set(lines.map(({ device }) => device))];
}

/** A view that the address does not have becomes a step of the browser's history. */
function writeAddress() {
  if (view.series.length === 0 && view.groups.length === 0) return;
  const at = location.hash.indexOf('?');
  if (at === -1) history.replaceState(null, '', hashOf(view));
  else if (hashOf(parseView(location.hash.slice(at + 1))) !== hashOf(view))
    history.pushState(null, '', hashOf(view));
}

/** Finds the lines of the view, and lists them when they are other ones than before. */
function relist() {
  if (view === EMPTY_VIEW) {
    const sensor = sensors.get(suggest());
    const series = sensor === undefined ? [] : seriesOf(sensor);
    if (series.length > 0) view = { ...view, series };
  }
  const { series, left } = linesOf(view, sortedSensors());
  const earlier = view.compare === null ? [null] : [null, view.compare];
  lines = series.flatMap(({ device, metric }, colour) => {
    const key = keyOf({ device, metric });
    const unit = units.get(key) ?? sensors.get(device)?.metrics.get(metric)?.unit;
    return earlier.map((each) => ({
      id: `${key} ${each}`,
      key,
      device,
      metric,
      unit,
      earlier: each,
      colour,
    }));
  });
  $('history-cut').hidden = left === 0;
  setText($('history-cut'), `${left} more series are not drawn.`);
  const ids = JSON.stringify(lines.map(({ id }) => id));
  if (ids === listed) return;
  listed = ids;
  drawn = [];
  abortFigures();
  firstAt = Number.NEGATIVE_INFINITY;
  for (const known of [units, firsts])
    for (const key of known.keys()) if (!lines.some((line) => line.key === key)) known.delete(key);
  listLines(lines, { remove, inspect });
  changed();
}

/** Removes a line. Of a line that a site has, the other lines of the site stay. */
function remove({ key }) {
  const isOther = (each) => keyOf(each) !== key;
  const series = view.series.filter(isOther);
  const left = linesOf({ ...view, series }, sortedSensors()).series;
  if (left.every(isOther)) change({ series });
  else change({ series: left.filter(isOther), groups: [] });
  $('history-add').focus();
}

/** Shows the readings at the minimum or the maximum of a line. */
async function inspect({ id }, figure) {
  // Not the line of the list, which can be older than its unit.
  const line = lines.find((each) => each.id === id);
  if (line === undefined) return;
  try {
    const offset = offsetOf(line, span.from, zoneName());
    const { findExtreme, openReadings } = await import('./readings-dialog.js');
    const range = await findExtreme(
      line.key,
      { from: Math.max(0, span.from - offset), to: span.to - offset },
      figure,
    );
    if (range !== null) await openReadings([line], range, zoneName(), changedReadings);
  } catch (error) {
    setText($('history-said'), explain(error));
  }
}

/** Readings were marked or restored. */
function changedReadings({ device, metric, from, to }) {
  tiles.expire(keyOf({ device, metric }), from, to);
  void refresh();
  requestDraw();
}

/** Begins the choice of a time in the chart, or ends it with null or the same choice. */
function choose(wanted) {
  choice = wanted === choice ? null : wanted;
  paintChoice(choice);
}

/** A time in the chart was chosen, by shares of the time shown. Without shares it is the one at the cursor. */
async function chosen(start, end) {
  const what = choice;
  choose(null);
  const timeAt = (share) => Math.round(span.from + share * (span.to - span.from));
  const at = timeAt(start ?? cursorShare(span) ?? 0.5);
  const other = end === null ? null : timeAt(end);
  const range =
    other === null ? { from: at, to: null } : { from: Math.min(at, other), to: Math.max(at, other) };
  if (what === 'annotate') {
    await notes.add(devices(), range, zoneName());
    return;
  }
  const near = (NEAR * (span.to - span.from)) / Math.max(1, chart.area.width);
  const around = { from: Math.max(0, Math.floor(at - near)), to: Math.ceil(at + near) };
  const present = lines.filter(({ earlier }) => earlier === null);
  if (present.length === 0) return;
  const { openReadings } = await import('./readings-dialog.js');
  await openReadings(present, other === null ? around : range, zoneName(), changedReadings);
}

async function readTiles(keys, ...range) {
  const answers = await readBuckets(keys, ...range);
  for (const [index, { value }] of answers.entries())
    if (value?.unit !== undefined) units.set(keys[index], value.unit);
  return answers;
}

function showFailure(error) {
  failure = error === null ? null : explain(error);
  complain('history-tiles', failure);
}

/** The time of the first reading of all lines: null without one, undefined while it is not known. */
function firstTime() {
  const times = lines.map(({ key }) => firsts.get(key));
  if (times.includes(undefined)) return undefined;
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.min(...known);
}

/** Reads the times of first readings that are not known. */
async function wantFirst() {
  const isKnown = firstTime() !== undefined;
  if (!isOpen || isKnown || performance.now() - firstAt < AGAIN_MS) return;
  try {
    await findFirst();
    if (isOpen && view.range.all) changed();
  } catch (error) {
    if (isOpen && view.range.all) showFailure(error);
  }
}

/** @throws {RequestError} */
async function findFirst() {
  firstAt = performance.now();
  const keys = [...new Set(lines.map(({ key }) => key).filter((key) => !firsts.has(key)))];
  const times = await readFirst(keys, serverNow());
  for (const [index, key] of keys.entries()) firsts.set(key, times[index]);
}

/** Draws tiles that arrived: the first and the last ones at once, because all lines are drawn again each time. */
function arrived() {
  const wait = WANT_MS - (performance.now() - arrivedAt);
  if (!tiles.isReading || wait <= 0) drawArrived();
  else arriveLater ??= setTimeout(drawArrived, wait);
}

function drawArrived() {
  clearTimeout(arriveLater);
  arriveLater = null;
  arrivedAt = performance.now();
  requestDraw();
}

function requestDraw() {
  if (!isOpen || isRequested) return;
  isRequested = true;
  requestAnimationFrame(draw);
}

function draw() {
  isRequested = false;
  if (!isOpen) return;
  isDirty = false;
  span = currentSpan();
  paintControls(view, span, zoneName());
  chart.layOut(axesOf(lines));
  const { left, width } = chart.area;
  for (const id of ['history-surface', 'history-flags'])
    Object.assign($(id).style, { left: `${left}px`, width: `${width}px` });
  if (width === 0) return;
  const pixels = Math.round(width);
  const level = levelOf(span.to - span.from, pixels);
  drawn = lines.map((line) => withWrong(drawnLine(line, tiles, { span, zone: zoneName(), level, pixels })));
  chart.draw(shown());
  want(level);
  paintState(level);
  paintFlags(notes.shown, span, (id) => notes.focus(id));
  paintCursors(shown());
}

/** Requests the tiles of the drawn lines, now or when the interval is over. */
function want(level) {
  clearTimeout(wantLater);
  wantLater = null;
  const wait = WANT_MS - (performance.now() - wantedAt);
  if (wait > 0) {
    wantLater = setTimeout(() => {
      // A drawing that is due requests them too.
      if (isRequested) return;
      want(level);
      paintState(level);
    }, wait);
    return;
  }
  wantedAt = performance.now();
  tiles.want(
    drawn.map(({ part }) => part),
    level,
    serverNow(),
    drawn.flatMap(({ beside }) => beside),
  );
}

function paintState(level) {
  const parts = drawn.map(({ part }) => part);
  const isBusy = tiles.isReading || (wantLater !== null && tiles.lacks(parts, level));
  $('history-plot').setAttribute('aria-busy', String(isBusy));
  $('history-none').hidden = drawn.some(({ extent }) => extent !== null);
  const text = isBusy ? 'Reading the history…' : (failure ?? 'No readings in this time.');
  setText($('history-none'), lines.length === 0 ? 'No line yet: add a sensor.' : text);
}

/**
 * Zooms around a share of the time shown. Without it, a range until now stays one, and others are zoomed around the
 * cursor or the middle. Returns whether another time is shown.
 */
function zoomBy(factor, share = null) {
  const now = serverNow();
  if (share === null && view.range.last !== undefined) {
    const { from, to } = zoom(span, factor, 1, now);
    return change({ range: lastOf(to - from) });
  }
  return move(zoom(span, factor, share ?? cursorShare(span) ?? 0.5, now));
}

/** Moves by a share of the time shown. A range until now cannot move to later times. */
function panBy(share) {
  return !(isUntilNow() && share > 0) && move(pan(span, share, serverNow()));
}

/** Shows another time. Returns whether it is another one. */
function move(range) {
  return (range.from !== span.from || range.to !== span.to) && change({ range });
}

/** A range until now; the address has whole seconds. */
function lastOf(length) {
  return { last: Math.max(LEAST_SPAN, Math.round(length / 1000) * 1000) };
}

async function goHome() {
  try {
    if (firstTime() === undefined) await findFirst();
  } catch (error) {
    showFailure(error);
  }
  const first = firstTime() ?? null;
  if (first !== null) move({ from: first, to: first + span.to - span.from });
}

initControls({
  change,
  zoom: zoomBy,
  pan: panBy,
  async goTo() {
    const range = await askTimes(span, zoneName());
    if (range !== null) change({ range });
  },
  async add() {
    const line = await askLine([...sensors.values()]);
    if (line === null) return;
    if (line.device === undefined) change({ groups: [...view.groups, line] });
    else change({ series: [...view.series, line] });
  },
  csv: () => saveCsv(shown()),
  png: () => savePicture(chart, shown()),
  link: () => copyLink(view, span),
  choose,
});
attachGestures($('history-surface'), {
  zoom: zoomBy,
  pan: panBy,
  begin() {
    pinchedSpan = span;
  },
  pinch: (before, after) => move(pinched(pinchedSpan, before, after, serverNow())),
  select(start, end, isDone) {
    paintSelection(isDone ? null : start, end);
    if (isDone) move(selected(span, start, end, serverNow()));
  },
  isPicking: () => choice !== null,
  pick: (start, end) => void chosen(start, end),
  cancel() {
    if (choice !== null) choose(null);
    placeCursor(shown(), null);
  },
  cursor: (share) => placeCursor(shown(), share),
  moveCursor: (step) => stepCursor(shown(), step),
  home: () => void goHome(),
  end: () => change({ range: lastOf(span.to - span.from) }),
});
new ResizeObserver(requestDraw).observe($('history-plot'));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  chart.recolour();
  requestDraw();
});

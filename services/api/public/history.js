// The history view: any time of any series in one chart, with a table of figures. The address holds what is shown. The
// page loads this module when the view is opened for the first time.

import { get, serverNow } from './api.js';
import { complain } from './banner.js';
import { bucketAt, columnsOf, extentOf, gapOf, partsOf } from './columns.js';
import { $, element, setText } from './dom.js';
import { attachGestures } from './gestures.js';
import { HistoryChart } from './history-chart.js';
import { askLine, askTimes, download, giveLink } from './history-dialogs.js';
import { axisOf, csvOf, keyOf, linesOf, seriesOf } from './history-lines.js';
import { listLines, nameOf, paintCursor, paintFigures, valueText } from './history-table.js';
import { explain, learnUnit, sensors } from './model.js';
import { levelOf, Tiles } from './tiles.js';
import {
  EARLIER,
  EMPTY_VIEW,
  formatView,
  isSameRange,
  LEAST_SPAN,
  pan,
  parseView,
  pinched,
  RANGES,
  selected,
  spanOf,
  zoom,
} from './view-state.js';
import { localZone, momentIn, shifted, spanIn } from './zoned-time.js';

/** A view is in the address, and its figures are read, after it stayed the same for this long. Milliseconds. */
const REST_MS = 300;
/** While the view changes, tiles are requested at this interval. Milliseconds. */
const WANT_MS = 100;
/** Figures until now are read again at this interval, and so is the first reading after a failure. Milliseconds. */
const AGAIN_MS = 5000;
/** Old tiles are looked for at every so many paints. */
const BEATS = 4;
/** What is read and drawn beyond both edges, so that lines do not end inside: a share of the time shown. */
const MARGIN = 0.25;
/** Buttons: zoom by this factor, and move by this share of the time shown. */
const ZOOM = 2;
const PAN = 0.25;
/** Steps of the cursor in the time shown, with the keyboard. */
const CURSOR_STEPS = 100;
const START = '1970-01-01T00:00:00Z';
/** One bucket of this length contains every time. */
const WHOLE = '200000d';

const chart = new HistoryChart($('history-plot'));
const tiles = new Tiles({
  read: readTile,
  changed: requestDraw,
  failed(error) {
    failure = error === null ? null : explain(error);
    complain('history-tiles', failure);
  },
});

let isOpen = false;
/** Why the last request of tiles failed, or null. */
let failure = null;
let view = EMPTY_VIEW;
/** `{from, to}` of the last drawing, or of the change after it. */
let span = spanOf(view.range, serverNow(), null);
/** The time of the first reading of all series, null without one, undefined while it is not known. */
let first;
let firstAt = Number.NEGATIVE_INFINITY;
/** Lines as `{id, key, device, metric, unit, earlier, colour}`; `earlier` is a key of EARLIER or null. */
let lines = [];
/** The lines as they were drawn last, with `buckets`, `gap` and `offset`. */
let drawn = [];
let listed = '';
/** The time at the cursor, or null. */
let cursor = null;
/** The range when two fingers touched. */
let pinchedSpan = span;
let suggest = () => null;

const units = new Map();
let figuresOf = new AbortController();
let figuresAt = 0;
let figuresFailed = false;

let frame = null;
let isDirty = false;
let beats = 0;
let rest = null;
let wantedAt = 0;
/** The timer of the next request of tiles, or null. */
let wantLater = null;

/**
 * Shows the view in a query of the address. Without a query it shows the last view, or else a sensor.
 *
 * @param suggestion returns the name of that sensor, or null while no sensor is known
 */
export function openHistory(query, suggestion) {
  isOpen = true;
  suggest = suggestion;
  if (query !== '') view = parseView(query);
  else if (view !== EMPTY_VIEW) writeAddress();
  forgetFirst();
  relist();
  changed();
}

/** Another view of the page is shown. */
export function leaveHistory() {
  if (!isOpen) return;
  isOpen = false;
  clearTimeout(rest);
  clearTimeout(wantLater);
  figuresOf.abort();
  tiles.want([], 0, serverNow());
  for (const about of ['history-tiles', 'history-figures']) complain(about, null);
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
  if (performance.now() - figuresAt >= figuresInterval()) void readFigures();
  wantFirst();
}

function isFollowing() {
  return view.range.from === undefined;
}

/** Figures of a time that is over do not change, and those of a long time change slowly. Milliseconds. */
function figuresInterval() {
  if (figuresFailed) return AGAIN_MS;
  if (!isFollowing()) return Number.POSITIVE_INFINITY;
  return Math.min(60_000, Math.max(AGAIN_MS, (span.to - span.from) / 10_000));
}

/** The lines without those of an earlier period. */
function linesNow() {
  return lines.filter(({ earlier }) => earlier === null);
}

function zoneName() {
  return view.zone === 'utc' ? 'UTC' : localZone();
}

/** The time to show now. The old one stays until the time of the first reading is known. */
function currentSpan() {
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
  wantFirst();
  clearTimeout(rest);
  rest = setTimeout(() => {
    writeAddress();
    void readFigures();
  }, REST_MS);
  requestDraw();
}

/** A view that the address does not have becomes a step of the browser's history. */
function writeAddress() {
  if (view.series.length === 0 && view.groups.length === 0) return;
  const query = formatView(view);
  const at = location.hash.indexOf('?');
  if (at === -1) history.replaceState(null, '', hashOf(query));
  else if (formatView(parseView(location.hash.slice(at + 1))) !== query)
    history.pushState(null, '', hashOf(query));
}

function hashOf(query) {
  return `#/history?${query}`;
}

/** Finds the lines of the view, and lists them when they are other ones than before. */
function relist() {
  if (view === EMPTY_VIEW) {
    const sensor = sensors.get(suggest());
    const series = sensor === undefined ? [] : seriesOf(sensor);
    if (series.length > 0) view = { ...view, series };
  }
  const { series, left } = linesOf(view, sensors.values());
  const earlier = view.compare === null ? [null] : [null, view.compare];
  lines = series.flatMap(({ device, metric }, colour) => {
    const key = keyOf({ device, metric });
    const unit = units.get(key) ?? sensors.get(device)?.metrics.get(metric)?.unit;
    return earlier.map((each) => ({ id: `${key} ${each}`, key, device, metric, unit, earlier: each, colour }));
  });
  $('history-cut').hidden = left === 0;
  setText($('history-cut'), `${left} more series are not drawn.`);
  const now = JSON.stringify(lines.map(({ id }) => id));
  if (now === listed) return;
  listed = now;
  drawn = [];
  forgetFirst();
  for (const key of units.keys()) if (!lines.some((line) => line.key === key)) units.delete(key);
  listLines(lines, remove);
  changed();
}

/** Removes a line. Of a line that a site has, the other lines of the site stay. */
function remove({ key }) {
  const isOther = (each) => keyOf(each) !== key;
  const series = view.series.filter(isOther);
  const left = linesOf({ ...view, series }, sensors.values()).series;
  if (left.every(isOther)) change({ series });
  else change({ series: left.filter(isOther), groups: [] });
  $('history-add').focus();
}

async function readTile(series, from, to, bucket, signal) {
  const slash = series.lastIndexOf('/');
  const [device, metric] = [series.slice(0, slash), series.slice(slash + 1)];
  const { buckets, unit, incompleteBefore } = await get(
    '/v1/readings/aggregate',
    { device, metric, from: textOf(from), to: textOf(to), bucket: lengthText(bucket), fn: 'min,max,sum' },
    signal,
  );
  if (unit !== undefined) units.set(series, unit);
  learnUnit(device, metric, unit);
  return {
    buckets: buckets.map(({ time, ...rest }) => ({ time: Date.parse(time), ...rest })),
    completeFrom: incompleteBefore === null ? null : Date.parse(incompleteBefore),
  };
}

function textOf(time) {
  return new Date(time).toISOString();
}

/** The length of a bucket for the server, whose numbers have at most nine digits. */
function lengthText(bucket) {
  return bucket % 1000 === 0 ? `${bucket / 1000}s` : `${bucket}ms`;
}

function wantFirst() {
  if (first !== undefined || !view.range.all || performance.now() - firstAt < AGAIN_MS) return;
  void readFirst();
}

function forgetFirst() {
  first = undefined;
  firstAt = Number.NEGATIVE_INFINITY;
}

async function readFirst() {
  firstAt = performance.now();
  const wanted = listed;
  try {
    const times = await Promise.all(
      linesNow().map(async ({ device, metric }) => {
        const query = { device, metric, from: START, to: textOf(serverNow()), bucket: WHOLE, fn: 'first' };
        const { buckets } = await get('/v1/readings/aggregate', query);
        return buckets.map(({ firstTime }) => Date.parse(firstTime));
      }),
    );
    if (wanted !== listed) return;
    first = times.flat().length === 0 ? null : Math.min(...times.flat());
    changed();
  } catch (error) {
    complain('history-tiles', explain(error));
  }
}

/** Reads the exact figures of the time shown, and aborts those of an earlier view. */
async function readFigures() {
  figuresAt = performance.now();
  figuresOf.abort();
  figuresOf = new AbortController();
  const { signal } = figuresOf;
  const range = currentSpan();
  let failed = null;
  let incomplete = null;
  const figures = new Map();
  for (const line of lines) paintFigures(line, undefined);
  await Promise.all(
    lines.map(async (line) => {
      const offset = offsetOf(line, range);
      const [from, to] = [Math.max(0, range.from - offset), range.to - offset];
      const query = { device: line.device, metric: line.metric, from: textOf(from), to: textOf(to) };
      if (to <= from) return;
      try {
        const found = await get(
          '/v1/readings/aggregate',
          { ...query, bucket: WHOLE, fn: 'min,max,mean,last' },
          signal,
        );
        incomplete ??= found.incompleteBefore;
        figures.set(line.id, found.buckets[0] ?? null);
      } catch (error) {
        failed = error;
      }
    }),
  );
  if (signal.aborted) return;
  for (const line of lines) paintFigures(line, figures.get(line.id) ?? null);
  figuresFailed = failed !== null;
  complain('history-figures', failed === null ? null : explain(failed));
  const before = momentIn(Date.parse(incomplete ?? START), zoneName());
  const note = `Readings before ${before} were deleted, so figures can be incomplete.`;
  setText($('history-note'), incomplete === null ? '' : note);
}

/** By how much a line is earlier than the time shown. The begin of the range has the same time of day. */
function offsetOf({ earlier }, { from }) {
  return earlier === null ? 0 : from - shifted(from, zoneName(), EARLIER[earlier]);
}

function requestDraw() {
  if (isOpen) frame ??= requestAnimationFrame(draw);
}

function draw() {
  frame = null;
  if (!isOpen) return;
  isDirty = false;
  span = currentSpan();
  paintControls();
  chart.layOut(axes());
  const { left, width } = chart.area;
  Object.assign($('history-surface').style, { left: `${left}px`, width: `${width}px` });
  if (width === 0) return;
  const pixels = Math.round(width);
  const level = levelOf(span.to - span.from, pixels);
  drawn = lines.map((line) => drawnLine(line, level, pixels));
  chart.draw({ lines: drawn, span, zone: zoneName() });
  want(level);
  paintState();
  paintCursors();
}

function axes() {
  const found = new Map(lines.map(({ metric, unit }) => [axisOf(metric, unit), unit]));
  return [...found].map(([key, unit]) => ({ key, unit }));
}

function drawnLine(line, level, pixels) {
  const offset = offsetOf(line, span);
  const margin = MARGIN * (span.to - span.from);
  const from = Math.max(0, Math.round(span.from - offset - margin));
  const to = Math.round(span.to - offset + margin);
  const known = tiles.cover(line.key, from, to, level);
  const buckets =
    offset === 0
      ? known
      : known.map((bucket) => ({ ...bucket, time: bucket.time + offset, end: bucket.end + offset }));
  const gap = gapOf(buckets);
  const columns = columnsOf(buckets, span.from, span.to, pixels);
  return {
    ...line,
    part: { series: line.key, from, to },
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

function want(level) {
  clearTimeout(wantLater);
  wantLater = null;
  const wait = WANT_MS - (performance.now() - wantedAt);
  if (wait > 0) {
    wantLater = setTimeout(requestDraw, wait);
    return;
  }
  wantedAt = performance.now();
  const parts = drawn.map(({ part }) => part);
  tiles.want(parts, level, serverNow());
}

function paintState() {
  const isBusy = tiles.isReading || wantLater !== null;
  $('history-plot').setAttribute('aria-busy', String(isBusy));
  const isEmpty = drawn.every(({ extent }) => extent === null);
  $('history-none').hidden = !isEmpty;
  const text = isBusy ? 'Reading the history…' : (failure ?? 'No readings in this time.');
  setText($('history-none'), lines.length === 0 ? 'No line yet: add a sensor.' : text);
}

function paintControls() {
  setText($('history-span'), `${spanIn(span.from, span.to, zoneName())} (${zoneName()})`);
  for (const [index, button] of [...$('history-ranges').querySelectorAll('button')].entries())
    button.setAttribute('aria-pressed', String(isSameRange(RANGES[index].range, view.range)));
  $('history-compare').value = view.compare ?? '';
  $('history-zone').value = view.zone;
}

function paintCursors() {
  const isShown = cursor !== null && cursor >= span.from && cursor <= span.to;
  $('history-cursor').hidden = !isShown;
  if (isShown) $('history-cursor').style.left = `${100 * shareOf(cursor)}%`;
  setText($('history-at'), isShown ? `At ${momentIn(cursor, zoneName())}` : '');
  for (const line of drawn) {
    paintCursor(line, isShown ? bucketAt(line.buckets, cursor, line.gap) : null);
  }
}

function shareOf(time) {
  return (time - span.from) / (span.to - span.from);
}

function timeAt(share) {
  return Math.round(span.from + share * (span.to - span.from));
}

/** Without a place, a range until now stays one, and others are zoomed at the cursor or in the middle. */
function zoomBy(factor, place) {
  const now = serverNow();
  if (place === null && view.range.last !== undefined) {
    const { from, to } = zoom(span, factor, 1, now);
    return change({ range: lastOf(to - from) });
  }
  const middle = cursor === null ? 0.5 : Math.min(1, Math.max(0, shareOf(cursor)));
  return move(zoom(span, factor, place ?? middle, now));
}

/** A range until now cannot move to later times. */
function panBy(share) {
  return !(isFollowing() && share > 0) && move(pan(span, share, serverNow()));
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
  if (first === undefined) await readFirst();
  if (typeof first === 'number') move({ from: first, to: first + span.to - span.from });
}

function goToEnd() {
  change({ range: lastOf(span.to - span.from) });
}

function setCursor(share) {
  cursor = share === null ? null : timeAt(share);
  paintCursors();
}

/** Moves the cursor by the keyboard, and reads the values to a screen reader. */
function moveCursor(step) {
  const share = cursor === null ? 0.5 : shareOf(cursor) + step / CURSOR_STEPS;
  setCursor(Math.min(1, Math.max(0, share)));
  const values = drawn.flatMap((line) => {
    const bucket = bucketAt(line.buckets, cursor, line.gap);
    return bucket === null ? [] : [`${nameOf(line)}: ${valueText(bucket, line.unit)}`];
  });
  setText($('history-read'), `${momentIn(cursor, zoneName())}. ${values.join('. ')}`);
}

function paintSelection(start, end) {
  const selection = $('history-selection');
  selection.hidden = start === null;
  if (start === null) return;
  selection.style.left = `${100 * Math.min(start, end)}%`;
  selection.style.width = `${100 * Math.abs(end - start)}%`;
}

async function addLine() {
  const line = await askLine([...sensors.values()]);
  if (line === null) return;
  if (line.device === undefined) change({ groups: [...view.groups, line] });
  else change({ series: [...view.series, line] });
}

/** What is shown, as CSV: the buckets of each line in the time shown, at their own times. */
function saveCsv() {
  const shown = drawn.map(({ buckets, offset, ...line }) => ({
    ...line,
    buckets: buckets
      .filter(({ time, end }) => end > span.from && time < span.to)
      .map((bucket) => ({ ...bucket, time: bucket.time - offset, end: bucket.end - offset })),
  }));
  download('history.csv', new Blob([csvOf(shown)], { type: 'text/csv' }));
}

async function savePicture() {
  const blob = await chart.picture($('history-span').textContent, drawn.map(nameOf));
  if (blob !== null) download('history.png', blob);
}

/** The link opens the time that is shown now, also when the range is until now. */
async function copyLink() {
  const query = formatView({ ...view, range: { from: Math.round(span.from), to: Math.round(span.to) } });
  setText($('history-said'), await giveLink(location.href.replace(/#.*$/, '') + hashOf(query)));
}

function onClick(id, action) {
  $(id).addEventListener('click', () => void action());
}

function initControls() {
  for (const { label, range } of RANGES) {
    const button = element('button', { type: 'button' }, label);
    button.addEventListener('click', () => change({ range }));
    $('history-ranges').append(button);
  }
  for (const [value, { label }] of Object.entries(EARLIER))
    $('history-compare').append(element('option', { value }, label));
  $('history-compare').addEventListener('change', ({ target }) => change({ compare: target.value || null }));
  $('history-zone').addEventListener('change', ({ target }) => change({ zone: target.value }));
  onClick('history-earlier', () => panBy(-PAN));
  onClick('history-later', () => panBy(PAN));
  onClick('history-in', () => zoomBy(1 / ZOOM, null));
  onClick('history-out', () => zoomBy(ZOOM, null));
  onClick('history-add', addLine);
  onClick('history-csv', saveCsv);
  onClick('history-png', savePicture);
  onClick('history-link', copyLink);
  onClick('history-goto', async () => {
    const range = await askTimes(span, zoneName());
    if (range !== null) change({ range });
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
    cursor: setCursor,
    moveCursor,
    home: () => void goHome(),
    end: goToEnd,
  });
  new ResizeObserver(requestDraw).observe($('history-plot'));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    chart.recolour();
    requestDraw();
  });
}

initControls();

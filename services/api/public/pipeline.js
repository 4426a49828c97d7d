// The ledger, the stages, the gaps and the quarantine. All of them are updated from one request for the ledger.

import { get, serverNow } from './api.js';
import { $, element, setText } from './dom.js';
import { initExplain, refreshCauses } from './explain.js';
import { count, duration, moment, rate } from './format.js';
import { nameText } from './names.js';
import { initQuarantine, refreshQuarantine } from './quarantine.js';

const TERMS = [
  ['received', 'received', ''],
  ['stored', 'stored', '='],
  ['duplicate', 'duplicate', '+'],
  ['filtered', 'filtered', '+'],
  ['quarantined', 'quarantined', '+'],
  ['spooled', 'spooled', '+'],
  ['inFlight', 'in flight', '+'],
];
const STAGES = [
  ['travel', 'Travel', 'from the sensor to ingest'],
  ['queue', 'Queue', 'waiting to be written'],
  ['store', 'Store', 'until committed'],
  ['ack', 'Acknowledge', 'answer to the broker'],
  ['end_to_end', 'End to end', 'from the sensor to the store'],
];
/** The scale of the stage bars, seconds: 0.01 ms to 10 s in equal decades. */
const SHORTEST = 1e-5;
const DECADES = 6;
/** The longest delay that ingest measures. It reports longer ones as this. Seconds. */
const LONGEST = 800;
/** A reading that is not stored after this time is reported. Seconds. */
const WAITING_AFTER = 2;
const MAX_GAP_ROWS = 12;
/** With fewer stored readings, what ingest writes once has too large a share in the bytes per reading. */
const LEAST_STORED = 1000;

const figures = new Map();
const bands = new Map();
const stages = new Map();
let before = null;
let perSecond = null;

export function initPipeline() {
  for (const [key, label, sign] of TERMS) {
    const figure = element('dd', {}, '–');
    const swatch = key === 'received' ? [] : [element('i', { 'data-share': key })];
    figures.set(key, figure);
    $('equation').append(element('div', { 'data-sign': sign }, element('dt', {}, ...swatch, label), figure));
    figure.parentElement.hidden = key === 'filtered';
    if (key === 'received') continue;
    bands.set(key, element('i', { 'data-share': key }));
    $('staff').append(bands.get(key));
  }
  for (const [key, label, meaning] of STAGES) $('stages').append(stageRow(key, label, meaning));
  const scale = element('div', { class: 'scale', 'aria-hidden': 'true' });
  for (const mark of ['0.01 ms', '', '1 ms', '10 ms', '100 ms', '1 s', '10 s'])
    scale.append(element('span', { class: 'mark' }, mark));
  $('stages').append(scale);
  initQuarantine();
  initExplain();
}

/** Reads the ledger and shows it. @throws {RequestError} when ingest does not answer */
export async function refreshPipeline() {
  const ledger = await get('v1/ledger');
  const { readings, gaps } = ledger;
  const since = beginning(ledger);
  setText($('ledger-since'), since);
  for (const [key, figure] of figures) setText(figure, count(readings[key]));
  // Most installations have no filter, and the equation has little space on a phone.
  figures.get('filtered').parentElement.hidden = readings.filtered === 0;
  for (const [key, band] of bands) band.style.flexGrow = String(readings[key]);
  showBalance(ledger);
  showRate(readings.received);
  showWaiting(ledger.oldestUnstoredSeconds);
  showWritten(ledger);
  showStages(ledger);
  showGaps(gaps, gaps.since === undefined ? since : beginning({ ...ledger, since: gaps.since }));
  await refreshQuarantine(ledger);
  await refreshCauses(ledger);
  return ledger;
}

/** Shows that ingest does not answer and the figures are out of date. */
export function forgetBalance() {
  before = null;
  $('balance').dataset.balanced = 'unknown';
  setText($('balance'), 'Ingest does not answer');
  setText($('rate'), '–');
}

function showBalance({ balanced, trouble, unreachable }) {
  const mark = $('balance');
  mark.dataset.balanced = String(balanced && trouble === null);
  const missing = unreachable.length === 0 ? '' : `, ${count(unreachable.length)} not answering`;
  const stored = balanced ? '✓ Balanced' : '✗ Does not add up';
  setText(mark, (trouble === null ? stored : '✗ Not all is stored') + missing);
  mark.title = balanced ? 'Every reading that came in is accounted for' : 'Some readings are unaccounted for';
}

/** A short wait is normal. A longer one means that the store is unavailable or too slow. */
function showWaiting(seconds) {
  const waits = seconds >= WAITING_AFTER;
  $('waiting').hidden = !waits;
  if (waits) setText($('waiting'), `The oldest reading that is not stored has waited ${duration(seconds)}`);
}

/** What a stored reading costs an SD card. A database server writes on its own, which ingest cannot count. */
function showWritten({ writtenBytes, readings: { stored }, deleted }) {
  const isKnown = writtenBytes !== null && writtenBytes > 0 && stored >= LEAST_STORED;
  const parts = isKnown
    ? [`Ingest wrote ${count(writtenBytes / stored)} bytes to disk per stored reading`]
    : [];
  if (deleted > 0) parts.push(`${count(deleted)} old readings were deleted`);
  setText($('written'), parts.join('. '));
}

function showRate(received) {
  const now = performance.now();
  if (before !== null && now > before.at && received >= before.received) {
    const measured = ((received - before.received) / (now - before.at)) * 1000;
    // The mean of the new and the old rate reduces the jitter.
    perSecond = perSecond === null ? measured : perSecond / 2 + measured / 2;
    setText($('rate'), rate(perSecond));
  } else {
    perSecond = null;
  }
  before = { at: now, received };
}

/** The figures are of the last minute, or of the time since the start if that is shorter. */
function showStages({ stages: figures, stageSeconds }) {
  for (const [key, show] of stages) show(figures[key]);
  const span = stageSeconds >= 60 ? 'last minute' : `last ${Math.max(1, Math.floor(stageSeconds))} s`;
  const isIdle = Object.values(figures).every(({ p50 }) => p50 === null);
  setText($('stages-span'), isIdle ? `no reading in the ${span}` : `in the ${span}`);
}

function stageRow(key, label, meaning) {
  const median = element('b', {}, '–');
  const tail = element('span', {}, '–');
  // For a screen reader. The legend above the stages explains the two figures for others.
  const spoken = element('span', { class: 'hidden' });
  const bar = element('i', { hidden: '' });
  const track = element('div', { class: 'track', 'aria-hidden': 'true' }, bar);
  stages.set(key, ({ p50, p99 }) => {
    setText(median, delay(p50));
    setText(tail, delay(p99));
    setText(spoken, `median ${delay(p50)}, 99th percentile ${delay(p99)}`);
    bar.hidden = p50 === null;
    track.dataset.beyond = String(p99 !== null && p99 > SHORTEST * 10 ** DECADES);
    // The bar keeps its smallest width at the end of the axis too.
    bar.style.left = `min(${place(p50) * 100}%, 100% - 0.5rem)`;
    bar.style.right = `${(1 - place(p99)) * 100}%`;
  });
  return element(
    'div',
    { class: 'stage', 'data-stage': key },
    element('span', { class: 'label' }, label, ' ', element('small', {}, meaning)),
    element(
      'span',
      { class: 'figures' },
      element('span', { 'aria-hidden': 'true' }, median, ' to ', tail),
      spoken,
    ),
    track,
  );
}

function delay(seconds) {
  return seconds !== null && seconds >= LONGEST ? `over ${duration(LONGEST)}` : duration(seconds);
}

/** Position on the logarithmic scale, 0 to 1. */
function place(seconds) {
  if (seconds === null) return 0;
  return Math.min(1, Math.max(0, Math.log10(seconds / SHORTEST) / DECADES));
}

/** Since when the counts are. With several ingest processes this is the latest start; the others started earlier. */
function beginning({ since, instances }) {
  return `since ${moment(Date.parse(since), serverNow())}${instances.length === 1 ? '' : ' or earlier'}`;
}

function showGaps({ devices, missing, healed = 0, list, truncated }, since) {
  setText($('gaps-sum'), devices === 0 ? '' : sumOfGaps(devices, missing, healed, since));
  const lacking = list.filter((gap) => gap.missing + gap.givenUp > 0).sort((a, b) => b.missing - a.missing);
  const rows = lacking
    .slice(0, MAX_GAP_ROWS)
    .map((gap) =>
      element(
        'li',
        {},
        element('span', { title: gap.device }, nameText(gap.device)),
        element('span', {}, lackOf(gap)),
      ),
    );
  const notes = notesOfGaps(devices, lacking.length, truncated);
  rows.push(...notes.map((note) => element('li', { class: 'none' }, note)));
  replaceIfChanged($('gaps'), rows);
}

function sumOfGaps(devices, missing, healed, since) {
  const numbered =
    devices === 1 ? 'one sensor that numbers its' : `${count(devices)} sensors that number their`;
  const also = healed > 0 ? ` and ${count(healed)} healed` : '';
  return `${count(missing)} missing${also} from ${numbered} readings, ${since}`;
}

/** What is below the list of sensors. */
function notesOfGaps(devices, lacking, truncated) {
  const notes = [];
  if (lacking === 0 && devices === 0)
    notes.push('No sensor numbers its readings, so a missing one cannot be noticed.');
  else if (lacking === 0) notes.push('Nothing is missing.');
  if (truncated) notes.push('And more sensors.');
  else if (lacking > MAX_GAP_ROWS) notes.push(`And ${count(lacking - MAX_GAP_ROWS)} more sensors.`);
  return notes;
}

/** `3 missing (7–9)`, how many of them its sensor cannot send again, and the number of those whose details are no longer kept. */
function lackOf(gap) {
  const words = [];
  if (gap.missing > 0) words.push(`${count(gap.missing)} missing (${ranges(gap)})`);
  if (gap.gone > 0) words.push(`${count(gap.gone)} of them gone from the sensor`);
  if (gap.givenUp > 0) words.push(`${count(gap.givenUp)} older ones no longer followed`);
  return words.join(', ');
}

function ranges(gap) {
  const words = gap.ranges
    .slice(0, 3)
    .map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`));
  return words.join(', ') + (gap.ranges.length > 3 ? ', …' : '');
}

function replaceIfChanged(list, rows) {
  const same =
    list.children.length === rows.length && rows.every((row, i) => row.isEqualNode(list.children[i]));
  if (!same) list.replaceChildren(...rows);
}

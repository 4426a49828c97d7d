// The ledger, the stages, gaps and quarantine: one poll feeds them all.

import { get, serverNow } from './api.js';
import { $, element, setText } from './dom.js';
import { count, duration, moment, rate } from './format.js';

const TERMS = [
  ['received', 'received', ''],
  ['stored', 'stored', '='],
  ['duplicate', 'duplicate', '+'],
  ['quarantined', 'quarantined', '+'],
  ['spooled', 'spooled', '+'],
  ['inFlight', 'in flight', '+'],
];
const STAGES = [
  ['travel', 'Travel', 'sensor to here'],
  ['queue', 'Queue', 'for a writer'],
  ['store', 'Store', 'until committed'],
  ['ack', 'Ack', 'to the broker'],
  ['end_to_end', 'End to end', ''],
];
/** The scale of the stage bars, seconds: 0.01 ms to 10 s in equal decades. */
const SHORTEST = 1e-5;
const DECADES = 6;
/** Seconds. */
const WAITING_AFTER = 2;
const MAX_GAP_ROWS = 12;
const QUARANTINE_PAGE = 10;
const PAYLOAD_SHOWN = 2000;

const figures = new Map();
const bands = new Map();
const stages = new Map();
let before = null;
let perSecond = null;
let quarantineSeen = -1;
let quarantineNext = null;

export function initPipeline() {
  for (const [key, label, sign] of TERMS) {
    const figure = element('dd', {}, '–');
    const swatch = key === 'received' ? [] : [element('i', { 'data-share': key })];
    figures.set(key, figure);
    $('equation').append(element('div', { 'data-sign': sign }, element('dt', {}, ...swatch, label), figure));
    if (key === 'received') continue;
    bands.set(key, element('i', { 'data-share': key }));
    $('staff').append(bands.get(key));
  }
  for (const [key, label, meaning] of STAGES) $('stages').append(stageRow(key, label, meaning));
  const scale = element('div', { class: 'scale', 'aria-hidden': 'true' });
  for (const mark of ['0.01', '0.1', '1 ms', '10', '100', '1 s', '10'])
    scale.append(element('span', { class: 'mark' }, mark));
  $('stages').append(scale);
  $('quarantine-more').addEventListener('click', () => void loadQuarantine(quarantineNext));
}

/** Reads the ledger and shows it. Throws, with a message for people, when ingest cannot be asked. */
export async function refreshPipeline() {
  const ledger = await get('/v1/ledger');
  const { readings, gaps } = ledger;
  for (const [key, figure] of figures) setText(figure, count(readings[key]));
  for (const [key, band] of bands) band.style.flexGrow = String(readings[key]);
  showBalance(ledger);
  showRate(readings.received);
  showWaiting(ledger.oldestUnstoredSeconds);
  for (const [key, show] of stages) show(ledger.stages[key]);
  showGaps(gaps);
  if (readings.quarantined !== quarantineSeen) {
    quarantineSeen = readings.quarantined;
    await loadQuarantine(null);
  }
  return ledger;
}

/** Ingest could not be asked: what is shown is old. */
export function forgetBalance() {
  before = null;
  $('balance').dataset.balanced = 'unknown';
  setText($('balance'), 'Ingest does not answer');
  setText($('rate'), '–');
}

function showBalance({ balanced, unreachable }) {
  const mark = $('balance');
  mark.dataset.balanced = String(balanced);
  const missing = unreachable.length === 0 ? '' : `, ${count(unreachable.length)} not answering`;
  setText(mark, (balanced ? '✓ Balanced' : '✗ Does not add up') + missing);
  mark.title = balanced ? 'Every reading that came in is accounted for' : 'Some readings are unaccounted for';
}

/** What waits a moment is on its way; longer, the store is away or too slow. */
function showWaiting(seconds) {
  const waits = seconds >= WAITING_AFTER;
  $('waiting').hidden = !waits;
  if (waits) setText($('waiting'), `The oldest reading that is not stored has waited ${duration(seconds)}`);
}

function showRate(received) {
  const now = performance.now();
  if (before !== null && now > before.at && received >= before.received) {
    const measured = ((received - before.received) / (now - before.at)) * 1000;
    // A sum since the start, read every two seconds: half of the old value takes the jitter out.
    perSecond = perSecond === null ? measured : perSecond / 2 + measured / 2;
    setText($('rate'), rate(perSecond));
  } else {
    perSecond = null;
  }
  before = { at: now, received };
}

function stageRow(key, label, meaning) {
  const median = element('b', {}, '–');
  const tail = element('span', {}, '–');
  const bar = element('i', { hidden: '' });
  stages.set(key, ({ p50, p99 }) => {
    setText(median, duration(p50));
    setText(tail, duration(p99));
    bar.hidden = p50 === null;
    bar.style.left = `${place(p50) * 100}%`;
    bar.style.width = `${(place(p99) - place(p50)) * 100}%`;
  });
  return element(
    'div',
    { class: 'stage', 'data-stage': key },
    element('span', { class: 'label' }, label, element('small', {}, meaning)),
    element('span', { class: 'figures' }, median, ' to ', tail),
    element('div', { class: 'track', 'aria-hidden': 'true' }, bar),
  );
}

/** 0 to 1 on the logarithmic scale. */
function place(seconds) {
  if (seconds === null) return 0;
  return Math.min(1, Math.max(0, Math.log10(seconds / SHORTEST) / DECADES));
}

function showGaps({ devices, missing, list, truncated }) {
  const numbered = devices === 1 ? 'one sensor numbers' : `${count(devices)} sensors number`;
  setText($('gaps-sum'), devices === 0 ? '' : `${count(missing)} missing, ${numbered} readings`);
  const lacking = list.filter((gap) => gap.missing > 0).sort((a, b) => b.missing - a.missing);
  const rows = lacking
    .slice(0, MAX_GAP_ROWS)
    .map((gap) =>
      element(
        'li',
        {},
        element('span', {}, gap.device),
        element('span', {}, `${count(gap.missing)} missing (${ranges(gap)})`),
      ),
    );
  if (rows.length === 0) {
    const none =
      devices === 0 ? 'No sensor numbers its readings, so nobody can tell.' : 'Nothing is missing.';
    rows.push(element('li', { class: 'none' }, none));
  }
  const more = lacking.length - MAX_GAP_ROWS;
  if (more > 0 || truncated) {
    rows.push(
      element('li', { class: 'none' }, truncated ? 'And more sensors.' : `And ${count(more)} more sensors.`),
    );
  }
  replaceIfChanged($('gaps'), rows);
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

async function loadQuarantine(cursor) {
  const page = await get('/v1/quarantine', { limit: QUARANTINE_PAGE, cursor: cursor ?? undefined });
  const rows = page.items.map(quarantineRow);
  if (cursor === null && rows.length === 0)
    rows.push(element('li', { class: 'none' }, 'Nothing is in quarantine.'));
  if (cursor === null) $('quarantine').replaceChildren(...rows);
  else $('quarantine').append(...rows);
  setText($('quarantine-sum'), page.total === 0 ? '' : `${count(page.total)} messages could not be stored`);
  quarantineNext = page.next;
  $('quarantine-more').hidden = page.next === null;
}

function quarantineRow({ id, received, topic, reason, detail, size }) {
  const when = element(
    'time',
    { class: 'when', datetime: received },
    moment(Date.parse(received), serverNow()),
  );
  const summary = element(
    'summary',
    {},
    element('span', { class: 'reason' }, reason.replaceAll('_', ' ')),
    element('span', { class: 'topic' }, topic),
    when,
    element('span', { class: 'detail' }, detail),
  );
  const payload = element('pre', { class: 'payload' }, `${count(size)} bytes`);
  const details = element('details', {}, summary, payload);
  details.addEventListener('toggle', () => void showPayload(id, payload), { once: true });
  return element('li', {}, details);
}

async function showPayload(id, node) {
  try {
    const { payload = '', size } = await get(`/v1/quarantine/${encodeURIComponent(id)}`);
    const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0));
    const text = new TextDecoder().decode(bytes.subarray(0, PAYLOAD_SHOWN));
    const cut = bytes.length > PAYLOAD_SHOWN ? `\n… ${count(bytes.length - PAYLOAD_SHOWN)} bytes more` : '';
    setText(node, size === 0 ? 'No bytes at all' : text + cut);
  } catch (error) {
    setText(node, error.message);
  }
}

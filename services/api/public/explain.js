// For administrators: why messages are in quarantine, routes that would take them, and a form to try a message.

import { get, send, serverNow } from './api.js';
import { confirm } from './dialog.js';
import { $, element, said, setText } from './dom.js';
import { count, measure, middleCut, moment } from './format.js';

/** The causes are read again when the quarantine changes, but not more often than this. Milliseconds. */
const LEAST_BETWEEN_MS = 15_000;
const TOPIC_SHOWN = 200;
/** Readings, and ignored fields, of an explanation that are shown. */
const MOST_SHOWN = 50;
/** A larger payload of the quarantine is not copied into the form, bytes. */
const MOST_COPIED = 64 * 1024;

/** The number of quarantined readings when the causes were read. */
let quarantined = null;
let readAt = Number.NEGATIVE_INFINITY;

export function initExplain() {
  $('explain-form').addEventListener('submit', (event) => {
    event.preventDefault();
    void attempt($('explained'), () => explain());
  });
  // The list of messages was read again, for example because some were discarded.
  document.addEventListener('quarantine', () => {
    quarantined = null;
  });
}

/** Reads the causes when the quarantine has changed, for administrators only. */
export async function refreshCauses({ readings }) {
  if (document.body.dataset.admin === undefined || readings.quarantined === quarantined) return;
  if (performance.now() - readAt < LEAST_BETWEEN_MS) return;
  readAt = performance.now();
  quarantined = readings.quarantined;
  await attempt($('causes-said'), readCauses);
}

async function readCauses() {
  const { causes, messages, total, unlisted, unreachable } = await get('v1/quarantine/causes');
  const unknown = causes.filter(({ reason, route }) => reason === 'unknown_topic' && route === null);
  const others = causes.filter((cause) => !unknown.includes(cause));
  showCauses($('unknown-topics'), unknown, 'Every topic in quarantine has a route.');
  showCauses($('causes'), others, 'Nothing else is in quarantine.');
  const parts = [];
  if (total > messages) parts.push(`of the newest ${count(messages)} messages`);
  if (unlisted > 0) parts.push(`${count(unlisted)} of them not listed`);
  setText($('causes-sum'), parts.join(', '));
  if (unreachable.length > 0) setText($('causes-said'), unreachable[0].reason);
}

function showCauses(list, causes, none) {
  const open = new Set([...list.querySelectorAll('[open]')].map(({ dataset }) => dataset.cause));
  const rows = causes.map((cause) => causeRow(cause, open));
  list.replaceChildren(...(rows.length === 0 ? [element('li', { class: 'none' }, none)] : rows));
}

function causeRow({ reason, route, topic, count: messages, last, fix, proposals }, open) {
  const key = `${reason} ${route} ${topic}`;
  const summary = element(
    'summary',
    {},
    element('span', { class: 'reason' }, reason.replaceAll('_', ' ')),
    said(', '),
    element('span', { class: 'topic', title: topic }, middleCut(topic, TOPIC_SHOWN)),
    said(', '),
    element('span', { class: 'when' }, `${count(messages)} ${messages === 1 ? 'message' : 'messages'}`),
    said(', '),
    element('span', { class: 'detail' }, fix ?? 'No setting changes this: the sender must change.'),
  );
  const when = moment(Date.parse(last.received), serverNow());
  const newest = element(
    'p',
    { class: 'about' },
    `Newest, ${when}: ${middleCut(last.topic, TOPIC_SHOWN)}. ${last.detail}`,
  );
  const tools = element(
    'div',
    { class: 'tools' },
    explainButton(last),
    ...proposals.map((each) => addButton(each, $('causes-said'))),
  );
  const attributes = open.has(key) ? { open: '', 'data-cause': key } : { 'data-cause': key };
  return element('li', {}, element('details', attributes, summary, newest, tools));
}

function explainButton({ id, topic }) {
  const label = `Explain the newest message of ${middleCut(topic, TOPIC_SHOWN)}`;
  const button = element('button', { type: 'button', 'aria-label': label }, 'Explain the newest message');
  button.addEventListener('click', () => void attempt($('causes-said'), () => explainItem(id)));
  return button;
}

/** A button that adds a route. The result is shown in `place`, near the button. */
export function addButton(route, place) {
  const text = entryText(route);
  const button = element('button', { type: 'button' }, `Add the route ${middleCut(text, TOPIC_SHOWN)}`);
  button.addEventListener('click', () => void attempt(place, () => addRoute(route, place)));
  return button;
}

/** An entry as a line of the routes file. */
function entryText(route) {
  const [[key, value]] = Object.entries(route);
  return `- ${key}: ${value}`;
}

async function addRoute(route, place) {
  const text = `${entryText(route)} is added at the end of the routes file of ingest, and used at once.`;
  const isWanted = await confirm({ title: 'Add this route?', text, action: 'Add', className: '' });
  if (!isWanted) return;
  const { instances, unreachable } = await send('POST', 'v1/routes', {}, { route });
  await readCauses();
  const isNew = instances.some(({ added }) => added);
  const done = isNew ? 'The route was added. Replay the messages now.' : 'The route was there before.';
  setText(place, [done, ...unreachable.map(({ reason }) => reason)].join(' '));
}

/** Copies a message of the quarantine into the form, and explains it. */
async function explainItem(id) {
  const { topic, source, payload = '', size } = await get(`v1/quarantine/${encodeURIComponent(id)}`);
  if (source === 'http') throw new Error('The message is from HTTP, and uses no route.');
  if (size > MOST_COPIED)
    throw new Error(`The message has ${count(size)} bytes: try it with tidegauge explain.`);
  const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0));
  const text = textOf(bytes);
  $('explain-topic').value = topic;
  $('explain-payload').value = text ?? payload;
  $('explain-encoding').value = text === null ? 'base64' : 'text';
  $('explain-format').value = '';
  setText($('causes-said'), '');
  await attempt($('explained'), () => explain());
  $('explain-topic').focus();
}

/** UTF-8 as text; null when a text field would change it. */
function textOf(bytes) {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    // A text field changes line ends, and cannot have other control characters.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: see above
    return /[\u0000-\u0008\u000b-\u001f]/.test(text) ? null : text;
  } catch {
    return null;
  }
}

async function explain(route) {
  const format = $('explain-format').value || undefined;
  const found = await send(
    'POST',
    'v1/explain',
    {},
    {
      topic: $('explain-topic').value,
      payload: $('explain-payload').value,
      encoding: $('explain-encoding').value,
      ...(route === undefined ? { format } : { route }),
    },
  );
  setText($('explain-said'), '');
  $('explained').replaceChildren(...explanation(found));
}

function explanation({
  route,
  device,
  metric,
  readings,
  total,
  ignored,
  doubts = [],
  error,
  fix,
  proposals = [],
}) {
  const facts = [];
  const fact = (name, value) => facts.push(element('dt', {}, name), element('dd', {}, value));
  fact('Route', route === null ? 'none' : `${route.name} (${route.topic}), ${wayOf(route)}`);
  if (device !== null) fact('Device', device);
  if (metric !== null) fact('Metric', metric);
  if (error !== undefined) {
    fact('Quarantine', `${error.reason.replaceAll('_', ' ')}: ${error.message}`);
    fact('What changes it', fix ?? 'No setting changes this: the sender must change.');
  } else if (total === 0)
    fact('Result', 'Nothing to store. The message is acknowledged and counted as ignored.');
  for (const { field, reason } of ignored.slice(0, MOST_SHOWN)) fact('Ignored', `${field}: ${reason}`);
  for (const { field, reason } of doubts.slice(0, MOST_SHOWN)) fact('Note', `${field}: ${reason}`);
  if (error === undefined && fix !== undefined) fact('What changes it', fix);
  const parts = [element('dl', { class: 'facts' }, ...facts)];
  if (readings.length > 0) parts.push(readingTable(readings, total));
  if (proposals.length > 0) parts.push(element('div', { class: 'tools' }, ...proposals.flatMap(tryButtons)));
  return parts;
}

function wayOf({ preset, format }) {
  return preset === undefined ? `format ${format}` : `preset ${preset}`;
}

function tryButtons(route) {
  const text = middleCut(entryText(route), TOPIC_SHOWN);
  const button = element('button', { type: 'button' }, `Try it with ${text}`);
  button.addEventListener('click', () => void attempt($('explained'), () => explain(route)));
  return [button, addButton(route, $('explain-said'))];
}

function readingTable(readings, total) {
  const head = ['Device', 'Metric', 'Value', 'Time', 'Quality'];
  const rows = readings
    .slice(0, MOST_SHOWN)
    .map(({ device, metric, value, unit = '', time, quality }) =>
      element(
        'tr',
        {},
        ...[device, metric, `${measure(value)} ${unit}`, time, quality].map((cell) =>
          element('td', {}, cell),
        ),
      ),
    );
  const more = total - rows.length;
  const caption = `${count(total)} ${total === 1 ? 'reading' : 'readings'}${more > 0 ? `, ${count(rows.length)} shown` : ''}`;
  const table = element(
    'table',
    {},
    element('caption', {}, caption),
    element('thead', {}, element('tr', {}, ...head.map((name) => element('th', { scope: 'col' }, name)))),
    element('tbody', {}, ...rows),
  );
  // A wide table can be scrolled, also with the keyboard.
  return element(
    'div',
    { class: 'scrolled', tabindex: '0', role: 'region', 'aria-label': 'Readings' },
    table,
  );
}

/** Runs the work of a button. When it fails, the error is shown in the given place. */
async function attempt(place, work) {
  try {
    await work();
  } catch (error) {
    setText(place, error.message);
  }
}

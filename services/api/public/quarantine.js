// The list of messages that could not be stored. They can be read, replayed and discarded.

import { get, send, serverNow } from './api.js';
import { confirm } from './dialog.js';
import { $, element, said, setText } from './dom.js';
import { count, middleCut, moment } from './format.js';

const PAGE = 10;
/** Largest number of items that stay in the list when it is read again. */
const MOST_KEPT = 100;
const PAYLOAD_SHOWN = 2000;
/** Longer topics are shown in part. The item's tooltip has the complete topic. */
const TOPIC_SHOWN = 300;

/** Rows by id of the item. They are reused, so that an open item stays open when the list is read again. */
let rows = new Map();
let quarantined = -1;
let next = null;
/** The messages that a bulk change applies to: those that were there when the list was read. */
let listed = { matching: 0, until: null };
let isRunning = false;
let isStopped = false;

export function initQuarantine() {
  $('quarantine-more').addEventListener('click', () => void attempt(showMore));
  for (const id of ['quarantine-reason', 'quarantine-instance'])
    $(id).addEventListener('change', () => void attempt(reread));
  $('quarantine-replay').addEventListener('click', () => void changeAll('replay'));
  $('quarantine-discard').addEventListener('click', () => void changeAll('discard'));
  $('quarantine-stop').addEventListener('click', () => {
    isStopped = true;
  });
}

/** Reads the list again when the number of messages in the ledger has changed. @throws {RequestError} */
export async function refreshQuarantine({ readings, instances }) {
  const names = instances.map(({ instance }) => instance).sort();
  $('quarantine-instance').parentElement.hidden = names.length < 2;
  offer($('quarantine-instance'), names, (name) => name);
  if (readings.quarantined === quarantined || isRunning) return;
  await reread();
  quarantined = readings.quarantined;
}

async function reread() {
  const page = await read(Math.min(MOST_KEPT, Math.max(PAGE, rows.size)));
  const until = Math.max(serverNow(), ...page.items.map(({ received }) => Date.parse(received)));
  // One millisecond more, because the times of messages have microseconds.
  listed = { matching: page.total, until: new Date(until + 1).toISOString() };
  const known = rows;
  rows = new Map(page.items.map((item) => [item.id, known.get(item.id) ?? rowOf(item)]));
  showRows();
  describe(page);
  document.dispatchEvent(new Event('quarantine'));
}

async function showMore() {
  const page = await read(PAGE, next);
  for (const item of page.items) rows.set(item.id, rowOf(item));
  showRows();
  describe(page);
}

function read(limit, cursor) {
  return get('v1/quarantine', { ...filter(), limit, cursor });
}

/** The filter as parameters; undefined where nothing is chosen. */
function filter() {
  return {
    reason: $('quarantine-reason').value || undefined,
    instance: $('quarantine-instance').value || undefined,
  };
}

function describe(page) {
  next = page.next;
  $('quarantine-more').hidden = next === null;
  offer(
    $('quarantine-reason'),
    Object.keys(page.reasons).sort(),
    (reason) => `${words(reason)} (${count(page.reasons[reason])})`,
  );
  const total = Object.values(page.reasons).reduce((sum, each) => sum + each, 0);
  setText(
    $('quarantine-sum'),
    total === 0 ? '' : `${count(total)} ${total === 1 ? 'message' : 'messages'} kept`,
  );
  $('quarantine-tools').hidden = total === 0 && filter().reason === undefined && !isRunning;
  setText($('quarantine-replay'), `Replay all ${count(listed.matching)}`);
  setText($('quarantine-discard'), `Discard all ${count(listed.matching)}…`);
  enable();
}

function enable() {
  for (const id of ['quarantine-replay', 'quarantine-discard'])
    $(id).disabled = isRunning || listed.matching === 0;
  for (const id of ['quarantine-reason', 'quarantine-instance']) $(id).disabled = isRunning;
  $('quarantine-stop').hidden = !isRunning;
}

/** Sets the options of a list. The first one is "all", and the current choice stays. */
function offer(list, values, labelOf) {
  const { value: chosen } = list;
  const offered = chosen === '' || values.includes(chosen) ? values : [...values, chosen];
  const options = [
    element('option', { value: '' }, 'all'),
    ...offered.map((value) =>
      element('option', { value }, values.includes(value) ? labelOf(value) : words(value)),
    ),
  ];
  const same =
    list.children.length === options.length &&
    options.every((option, index) => option.isEqualNode(list.children[index]));
  if (same) return;
  list.replaceChildren(...options);
  list.value = chosen;
}

function words(reason) {
  return reason.replaceAll('_', ' ');
}

/** Shows the rows. Rows that stay are not moved, so that the focus stays where it is. */
function showRows() {
  const list = $('quarantine');
  const wanted = rows.size === 0 ? [element('li', { class: 'none' }, noneWords())] : [...rows.values()];
  const staying = new Set(wanted);
  const focused = list.contains(document.activeElement) ? document.activeElement.closest('li') : null;
  for (const row of [...list.children]) if (!staying.has(row)) row.remove();
  let place = list.firstChild;
  for (const row of wanted) {
    if (row === place) place = place.nextSibling;
    else list.insertBefore(row, place);
  }
  if (focused !== null && !list.contains(focused))
    (list.querySelector('summary') ?? $('quarantine-title')).focus();
}

function noneWords() {
  return filter().reason === undefined
    ? 'Every message could be stored. Nothing is kept here.'
    : 'No message with this reason is kept here.';
}

function rowOf({ id, received, topic, reason, detail, size }) {
  const when = element(
    'time',
    { class: 'when', datetime: received },
    moment(Date.parse(received), serverNow()),
  );
  const summary = element(
    'summary',
    {},
    element('span', { class: 'reason' }, words(reason)),
    said(', '),
    element('span', { class: 'topic', title: topic }, middleCut(topic, TOPIC_SHOWN)),
    said(', '),
    when,
    said(', '),
    element('span', { class: 'detail' }, detail),
  );
  const payload = element('pre', { class: 'payload' }, `${count(size)} bytes`);
  const replay = element(
    'button',
    { type: 'button', 'aria-label': `Replay the message of ${topic}` },
    'Replay',
  );
  const discard = element(
    'button',
    { type: 'button', 'aria-label': `Discard the message of ${topic}` },
    'Discard…',
  );
  replay.addEventListener('click', () => void attempt(() => replayOne(id)));
  discard.addEventListener('click', () => void attempt(() => discardOne(id, topic)));
  const details = element(
    'details',
    {},
    summary,
    payload,
    element('div', { class: 'tools' }, replay, discard),
  );
  details.addEventListener('toggle', () => void showPayload(id, payload), { once: true });
  return element('li', { 'data-id': id }, details);
}

async function showPayload(id, node) {
  try {
    const { payload = '', size } = await get(pathOf(id));
    const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0));
    const text = new TextDecoder().decode(bytes.subarray(0, PAYLOAD_SHOWN));
    const cut = bytes.length > PAYLOAD_SHOWN ? `\n… ${count(bytes.length - PAYLOAD_SHOWN)} bytes more` : '';
    setText(node, size === 0 ? 'The message is empty.' : text + cut);
  } catch (error) {
    setText(node, error.message);
  }
}

function pathOf(id) {
  return `v1/quarantine/${encodeURIComponent(id)}`;
}

async function replayOne(id) {
  const { stored, duplicate, quarantined: failed } = await change('POST', `${pathOf(id)}/replay`);
  await reread();
  if (failed > 0) say('The message failed again, so it stays in quarantine.');
  else
    say(
      stored > 0
        ? `Replayed: ${readings(stored)} stored.`
        : `Replayed: ${readings(duplicate)} had been stored before.`,
    );
}

async function discardOne(id, topic) {
  const text = `The message of ${middleCut(topic, TOPIC_SHOWN)} is deleted. This cannot be undone.`;
  if (!(await confirm({ title: 'Discard this message?', text, action: 'Discard' }))) return;
  await change('DELETE', pathOf(id));
  await reread();
  say('The message was discarded.');
}

function confirmDiscard(matching) {
  const action = `Discard ${count(matching)} ${matching === 1 ? 'message' : 'messages'}`;
  const { reason } = filter();
  const which =
    reason === undefined ? 'All messages in quarantine' : `All messages with the reason “${words(reason)}”`;
  const text = `${which} are deleted. This cannot be undone.`;
  return confirm({ title: `${action}?`, text, action });
}

/** Replays or discards all messages that the filter matches, in steps that the server bounds. */
async function changeAll(verb) {
  const { matching, until } = listed;
  if (verb === 'discard' && !(await confirmDiscard(matching))) return;
  isRunning = true;
  isStopped = false;
  enable();
  const sum = { tried: 0, replayed: 0, kept: 0, stored: 0, duplicate: 0, discarded: 0 };
  let trouble = null;
  let cursor;
  try {
    do {
      const done = sum.tried + sum.discarded;
      say(`${verb === 'replay' ? 'Replaying' : 'Discarding'}: ${count(done)} of ${count(matching)}`);
      const step = await change('POST', `v1/quarantine/${verb}`, { ...filter(), until, cursor });
      for (const key of Object.keys(sum)) sum[key] += step[key] ?? 0;
      trouble = step.unreachable[0]?.reason ?? null;
      cursor = step.next ?? undefined;
    } while (cursor !== undefined && !isStopped);
  } catch (error) {
    trouble = error.message;
  }
  isRunning = false;
  enable();
  await attempt(reread);
  const result = verb === 'replay' ? replayWords(sum) : `${count(sum.discarded)} discarded.`;
  say([isStopped ? 'Stopped.' : '', result, trouble ?? ''].filter(Boolean).join(' '));
}

function replayWords({ replayed, kept, stored, duplicate }) {
  const parts = [`${count(replayed)} replayed (${readings(stored)} stored`];
  if (duplicate > 0) parts.push(`, ${count(duplicate)} had been stored before`);
  parts.push(').');
  if (kept > 0)
    parts.push(` ${count(kept)} failed again and ${kept === 1 ? 'stays' : 'stay'} in quarantine.`);
  return parts.join('');
}

function readings(number) {
  return `${count(number)} ${number === 1 ? 'reading' : 'readings'}`;
}

/** A request that changes something. When it needs a login, the page shows the sign-in. */
async function change(method, path, parameters) {
  try {
    return await send(method, path, parameters);
  } catch (error) {
    if (error.status !== 401) throw error;
    throw new Error('Nothing was changed, because you are not signed in.');
  }
}

/** Runs the work of a button. When it fails, the error is shown in place of the result. */
async function attempt(work) {
  try {
    await work();
  } catch (error) {
    say(error.message);
  }
}

function say(text) {
  setText($('quarantine-said'), text);
}

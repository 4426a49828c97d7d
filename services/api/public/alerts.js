// Alerts of sensors: the active ones, and those that ended last.

import { get, serverNow } from './api.js';
import { $, element, said, setText } from './dom.js';
import { age, count, measure, moment } from './format.js';
import { titleOf } from './model.js';
import { nameText } from './names.js';
import { hrefOf } from './sensor-list.js';

const MOST_SHOWN = 50;
const EVERY_MS = 5000;
/** Without rules there is less to read. */
const EVERY_WITHOUT_RULES_MS = 60_000;

/** Shows the alerts, now and later. */
export async function followAlerts() {
  let again = EVERY_MS;
  if (!document.hidden) {
    try {
      const answer = await get('v1/alerts', { limit: MOST_SHOWN });
      if (!answer.configured) again = EVERY_WITHOUT_RULES_MS;
      showAlerts(answer);
    } catch (error) {
      setText($('alerts-sum'), error.message);
    }
  }
  setTimeout(followAlerts, again);
}

function showAlerts({ configured, evaluating, active, alerts, next, unreachable }) {
  const total = active.info + active.warning + active.critical;
  const words = `${count(total)} ${total === 1 ? 'alert' : 'alerts'}`;
  $('alerts').hidden = !configured;
  $('alert-count').hidden = total === 0;
  setText($('alert-count'), words);
  setText($('alerts-sum'), summary(evaluating, total, active, unreachable));
  const rows = alerts.map(alertRow);
  if (rows.length === 0) rows.push(element('li', { class: 'none' }, 'No sensor raised an alert.'));
  if (next !== null) rows.push(element('li', { class: 'none' }, 'And more alerts.'));
  const list = $('alert-list');
  const same =
    list.children.length === rows.length && rows.every((row, i) => row.isEqualNode(list.children[i]));
  if (!same) list.replaceChildren(...rows);
}

function summary(evaluating, total, { critical }, unreachable) {
  if (!evaluating) {
    return unreachable.length === 0
      ? 'No ingest process evaluates the rules now'
      : 'The ingest process that evaluates the rules does not answer';
  }
  if (total === 0) return 'none is active';
  return critical === 0 ? `${count(total)} active` : `${count(total)} active, ${count(critical)} critical`;
}

function alertRow({ rule, severity, state, kind, device, metric, limit, value, since, raised, ended }) {
  const attributes = { class: 'alert-device', href: hrefOf(device), title: device };
  const name = element('a', attributes, titleOf(device));
  const begun = Date.parse(since ?? raised);
  const when =
    ended === null
      ? `since ${moment(begun, serverNow())}`
      : `${moment(begun, serverNow())} to ${moment(Date.parse(ended), serverNow())}`;
  return element(
    'li',
    { 'data-state': state, 'data-severity': severity },
    element('span', { class: 'severity' }, state === 'active' ? severity : 'ended'),
    said(', '),
    name,
    said(', '),
    element('span', { class: 'what', title: `rule ${rule}` }, what(kind, metric, value, limit)),
    said(', '),
    element('span', { class: 'alert-when' }, when),
  );
}

/** `temperature 81.5 is above 80`, or `no reading for 15 min`. */
function what(kind, metric, value, limit) {
  if (kind !== 'quiet') return `${nameText(metric)} ${measure(value)} is ${kind} ${measure(limit)}`;
  return `no ${nameText(metric ?? 'reading')} for ${age(limit)}`;
}

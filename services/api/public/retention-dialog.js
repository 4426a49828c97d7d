// The dialog with the rules of retention. What a change would delete is counted before it is made. The page loads this
// module when the dialog is opened for the first time.

import { get, send, serverNow } from './api.js';
import {
  ask,
  attempt,
  confirm,
  fillList,
  labelled,
  listRow,
  openDialog,
  statusLine,
  workButton,
} from './dialog.js';
import { element, setText } from './dom.js';
import { count, moment } from './format.js';

/** An age alone is that of readings. */
const AGE = /^(\d+[smhdwy]|forever)$/;

/** Shows the rules of retention. */
export async function openRetention() {
  const said = statusLine();
  const [about, list] = [element('p', { class: 'about' }), element('ul', { class: 'rows' })];
  const view = { said, about, list, rules: [] };
  openDialog(
    { name: 'Retention', title: 'Retention', said },
    about,
    list,
    element(
      'div',
      { class: 'tools' },
      workButton('Add a rule…', said, () => editRule(view, null)),
    ),
  );
  await attempt(said, () => readRules(view));
}

async function readRules(view) {
  show(view, await get('v1/retention'));
}

function show(view, { rules, others, trouble, last, unreachable }) {
  view.rules = rules;
  const first = 'The first rule that matches a sensor counts.';
  setText(view.about, `${first} Readings that no rule matches: ${others}. ${lastWords(last)}`);
  const rows = rules.map((rule, index) =>
    listRow(
      view.said,
      `${nameOf(rule)}: ${rule.keep}`,
      ['Edit…', `Edit the rule of ${nameOf(rule)}`, () => editRule(view, index)],
      ['Remove…', `Remove the rule of ${nameOf(rule)}`, () => removeRule(view, index)],
    ),
  );
  fillList(view.list, rows, 'No rule.');
  const problem = trouble ?? unreachable[0]?.reason;
  if (problem !== undefined) setText(view.said, problem);
}

function lastWords(last) {
  if (last === null) return 'Nothing was deleted since ingest started.';
  const when = moment(Date.parse(last.started), serverNow());
  if (last.result === 'failed') return `The last run, ${when}, failed.`;
  const what = last.deleted === null ? 'readings' : readings(last.deleted);
  return `The last run, ${when}, deleted ${what}.`;
}

function nameOf({ devices, metrics }) {
  return [devices ?? 'all sensors', ...(metrics === undefined ? [] : [metrics.join(', ')])].join(': ');
}

function readings(number) {
  return `${count(number)} ${number === 1 ? 'reading' : 'readings'}`;
}

/** @param index of the rule; null adds one */
async function editRule(view, index) {
  const rule = index === null ? null : view.rules[index];
  const common = { class: 'field', autocomplete: 'off' };
  const device = element('input', { ...common, maxlength: '200', value: rule?.devices ?? '' });
  const metrics = element('input', { ...common, value: rule?.metrics?.join(', ') ?? '' });
  const keep = element('input', { ...common, required: '', maxlength: '100', value: rule?.keep ?? '' });
  const fields = element(
    'div',
    { class: 'form' },
    labelled('Sensor, with those below it (empty: all)', device),
    labelled('Metrics, with commas (empty: all)', metrics),
    labelled('Keep, such as 30d, or raw:30d,1m:1y', keep),
  );
  let rules = view.rules;
  let found = null;
  const answer = await ask({
    title: index === null ? 'Add a rule' : 'Edit the rule',
    text: 'Ages have s, m, h, d, w or y. raw: readings; 1m, 1h and 1d: rollups of minutes, hours and days.',
    action: 'Count what it deletes',
    label: fields,
    async work() {
      const made = ruleOf(device.value.trim(), metrics.value, keep.value.trim());
      rules = index === null ? withRule(view.rules, made) : view.rules.with(index, made);
      found = await send('POST', 'v1/retention/preview', {}, { rules });
    },
  });
  if (answer !== null) await change(view, rules, found);
}

function ruleOf(device, metrics, keep) {
  const names = metrics.split(/[\s,]+/).filter((name) => name !== '');
  return {
    ...(device === '' ? {} : { devices: device }),
    ...(names.length === 0 ? {} : { metrics: names }),
    keep: AGE.test(keep) ? `raw:${keep}` : keep,
  };
}

/** Adds a rule before the first one that covers it, because it would never be used after that one. */
function withRule(rules, made) {
  const covering = rules.findIndex(({ devices, metrics }) => {
    const isWithin = devices === undefined || `${made.devices ?? ''}/`.startsWith(`${devices}/`);
    const isAmong = metrics === undefined || made.metrics?.every((name) => metrics.includes(name));
    return isWithin && isAmong;
  });
  return rules.toSpliced(covering === -1 ? rules.length : covering, 0, made);
}

async function removeRule(view, index) {
  const rules = view.rules.toSpliced(index, 1);
  await change(view, rules, await send('POST', 'v1/retention/preview', {}, { rules }));
}

/** Requests a confirmation with what the rules would delete, uses them, and offers the earlier ones then. */
async function change(view, rules, found) {
  const total = found.rules.reduce((sum, each) => sum + each.readings, 0);
  const least = found.isComplete ? '' : 'at least ';
  const text =
    total === 0 && found.isComplete
      ? 'These rules delete no reading now.'
      : `These rules delete ${least}${readings(total)} with the next run. This cannot be undone after it.`;
  const action = total === 0 ? 'Use them' : `Delete ${least}${readings(total)}`;
  const className = total === 0 && found.isComplete ? '' : 'danger';
  if (!(await confirm({ title: 'Use these rules?', text, action, className }))) return;
  const before = view.rules;
  show(view, await send('PUT', 'v1/retention', {}, { rules, before }));
  const undo = workButton('Undo', view.said, async () => {
    show(view, await send('PUT', 'v1/retention', {}, { rules: before, before: view.rules }));
    setText(view.said, 'The rules are the earlier ones again.');
  });
  view.said.replaceChildren('The rules are used now. ', undo);
}

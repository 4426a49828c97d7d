// The dialog with the alert rules of a sensor and the receivers of messages. The page loads this module when the dialog
// is opened for the first time.

import { clearOf, concerns } from './alert-limits.js';
import { get, send } from './api.js';
import {
  ask,
  attempt,
  confirm,
  fillList,
  labelled,
  listRow,
  openDialog,
  selectField,
  statusLine,
  workButton,
} from './dialog.js';
import { element, setText } from './dom.js';
import { byInterest } from './format.js';
import { pauseOf, sensors, titleOf } from './model.js';
import { nameText } from './names.js';

const SEVERITIES = ['info', 'warning', 'critical'].map((severity) => [severity, severity]);
const CONDITIONS = [
  ['above', 'is above'],
  ['below', 'is below'],
  ['quiet', 'is not reported for'],
];
/** The choice of all metrics together, for a sensor that is quiet. Names of metrics are not empty. */
const ANY = '';
/** A sensor is quiet after this many of its usual intervals, but not before the least time. Seconds. */
const PAUSES = 3;
const LEAST_QUIET = 300;
/** Kinds of receivers with their fields, `[key, name, attributes]`. */
const KINDS = {
  ntfy: [
    ['url', 'Topic, as https://ntfy.sh/topic', { type: 'url', required: '' }],
    ['token', 'Access token (optional)', { type: 'password' }],
  ],
  telegram: [
    ['token', 'Token of the bot', { type: 'password', required: '' }],
    ['chat', 'Chat, a number or @channel', { required: '' }],
  ],
  matrix: [
    ['url', 'Server, as https://matrix.org', { type: 'url', required: '' }],
    ['token', 'Access token', { type: 'password', required: '' }],
    ['room', 'Room, as !id:server', { required: '' }],
  ],
  slack: [['url', 'Address of the incoming webhook', { type: 'url', required: '' }]],
  email: [
    ['to', 'To', { type: 'email', required: '' }],
    ['server', 'Mail server, as smtps://mail.example.org (empty: that of ALERT_SMTP)', {}],
    ['user', 'User (optional)', {}],
    ['password', 'Password (optional)', { type: 'password' }],
    ['from', 'From (empty: the user)', { type: 'email' }],
  ],
  webhook: [
    ['url', 'Address', { type: 'url', required: '' }],
    ['secret', 'Secret that signs the messages (optional)', { type: 'password' }],
  ],
};

/** Shows the rules that concern a sensor, and the receivers. */
export async function openAlerts(name) {
  const [rules, receivers] = [element('ul', { class: 'rows' }), element('ul', { class: 'rows' })];
  const said = statusLine();
  const view = { name, rules, receivers, said, all: [] };
  const content = element(
    'div',
    { class: 'alert-rules' },
    rules,
    element(
      'div',
      { class: 'tools' },
      workButton('Add a rule…', said, () => editRule(view, null)),
    ),
    element('h3', {}, 'Messages go to'),
    receivers,
    element(
      'div',
      { class: 'tools' },
      workButton('Add a receiver…', said, () => editReceiver(view)),
    ),
  );
  openDialog({ name: 'Alerts', title: `Alerts of ${titleOf(name)}`, said }, content);
  await attempt(said, async () => {
    await readRules(view);
    await readReceivers(view);
  });
}

async function readRules(view) {
  const { rules, trouble, unreachable } = await get('v1/alerts/rules');
  view.all = rules;
  document.dispatchEvent(new Event('rules'));
  const mine = rules.filter((rule) => concerns(rule, view.name));
  const rows = mine.map((rule) => ruleRow(view, rule));
  fillList(view.rules, rows, 'No rule concerns this sensor.');
  const problem = trouble ?? unreachable[0]?.reason;
  if (problem !== undefined) setText(view.said, problem);
}

async function readReceivers(view) {
  const { receivers, trouble } = await get('v1/alerts/receivers');
  const rows = receivers.map((receiver) => receiverRow(view, receiver));
  fillList(view.receivers, rows, 'Nobody. Active alerts are on this page only.');
  if (trouble !== null) setText(view.said, trouble);
}

function ruleRow(view, rule) {
  const where = rule.device === view.name ? '' : ` (${nameText(rule.device ?? 'all sensors')})`;
  return listRow(
    view.said,
    `${words(rule)}, ${rule.severity}${where}`,
    ['Edit…', `Edit the rule ${rule.name}`, () => editRule(view, rule)],
    ['Delete', `Delete the rule ${rule.name}`, () => removeRule(view, rule)],
  );
}

/** `temperature above 80 for 5m`, or `no reading for 15m`. */
function words({ metric, above, below, quiet, for: time }) {
  if (quiet !== undefined) return `no ${nameText(metric ?? 'reading')} for ${quiet}`;
  const limits = [
    above === undefined ? null : `above ${above}`,
    below === undefined ? null : `below ${below}`,
  ];
  const held = time === undefined ? '' : ` for ${time}`;
  return `${nameText(metric)} ${limits.filter((limit) => limit !== null).join(' or ')}${held}`;
}

async function removeRule(view, rule) {
  await send('DELETE', pathOf('rules', rule.name));
  await readRules(view);
  const undo = element('button', { type: 'button' }, 'Undo');
  undo.addEventListener('click', () => void attempt(view.said, () => putRule(view, rule)));
  view.said.replaceChildren(`The rule ${rule.name} was deleted. `, undo);
}

async function putRule(view, { name, ...fields }) {
  await send('PUT', pathOf('rules', name), {}, fields);
  await readRules(view);
}

/** Shows the form of a rule; without a rule that of a new one. */
async function editRule(view, rule) {
  const sensor = sensors.get(view.name);
  const form = ruleForm(sensor, rule);
  const answer = await ask({
    title: rule === null ? 'Add a rule' : 'Edit the rule',
    text: rule === null ? `An alert of ${titleOf(view.name)} begins when` : rule.name,
    action: 'Save',
    label: form.fields,
    async work() {
      const fields = form.read();
      // A rule of several sensors stays one.
      const device = rule === null ? view.name : rule.device;
      const scope = device === undefined ? {} : { device };
      const name = rule?.name ?? freeName(view, fields);
      await putRule(view, { name, ...scope, ...fields });
    },
  });
  if (answer !== null) setText(view.said, 'Saved. The rule is used now.');
}

/** The fields of a rule, and a function that reads them. The rest of a rule stays. */
function ruleForm(sensor, rule) {
  const numeric = [...(sensor?.metrics ?? [])].filter(([, { value }]) => typeof value === 'number');
  const metrics = numeric.map(([metric]) => metric).sort(byInterest);
  if (rule?.metric !== undefined && !metrics.includes(rule.metric)) metrics.unshift(rule.metric);
  const any = element('option', { value: ANY }, 'any metric');
  const metric = selectField(metrics.map((each) => [each, nameText(each)]));
  const condition = selectField(CONDITIONS);
  const severity = selectField(SEVERITIES);
  const limit = element('input', { class: 'field', type: 'number', step: 'any' });
  const clear = element('input', { class: 'field', type: 'number', step: 'any' });
  const time = element('input', { class: 'field', placeholder: '5m', autocomplete: 'off' });
  const quiet = element('input', { class: 'field', placeholder: '15m', autocomplete: 'off' });
  const held = labelled('for at least, such as 5m (optional)', time);
  const cleared = labelled('It ends at (optional)', clear);
  const value = labelled('Limit', limit);
  const silence = labelled('Time, such as 15m or 1d', quiet);
  const hint = element('p', { class: 'about' });
  const arrange = () => {
    const isQuiet = condition.value === 'quiet';
    for (const field of [value, cleared, held]) field.hidden = isQuiet;
    for (const field of [silence, hint]) field.hidden = !isQuiet;
    if (isQuiet) {
      metric.prepend(any);
      metric.value = ANY;
    } else any.remove();
    limit.required = !isQuiet;
    quiet.required = isQuiet;
    if (isQuiet && quiet.value === '' && sensor !== undefined) void suggest(sensor, quiet, hint);
  };
  condition.addEventListener('change', arrange);
  const kind = rule === null ? 'above' : CONDITIONS.map(([each]) => each).find((each) => each in rule);
  condition.value = kind;
  severity.value = rule?.severity ?? 'warning';
  quiet.value = rule?.quiet ?? '';
  limit.value = rule?.[kind] ?? '';
  clear.value = clearOf(rule?.clear, kind) ?? '';
  time.value = rule?.for ?? '';
  arrange();
  if (rule !== null) metric.value = rule.metric ?? ANY;
  const first = [labelled('Metric', metric), labelled('Condition', condition)];
  const rest = [value, cleared, held, silence, hint, labelled('Severity', severity)];
  return {
    fields: element('div', { class: 'form' }, ...first, ...rest),
    read: () => ({
      ...(metric.value === ANY ? {} : { metric: metric.value }),
      ...conditionOf({ kind: condition.value, limit, clear, time, quiet, rule }),
      severity: severity.value,
    }),
  };
}

/** The other limit of a rule with two of them stays. */
function conditionOf({ kind, limit, clear, time, quiet, rule }) {
  if (kind === 'quiet') return { quiet: quiet.value.trim() };
  const other = kind === 'above' ? 'below' : 'above';
  const kept = rule?.above === undefined || rule.below === undefined ? undefined : rule[other];
  const end = clear.value === '' ? Number(limit.value) : Number(clear.value);
  const held = time.value.trim();
  const ends = kept === undefined ? end : { [kind]: end, [other]: clearOf(rule.clear, other) ?? kept };
  return {
    [kind]: Number(limit.value),
    ...(kept === undefined ? {} : { [other]: kept }),
    ...(clear.value === '' && kept === undefined ? {} : { clear: ends }),
    ...(held === '' ? {} : { for: held }),
  };
}

/** Suggests a time without readings by the usual interval of the sensor. */
async function suggest(sensor, field, hint) {
  const pause = await pauseOf(sensor).catch(() => null);
  if (pause === null || field.value !== '') return;
  const minutes = Math.ceil(Math.max(LEAST_QUIET, PAUSES * pause) / 60);
  field.value = minutes % 60 === 0 ? `${minutes / 60}h` : `${minutes}m`;
  const usual = pause < 120 ? `${Math.round(pause)} s` : `${Math.round(pause / 60)} min`;
  setText(hint, `It usually reports every ${usual}.`);
}

/** A name that no rule has, from the sensor, the metric and the condition. */
function freeName({ name, all }, { metric, above, quiet }) {
  const condition = quiet !== undefined ? 'quiet' : above === undefined ? 'below' : 'above';
  const parts = [name, metric, condition].filter((part) => part !== undefined);
  const base = parts
    .join('-')
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
    .slice(-60);
  for (let n = 1; ; n += 1) {
    const candidate = n === 1 ? base : `${base}-${n}`;
    if (!all.some((rule) => rule.name === candidate)) return candidate;
  }
}

function receiverRow(view, { name, kind, target, isEntry, failed, waiting }) {
  const late = waiting === 0 ? '' : `, ${waiting} waiting after ${failed} failures`;
  const remove = ['Delete…', `Delete the receiver ${name}`, () => removeReceiver(view, name)];
  return listRow(
    view.said,
    `${name}: ${kind}, ${target}${late}`,
    ['Test', `Send a test message to ${name}`, () => testReceiver(view, name)],
    ...(isEntry ? [remove] : []),
  );
}

async function testReceiver(view, name) {
  setText(view.said, `Sending to ${name}…`);
  await send('POST', `${pathOf('receivers', name)}/test`);
  setText(view.said, `${name} accepted the test message.`);
}

async function removeReceiver(view, name) {
  const text = 'Its address and its secrets are deleted. This cannot be undone.';
  if (!(await confirm({ title: `Delete the receiver ${name}?`, text, action: 'Delete' }))) return;
  await send('DELETE', pathOf('receivers', name));
  await readReceivers(view);
  setText(view.said, `${name} was deleted.`);
}

async function editReceiver(view) {
  const kind = selectField(Object.keys(KINDS).map((each) => [each, each]));
  const pattern = { pattern: '[A-Za-z0-9_\\-]{1,64}', title: '1 to 64 letters, digits, _ and -' };
  const name = element('input', { class: 'field', required: '', autocomplete: 'off', ...pattern });
  const fields = element('div', { class: 'form' });
  let inputs = [];
  const arrange = () => {
    inputs = KINDS[kind.value].map(([key, title, attributes]) => {
      const common = { class: 'field', autocomplete: 'off', maxlength: '1000' };
      const input = element('input', { ...common, ...attributes });
      return { key, input, label: labelled(title, input) };
    });
    fields.replaceChildren(
      labelled('Name', name),
      labelled('Kind', kind),
      ...inputs.map(({ label }) => label),
    );
  };
  kind.addEventListener('change', () => {
    arrange();
    kind.focus();
  });
  arrange();
  const answer = await ask({
    title: 'Add a receiver',
    text: 'It gets a message when an alert begins and when it ends. A receiver of the same name is replaced.',
    action: 'Save',
    label: fields,
    async work() {
      const texts = inputs.map(({ key, input }) => [key, input.value.trim()]);
      const given = Object.fromEntries(texts.filter(([, text]) => text !== ''));
      await send('PUT', pathOf('receivers', name.value), {}, { kind: kind.value, ...given });
    },
  });
  if (answer === null) return;
  await readReceivers(view);
  setText(view.said, 'Saved. Send a test message now.');
}

function pathOf(list, name) {
  return `v1/alerts/${list}/${encodeURIComponent(name)}`;
}

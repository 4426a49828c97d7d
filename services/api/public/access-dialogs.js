// The dialogs with the keys of the API and the passwords with which sensors log in. The page loads this module when one of
// them is opened for the first time.

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
  showText,
  statusLine,
  workButton,
} from './dialog.js';
import { element, setText } from './dom.js';
import { count } from './format.js';
import { isSignedIn, signInWith } from './session.js';

/** What a key may do, as `[scopes with commas, text]`. */
const SCOPES = [
  ['read', 'read'],
  ['write', 'send readings, change sensors'],
  ['read,write', 'both'],
  ['admin', 'everything'],
];
const ADMIN = 'admin';

/** Shows the keys of the API. */
export async function openKeys() {
  const said = statusLine();
  const view = { said, list: element('ul', { class: 'rows' }) };
  openDialog(
    { name: 'Keys', title: 'Keys of the API', said },
    element('p', { class: 'about' }, 'People sign in on this page with a key, and programs send it.'),
    view.list,
    element(
      'div',
      { class: 'tools' },
      workButton('Make a key…', said, () => makeKey(view)),
    ),
  );
  await attempt(said, () => readKeys(view));
}

async function readKeys(view) {
  const { keys } = await get('v1/keys');
  const rows = keys.map((key) => keyRow(view, key));
  const open = 'No key. Everybody who reaches this page may change everything.';
  fillList(view.list, rows, isSignedIn() ? 'No key.' : open);
}

function keyRow(view, { id, name, scopes, devices, expires, state }) {
  const until = state === 'valid' && expires !== null ? `, until ${expires.slice(0, 10)}` : '';
  const end = state === 'valid' ? until : `, ${state}`;
  const text = `${name}: ${scopes.join(' and ')}, ${devices ?? 'all sensors'}${end} (${id})`;
  const revoke = ['Revoke…', `Revoke the key ${name}, ${id}`, () => revokeKey(view, id, name)];
  return listRow(view.said, text, ...(state === 'valid' ? [revoke] : []));
}

async function makeKey(view) {
  const form = keyForm();
  let made = null;
  const answer = await ask({
    title: 'Make a key',
    text: 'Its text is shown once, and nobody can read it later.',
    action: 'Make',
    label: form.fields,
    async work() {
      made = await send('POST', 'v1/keys', {}, form.read());
    },
  });
  if (answer === null) return;
  const { text, key } = made;
  // The first key closes changes to visitors without one.
  if (!isSignedIn() && key.scopes.includes(ADMIN)) await signInWith(text);
  await showText({
    title: `The key ${key.name}`,
    text: 'Copy it now. It is not shown again.',
    name: 'Key',
    value: text,
  });
  await readKeys(view);
  setText(view.said, `The key ${key.name} is valid now.`);
}

/** The fields of a key, and a function that reads them. */
function keyForm() {
  const name = element('input', { class: 'field', required: '', maxlength: '100', autocomplete: 'off' });
  const scopes = selectField(SCOPES);
  const device = element('input', { class: 'field', maxlength: '200', autocomplete: 'off' });
  const days = element('input', { class: 'field', type: 'number', min: '1', max: '7300', step: '1' });
  const limit = labelled('Only this sensor and those below it (optional)', device);
  // It concerns all sensors.
  scopes.addEventListener('change', () => {
    limit.hidden = scopes.value === ADMIN;
  });
  const fields = element(
    'div',
    { class: 'form' },
    labelled('What it is for', name),
    labelled('It may', scopes),
    limit,
    labelled('Days until it expires (optional)', days),
  );
  return {
    fields,
    read: () => ({
      name: name.value.trim(),
      scopes: scopes.value.split(','),
      ...(limit.hidden || device.value.trim() === '' ? {} : { devices: device.value.trim() }),
      ...(days.value === '' ? {} : { expiresInDays: Number(days.value) }),
    }),
  };
}

async function revokeKey(view, id, name) {
  const text = 'Programs and visitors with this key are refused within seconds. This cannot be undone.';
  if (!(await confirm({ title: `Revoke the key ${name}?`, text, action: 'Revoke' }))) return;
  await send('DELETE', `v1/keys/${id}`);
  await readKeys(view);
  setText(view.said, `The key ${name} was revoked.`);
}

/** Shows the logins of sensors. */
export async function openPasswords() {
  const said = statusLine();
  const view = { said, list: element('ul', { class: 'rows' }) };
  openDialog(
    { name: 'Passwords of sensors', title: 'Passwords of sensors', said },
    element('p', { class: 'about' }, 'A sensor logs in with a name and a password.'),
    view.list,
    element(
      'div',
      { class: 'tools' },
      workButton('Add a login…', said, () => addLogin(view)),
    ),
  );
  await attempt(said, () => readLogins(view));
}

async function readLogins(view) {
  const { users, total, unreachable } = await get('v1/passwords');
  const rows = users.map((user) =>
    listRow(
      view.said,
      user,
      ['New password…', `New password of ${user}`, () => renew(view, user)],
      ['Remove…', `Remove the login ${user}`, () => removeLogin(view, user)],
    ),
  );
  if (total > users.length)
    rows.push(element('li', { class: 'none' }, `And ${count(total - users.length)} more.`));
  fillList(view.list, rows, 'No sensor has a login.');
  if (unreachable.length > 0) setText(view.said, unreachable[0].reason);
}

async function addLogin(view) {
  const user = element('input', { class: 'field', required: '', maxlength: '256', autocomplete: 'off' });
  let made = null;
  const answer = await ask({
    title: 'Add a login',
    text: 'The sensor may publish below sensors/NAME/, unless a list of topics states otherwise.',
    action: 'Add',
    label: labelled('Name', user),
    async work() {
      made = await send('POST', 'v1/passwords', {}, { user: user.value.trim() });
    },
  });
  if (answer !== null) await showPassword(view, made);
}

async function renew(view, user) {
  const text = 'Its connections end, and its old password is refused. This cannot be undone.';
  const isWanted = await confirm({ title: `Make a new password of ${user}?`, text, action: 'Make' });
  if (!isWanted) return;
  await showPassword(view, await send('POST', 'v1/passwords', {}, { user, replace: true }));
}

async function showPassword(view, { user, password, unreachable }) {
  const text = 'Copy it now. It is not shown again.';
  await showText({ title: `The password of ${user}`, text, name: 'Password', value: password });
  await readLogins(view);
  const done = `${user} can log in within seconds.`;
  setText(view.said, [done, ...unreachable.map(({ reason }) => reason)].join(' '));
}

async function removeLogin(view, user) {
  const text = 'Its connections end, and it cannot log in again. This cannot be undone.';
  if (!(await confirm({ title: `Remove the login ${user}?`, text, action: 'Remove' }))) return;
  const { unreachable } = await send('DELETE', 'v1/passwords', { user });
  await readLogins(view);
  setText(view.said, [`${user} was removed.`, ...unreachable.map(({ reason }) => reason)].join(' '));
}

// The dialog with the backups of the store. The page loads this module when the dialog is opened for the first time.

import { get, send, serverNow } from './api.js';
import { attempt, fillList, openDialog, statusLine, workButton } from './dialog.js';
import { element, setText } from './dom.js';
import { count, moment } from './format.js';

/** While a backup is made, the list is read again at this interval. Milliseconds. */
const AGAIN_MS = 3000;
const MEBIBYTE = 1024 * 1024;

/** Shows the backups of the store. */
export async function openBackups() {
  const said = statusLine();
  const [about, list] = [element('p', { class: 'about' }), element('ul', { class: 'rows' })];
  const now = workButton('Back up now', said, async () => {
    await send('POST', 'v1/backups');
    await follow(view);
  });
  const view = { said, about, list, now };
  openDialog(
    { name: 'Backups', title: 'Backups', said },
    about,
    list,
    element('div', { class: 'tools' }, now),
  );
  await attempt(said, () => follow(view));
}

/** Reads the list, and again while a backup is made and the dialog is open. */
async function follow(view) {
  for (;;) {
    const found = await get('v1/backups');
    show(view, found);
    if (!found.isRunning) return;
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    if (!view.list.isConnected) return;
  }
}

function show(view, { backups, total, isRunning, isFailing, everySeconds }) {
  const at = (time) => moment(Date.parse(time), serverNow());
  const verified = backups.map((backup) => backup.verified).filter((time) => time !== null);
  const last = verified.sort().at(-1);
  const restore =
    last === undefined ? 'No restore was verified yet.' : `The last verified restore: ${at(last)}.`;
  const hours = everySeconds / 3600;
  const every = `A backup is made every ${hours === 1 ? 'hour' : `${count(hours)} hours`}.`;
  setText(view.about, `${every} ${restore} Run tidegauge restore to verify one.`);
  const rows = backups.map(({ started, readings, bytes, verified }) => {
    const size =
      readings === null
        ? 'its manifest cannot be read'
        : `${count(readings)} readings, ${count(Math.ceil(bytes / MEBIBYTE))} MiB`;
    return element(
      'li',
      {},
      `${at(started)}: ${size}${verified === null ? '' : `, verified ${at(verified)}`}`,
    );
  });
  if (total > backups.length)
    rows.push(element('li', { class: 'none' }, `And ${count(total - backups.length)} earlier ones.`));
  fillList(view.list, rows, 'No backup yet.');
  view.now.disabled = isRunning;
  const state = isRunning
    ? 'A backup is being made.'
    : isFailing
      ? 'The last attempt failed: the log of the backup service has the reason.'
      : '';
  setText(view.said, state);
}

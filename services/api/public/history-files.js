// What the history view shows, as files and as a link. `shown` is `{lines, notes, span, zone}`.

import { $, element, setText } from './dom.js';
import { middleCut } from './format.js';
import { giveLink } from './history-dialogs.js';
import { later } from './history-drawing.js';
import { csvOf } from './history-lines.js';
import { nameOf } from './history-table.js';
import { hashOf } from './view-state.js';
import { momentIn } from './zoned-time.js';

/** Characters of an annotation in a picture. */
const MOST_NOTE = 100;

/** The buckets of each line in the time shown, at their own times. */
export function saveCsv({ lines, span }) {
  const shown = lines.map(({ buckets, offset, ...line }) => ({
    ...line,
    buckets: buckets
      .filter(({ time, end }) => end > span.from && time < span.to)
      .map((bucket) => later(bucket, -offset)),
  }));
  download('history.csv', new Blob([csvOf(shown)], { type: 'text/csv' }));
}

export async function savePicture(chart, { lines, notes, zone }) {
  const texts = notes.map(({ from, text }) => middleCut(`${momentIn(from, zone)}: ${text}`, MOST_NOTE));
  const blob = await chart.picture($('history-span').textContent, lines.map(nameOf), texts);
  if (blob !== null) download('history.png', blob);
}

/** The link opens the time that is shown now, also when the range is until now. */
export async function copyLink(view, { from, to }) {
  const link = location.href.replace(/#.*$/, '') + hashOf({ ...view, range: { from, to } });
  setText($('history-said'), await giveLink(link));
}

/** Downloads a file that the page made. */
function download(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = element('a', { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  // The browser has begun to read it then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

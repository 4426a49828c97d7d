// Downloads readings as a file.

import { ask, dateField, labelled, selectField } from './dialog.js';
import { $, element } from './dom.js';

const FORMATS = [
  ['csv', 'CSV'],
  ['ndjson', 'NDJSON'],
  ['parquet', 'Parquet'],
];

/** @param shownSensor returns the name of the sensor that is shown, or null */
export function initExport(shownSensor) {
  $('export').addEventListener('click', () => void exportReadings(shownSensor()));
}

async function exportReadings(device) {
  const scopes = [['', 'All sensors']];
  if (device !== null) scopes.unshift([device, device]);
  const scope = selectField(scopes);
  const format = selectField(FORMATS);
  const [from, to] = [dateField(), dateField()];
  const fields = element(
    'div',
    {},
    labelled('Sensors', scope),
    labelled('Format', format),
    labelled('From (optional)', from),
    labelled('To (optional)', to),
  );
  const text =
    'Each reading is a line. The last line of NDJSON counts them: without it, the file is not complete.';
  if ((await ask({ title: 'Export readings', text, action: 'Download', label: fields })) === null) return;
  const query = new URLSearchParams({ format: format.value });
  if (scope.value !== '') query.set('device', scope.value);
  if (from.value !== '') query.set('from', new Date(from.value).toISOString());
  if (to.value !== '') query.set('to', new Date(to.value).toISOString());
  const link = element('a', { href: `v1/export?${query}`, download: '' });
  document.body.append(link);
  link.click();
  link.remove();
}

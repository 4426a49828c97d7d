// The dialogs of the history view: times, further lines, and the link.

import { ask, dateField, labelled, selectField, showText } from './dialog.js';
import { element } from './dom.js';
import { byInterest, collator } from './format.js';
import { nameText } from './names.js';
import { LEAST_SPAN } from './view-state.js';
import { fieldText, fieldTime } from './zoned-time.js';

/** The value of the choice of all sensors of a site. Names of devices are not empty. */
const EVERY = '';

/**
 * Requests a time, or begin and end.
 *
 * @returns `{from, to}`, or null when the visitor cancels or the times are not a range
 */
export async function askTimes(span, zone) {
  const [from, to] = [dateField(fieldText(span.from, zone)), dateField()];
  const fields = element('div', {}, labelled('From', from), labelled('To (empty: as long as now)', to));
  const text = `Times are in the zone ${zone}.`;
  if ((await ask({ title: 'Go to', text, action: 'Show', label: fields })) === null) return null;
  const start = fieldTime(from.value, zone);
  if (start === null) return null;
  const end = fieldTime(to.value, zone) ?? start + span.to - span.from;
  const [least, most] = [Math.max(0, Math.min(start, end)), Math.max(start, end)];
  return { from: least, to: Math.max(most, least + LEAST_SPAN) };
}

/**
 * Requests a metric of a sensor, or of all sensors of a site.
 *
 * @param sensors those that are known
 * @returns `{device, metric}`, `{site, metric}`, or null
 */
export async function askLine(sensors) {
  const sites = [...new Set(sensors.map(({ site }) => site))].sort(collator.compare);
  const site = selectField(sites.map((name) => [name, name === '' ? 'No site' : nameText(name)]));
  const [sensor, metric] = [selectField([]), selectField([])];
  const members = () => sensors.filter((each) => each.site === site.value);
  const fillMetrics = () => {
    const chosen = members().filter(({ name }) => sensor.value === EVERY || sensor.value === name);
    const metrics = new Set(chosen.flatMap(numericMetrics));
    fill(
      metric,
      [...metrics].sort(byInterest).map((name) => [name, nameText(name)]),
    );
  };
  const fillSensors = () => {
    const names = members().map(({ name }) => name);
    names.sort(collator.compare);
    fill(sensor, [[EVERY, 'All sensors of the site'], ...names.map((name) => [name, nameText(name)])]);
    fillMetrics();
  };
  site.addEventListener('change', fillSensors);
  sensor.addEventListener('change', fillMetrics);
  fillSensors();
  const fields = element(
    'div',
    {},
    labelled('Site', site),
    labelled('Sensor', sensor),
    labelled('Metric', metric),
  );
  const text = 'A line with another unit has its own axis.';
  const answer = await ask({ title: 'Add a line', text, action: 'Add', label: fields });
  if (answer === null || metric.value === '') return null;
  const [device, chosen] = [sensor.value, metric.value];
  return device === EVERY ? { site: site.value, metric: chosen } : { device, metric: chosen };
}

/** Copies a link, or shows it where the browser does not allow that. Resolves to what was done. */
export async function giveLink(url) {
  try {
    await navigator.clipboard.writeText(url);
    return 'The link was copied.';
  } catch {
    // Without TLS, browsers have no clipboard for pages.
    await showText({ title: 'Link', text: 'It opens what is shown now.', name: 'Link', value: url });
    return '';
  }
}

function fill(select, choices) {
  select.replaceChildren(...choices.map(([value, text]) => element('option', { value }, text)));
}

function numericMetrics({ metrics }) {
  return [...metrics].filter(([, { value }]) => typeof value === 'number').map(([metric]) => metric);
}

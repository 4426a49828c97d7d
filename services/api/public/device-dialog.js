// The dialog with what the registry has about a sensor: its label, site, city, kind, year and position, and the units of
// its metrics. The page loads this module when the dialog is opened for the first time.

import { get, send } from './api.js';
import { ask, labelled } from './dialog.js';
import { element } from './dom.js';
import { byInterest, collator } from './format.js';
import { describe, learnUnit, sensors } from './model.js';
import { nameText } from './names.js';

/** Fields of the registry as `[key, name, attributes of the input]`. The API has the same bounds. */
const WORDS = [
  ['site', 'Site', { maxlength: '200' }],
  ['city', 'City', { maxlength: '200' }],
  ['kind', 'Kind', { maxlength: '200' }],
];
const YEAR = { type: 'number', min: '0', max: '9999', step: '1' };
/** Attributes that the page shows: `label` as the name of the sensor, and the position on the map. */
const ATTRIBUTES = [
  ['label', 'Label, shown instead of the name', { maxlength: '100' }],
  ['lat', 'Latitude, degrees', { type: 'number', min: '-90', max: '90', step: 'any' }],
  ['lon', 'Longitude, degrees', { type: 'number', min: '-180', max: '180', step: 'any' }],
];
/** Units of further metrics are set by the HTTP API. */
const MOST_UNITS = 12;

/**
 * Shows the dialog, and stores what the visitor changes.
 *
 * @returns a function that restores what was stored before, or null when nothing was changed
 * @throws {RequestError} when the device cannot be read
 */
export async function editDevice(name) {
  const device = await read(name);
  const inputs = new Map();
  const input = (key, attributes, value) => {
    const made = element('input', { class: 'field', autocomplete: 'off', value: value ?? '', ...attributes });
    inputs.set(key, made);
    return made;
  };
  const words = WORDS.map(([key, title, attributes]) => [
    labelled(title, input(key, { ...attributes, list: `known-${key}` }, device[key])),
    known(key),
  ]);
  const [label, ...position] = ATTRIBUTES.map(([key, title, attributes]) =>
    labelled(title, input(key, attributes, device.attributes[key])),
  );
  const units = metricsOf(name).map((metric) =>
    labelled(
      `Unit of ${nameText(metric)}`,
      input(`unit ${metric}`, { maxlength: '64' }, device.units[metric]),
    ),
  );
  const year = labelled('Year of installation', input('year', YEAR, device.year));
  const fields = element('div', { class: 'form' }, label, ...words.flat(), year, ...position, ...units);
  let undo = null;
  const answer = await ask({
    title: 'Edit the sensor',
    text: name,
    action: 'Save',
    label: fields,
    async work() {
      undo = await save(name, device, inputs);
    },
  });
  return answer === null ? null : undo;
}

async function read(name) {
  try {
    return await get(pathOf(name));
  } catch (error) {
    // Its next reading registers it, and so does a change.
    if (error.status !== 404) throw error;
    return { site: null, city: null, kind: null, year: null, attributes: {}, units: {} };
  }
}

function setField(fields, key, text) {
  if (WORDS.some(([word]) => word === key)) fields[key] = text === '' ? null : text;
  else if (key === 'year') fields.year = text === '' ? null : Number(text);
  else if (ATTRIBUTES.some(([attribute]) => attribute === key)) setAttribute(fields.attributes, key, text);
}

/** Stores the fields that differ. Returns a function that undoes it, or null when no field differs. */
async function save(name, device, inputs) {
  const changed = [...inputs].filter(([key, { value }]) => value.trim() !== textOf(device, key));
  if (changed.length === 0) return null;
  const [lat, lon] = ['lat', 'lon'].map((key) => inputs.get(key).value.trim());
  if ((lat === '') !== (lon === '')) throw new Error('A position has a latitude and a longitude.');
  const units = changed.filter(([key]) => key.startsWith('unit '));
  for (const [key, { value }] of units) {
    if (value.trim() === '') throw new Error(`A ${key.replace(' ', ' of ')} can be replaced, not removed.`);
  }
  // Other programs may have changed other attributes since the dialog was opened.
  const before = await read(name);
  const fields = fieldsOf(before);
  for (const [key, { value }] of changed) {
    setField(fields, key, value.trim());
  }
  if (units.length < changed.length) await put(name, fields);
  for (const [key, { value }] of units) await putUnit(name, metricIn(key), value.trim());
  return async () => {
    if (units.length < changed.length) await put(name, fieldsOf(before));
    for (const [key] of units) {
      const unit = before.units[metricIn(key)];
      if (unit !== undefined) await putUnit(name, metricIn(key), unit);
    }
  };
}

/** The text of a field as it was read. */
function textOf(device, key) {
  const value = key.startsWith('unit ')
    ? device.units[metricIn(key)]
    : key in device
      ? device[key]
      : device.attributes[key];
  return String(value ?? '').trim();
}

function metricIn(key) {
  return key.slice('unit '.length);
}

function fieldsOf({ site, city, kind, year, attributes }) {
  return { site, city, kind, year, attributes: { ...attributes } };
}

function setAttribute(attributes, key, text) {
  if (text === '') delete attributes[key];
  else attributes[key] = key === 'label' ? text : Number(text);
}

async function put(name, fields) {
  describe(await send('PUT', pathOf(name), {}, fields));
}

async function putUnit(device, metric, unit) {
  await send('PUT', 'v1/readings/unit', { device, metric }, { unit });
  learnUnit(device, metric, unit);
}

function pathOf(name) {
  return `v1/devices/${name.split('/').map(encodeURIComponent).join('/')}`;
}

/** The metrics with numbers, those of most interest first. */
function metricsOf(name) {
  const metrics = [...(sensors.get(name)?.metrics ?? [])];
  const numeric = metrics.filter(([, { value }]) => typeof value === 'number').map(([metric]) => metric);
  return numeric.sort(byInterest).slice(0, MOST_UNITS);
}

/** The values of other sensors, offered for the field. */
function known(key) {
  const values = new Set([...sensors.values()].map((sensor) => sensor[key]).filter(Boolean));
  const options = [...values].sort(collator.compare).map((value) => element('option', { value }));
  return element('datalist', { id: `known-${key}` }, ...options);
}

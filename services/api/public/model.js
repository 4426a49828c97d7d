// The page's data about the sensors. Their size is bounded, and this module does not use the DOM.

import { get } from './api.js';
import { byInterest, collator, middleCut } from './format.js';
import { nameText } from './names.js';
import { usualPause } from './series.js';
import { wrongNumber } from './wrong-value.js';

/** Largest number of sensors in the list. */
const MAX_SENSORS = 10_000;
/** Largest number of metrics of all sensors. The store bounds those of one sensor. */
const MAX_SERIES = 400_000;
/** Longest label of a sensor that is shown, characters. */
const MAX_LABEL = 100;
export const SPARK_POINTS = 32;
/**
 * A sensor is quiet after three times its usual pause between reports, but not before the least time, and after the
 * most time if it has reported once only. Seconds.
 */
const PAUSES = 3;
const LEAST_QUIET = 300;
const MOST_UNKNOWN = 86_400;
const LATEST_AT_ONCE = 2000;
/** The device of annotations that concern all devices. It is no sensor. */
const ALL_DEVICES = '@all';

/**
 * Sensors by name: `{name, site, city, kind, year, attributes, metrics: Map(metric -> {value, time, unit, isWrong}), seen, pause, spark}`.
 * `isWrong`: a person marked the reading as wrong, and `value` is its number. `pause` is the usual one between reports in seconds, null if it is not known, and `judged` the report after which it was learned.
 */
export const sensors = new Map();

let full = false;
/** The metrics of all sensors. */
let series = 0;
/** Counts changes of what the registry has about sensors. */
let descriptions = 0;
/** The sensors in the order of the list, and what the order was found for. */
let sorted = [];
let sortedFor = '';
let learning = false;
/** 'loading', 'ready', or 'failed' with the error. */
const progress = { state: 'loading', error: null };

/** True when there are sensors that the page does not list. */
export function isCut() {
  return full;
}

/** Whether the sensors have been read: `{state: 'loading' | 'ready' | 'failed', error}`. */
export function readingState() {
  return progress;
}

/** Reads the registered devices and their latest readings. */
export async function load() {
  try {
    await readAll();
    Object.assign(progress, { state: 'ready', error: null });
  } catch (error) {
    Object.assign(progress, { state: 'failed', error });
    throw error;
  }
}

/** Why sensors and charts cannot be shown, and whether the page tries again. */
export function explain({ status, title, message }) {
  if (/^Store (?:unavailable|overloaded|did not)/.test(title))
    return `The store is unavailable. This page tries again by itself. (${message})`;
  return status === 0 ? `${message} This page tries again by itself.` : message;
}

async function readAll() {
  let cursor;
  do {
    const page = await get('v1/devices', { limit: 1000, cursor });
    for (const device of page.devices.filter(({ name }) => name !== ALL_DEVICES)) {
      if (!describe(device)) break;
    }
    cursor = page.next ?? undefined;
  } while (cursor !== undefined && !full);
  cursor = undefined;
  do {
    const { readings, next } = await get('v1/readings/latest', { limit: LATEST_AT_ONCE, cursor });
    for (const reading of readings) learn(reading);
    cursor = next ?? undefined;
    // Both lists are by name. Devices beyond the limit are not listed.
    if (full && readings.length > 0 && !sensors.has(readings.at(-1).device)) return;
  } while (cursor !== undefined);
}

/** Reads the latest readings of a device. @throws {RequestError} */
export async function readLatest(device) {
  const { readings } = await get('v1/readings/latest', { device });
  for (const reading of readings) learn(reading);
}

/**
 * Sets what the registry has about a sensor. Without a site there, the first part of its name is its site.
 *
 * @returns whether the sensor is listed
 */
export function describe({ name, site, city, kind, year, attributes }) {
  const sensor = sensorNamed(name);
  if (sensor === null) return false;
  const before = described(sensor);
  Object.assign(sensor, { site: site ?? siteIn(name), city, kind, year, attributes });
  if (described(sensor) !== before) descriptions += 1;
  return true;
}

/** A text that changes when there are other sensors, or when their names, sites or kinds change. */
export function contentsOfSensors() {
  return `${sensors.size} ${descriptions}`;
}

/** All sensors by site, then by title. Those without a site are last. */
export function sortedSensors() {
  const contents = contentsOfSensors();
  if (contents === sortedFor) return sorted;
  sortedFor = contents;
  // New ones follow those that are sorted, which takes few comparisons.
  const fresh = [...sensors.values()].slice(sorted.length);
  const entries = [...sorted, ...fresh].map((sensor) => ({ sensor, title: titleOf(sensor.name) }));
  entries.sort((a, b) => bySite(a.sensor.site, b.sensor.site) || collator.compare(a.title, b.title));
  sorted = entries.map(({ sensor }) => sensor);
  return sorted;
}

/** Sites that only differ in case or in leading zeros are different ones. */
function bySite(a, b) {
  if (a === b) return 0;
  return Number(a === '') - Number(b === '') || collator.compare(a, b) || (a < b ? -1 : 1);
}

/** What the list shows of a sensor besides its readings, as a text. */
function described(sensor) {
  const { site, city, kind } = sensor;
  return JSON.stringify([labelOf(sensor), site, city, kind]);
}

/** The name that people gave a sensor, or null. */
export function labelOf({ attributes }) {
  const label = attributes?.label;
  return typeof label === 'string' && label.trim() !== '' ? middleCut(label.trim(), MAX_LABEL) : null;
}

/** What a sensor is called: its label, or the text of its name. */
export function titleOf(name) {
  const sensor = sensors.get(name);
  return (sensor === undefined ? null : labelOf(sensor)) ?? nameText(name);
}

/** Adds a reading. Returns its sensor, or null when the limit of sensors or metrics is reached. */
export function learn(reading) {
  const sensor = sensorNamed(reading.device);
  if (sensor === null) return null;
  const time = Date.parse(reading.time);
  const known = sensor.metrics.get(reading.metric);
  if (known === undefined) {
    if (series >= MAX_SERIES) return null;
    series += 1;
  }
  // A late reading is added to the chart, but does not replace a newer latest value.
  if (known === undefined || time >= known.time) {
    const number = wrongNumber(reading.value);
    const [value, unit] = [number ?? reading.value, reading.unit ?? known?.unit];
    sensor.metrics.set(reading.metric, { value, time, unit, isWrong: number !== null });
  }
  sensor.seen = Math.max(sensor.seen, Date.parse(reading.received));
  if (typeof reading.value === 'number') addToSpark(sensor, reading);
  return sensor;
}

/** Sets the unit of a metric that is listed. A live reading has no unit when ingest has not seen one since its start. */
export function learnUnit(device, metric, unit) {
  const known = sensors.get(device)?.metrics.get(metric);
  if (known !== undefined && unit !== undefined) known.unit = unit;
}

/** Whether a sensor has not reported for too long, by its own interval. `now` in milliseconds. */
export function isQuiet(sensor, now) {
  return sensor.seen === 0 || (isLate(sensor, now) && sensor.judged === sensor.seen);
}

function isLate({ seen, pause }, now) {
  const limit = pause === null ? LEAST_QUIET : Math.max(LEAST_QUIET, PAUSES * pause);
  return now - seen > limit * 1000;
}

/** Learns the intervals of sensors that may be quiet, one after the other, to limit the load of the server. */
export async function learnPauses(now) {
  if (learning) return;
  learning = true;
  try {
    for (const sensor of sensors.values()) {
      const { seen, judged } = sensor;
      if (seen > 0 && judged !== seen && isLate(sensor, now)) await learnPause(sensor);
    }
  } catch {
    // The next call tries again. Other parts of the page show the error.
  }
  learning = false;
}

async function learnPause(sensor) {
  const { seen } = sensor;
  const pause = (await pauseOf(sensor)) ?? MOST_UNKNOWN / PAUSES;
  Object.assign(sensor, { pause, judged: seen });
}

/**
 * A sensor can send many readings at once, and readings can be received long after their time: the longer of the
 * pauses between receptions and between times counts.
 *
 * @returns the usual pause between the reports of a sensor in seconds, null if it has reported once only
 * @throws {RequestError}
 */
export async function pauseOf(sensor) {
  const { name: device } = sensor;
  const [metric] = [...sensor.metrics].toSorted(([, a], [, b]) => b.time - a.time)[0] ?? [];
  const readings =
    metric === undefined ? [] : (await get('v1/readings', { device, metric, limit: SPARK_POINTS })).readings;
  const pauses = ['received', 'time'].map((key) => {
    const seconds = new Set(readings.map((reading) => Math.round(Date.parse(reading[key]) / 1000)));
    return usualPause([...seconds].sort((a, b) => a - b));
  });
  const known = pauses.filter((pause) => pause !== null);
  return known.length === 0 ? null : Math.max(...known);
}

/** Fills a sparkline with the newest readings of its metric. Once per sensor and metric. */
export async function seedSpark(sensor) {
  const { name: device, sparkMetric: metric } = sensor;
  if (metric === null || sensor.seeded === metric) return;
  sensor.seeded = metric;
  const { readings } = await get('v1/readings', { device, metric, limit: SPARK_POINTS });
  const values = readings.map(({ value }) => value).filter((value) => typeof value === 'number');
  if (sensor.sparkMetric === metric) sensor.spark = values.reverse();
}

/** The sparkline shows the numeric metric of most interest. A metric of more interest replaces it. */
function addToSpark(sensor, { metric, value }) {
  if (sensor.sparkMetric === null || byInterest(metric, sensor.sparkMetric) < 0) {
    sensor.sparkMetric = metric;
    sensor.spark.length = 0;
  }
  if (sensor.sparkMetric !== metric) return;
  sensor.spark.push(value);
  if (sensor.spark.length > SPARK_POINTS) sensor.spark.shift();
}

function sensorNamed(name) {
  const known = sensors.get(name);
  if (known !== undefined) return known;
  if (sensors.size >= MAX_SENSORS) {
    full = true;
    return null;
  }
  const sensor = {
    name,
    site: siteIn(name),
    city: null,
    kind: null,
    year: null,
    attributes: {},
    metrics: new Map(),
    seen: 0,
    pause: null,
    judged: null,
    spark: [],
    sparkMetric: null,
    seeded: null,
  };
  sensors.set(name, sensor);
  return sensor;
}

/** The first part of a name of several parts, otherwise empty. */
function siteIn(name) {
  const slash = name.indexOf('/');
  return slash === -1 ? '' : name.slice(0, slash);
}

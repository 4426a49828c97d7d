// The page's data about the sensors. Their size is bounded, and this module does not use the DOM.

import { get } from './api.js';
import { byInterest } from './format.js';

/** Largest number of sensors in the list. */
const MAX_SENSORS = 2000;
const MAX_METRICS = 40;
export const SPARK_POINTS = 32;
/** A sensor that has not reported for this long is quiet, seconds. */
export const QUIET_AFTER = 300;
const LATEST_AT_ONCE = 200;

/** Sensors by name: `{name, site, city, kind, year, metrics: Map(metric -> {value, time, unit}), seen, spark}`. */
export const sensors = new Map();

let full = false;
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
    const page = await get('/v1/devices', { limit: 1000, cursor });
    for (const device of page.devices) {
      const sensor = sensorNamed(device.name);
      if (sensor === null) break;
      Object.assign(sensor, device, { site: device.site ?? sensor.site });
    }
    cursor = page.next ?? undefined;
  } while (cursor !== undefined && !full);
  const names = [...sensors.keys()];
  for (let start = 0; start < names.length; start += LATEST_AT_ONCE) {
    const { readings } = await get('/v1/readings/latest', {
      device: names.slice(start, start + LATEST_AT_ONCE),
    });
    for (const reading of readings) learn(reading);
  }
}

/** Adds a reading. Returns its sensor, or null when the limit of sensors or metrics is reached. */
export function learn(reading) {
  const sensor = sensorNamed(reading.device);
  if (sensor === null) return null;
  const time = Date.parse(reading.time);
  const known = sensor.metrics.get(reading.metric);
  if (known === undefined && sensor.metrics.size >= MAX_METRICS) return null;
  // A late reading is added to the chart, but does not replace a newer latest value.
  if (known === undefined || time >= known.time)
    sensor.metrics.set(reading.metric, { value: reading.value, time, unit: reading.unit ?? known?.unit });
  sensor.seen = Math.max(sensor.seen, Date.parse(reading.received));
  if (typeof reading.value === 'number') addToSpark(sensor, reading);
  return sensor;
}

/** Sets the unit of a metric that is listed. A live reading has no unit when ingest has not seen one since its start. */
export function learnUnit(device, metric, unit) {
  const known = sensors.get(device)?.metrics.get(metric);
  if (known !== undefined && unit !== undefined) known.unit = unit;
}

/** Fills a sparkline with the newest readings of its metric. Once per sensor and metric. */
export async function seedSpark(sensor) {
  const { name: device, sparkMetric: metric } = sensor;
  if (metric === null || sensor.seeded === metric) return;
  sensor.seeded = metric;
  const { readings } = await get('/v1/readings', { device, metric, limit: SPARK_POINTS });
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
  const slash = name.indexOf('/');
  const sensor = {
    name,
    site: slash === -1 ? '' : name.slice(0, slash),
    city: null,
    kind: null,
    year: null,
    metrics: new Map(),
    seen: 0,
    spark: [],
    sparkMetric: null,
    seeded: null,
  };
  sensors.set(name, sensor);
  return sensor;
}

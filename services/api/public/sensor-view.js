// The charts of one sensor.

import { get, serverNow } from './api.js';
import { complain } from './banner.js';
import { Chart } from './chart.js';
import { $, element, setText } from './dom.js';
import { byInterest } from './format.js';
import { explain, readingState, sensors } from './model.js';
import { RANGES } from './series.js';

/** History is read again now and then: live readings alone cannot know of corrections and backfills. */
const REFRESH_MS = 60_000;
/** While readings are missed all the time (a feed too fast to follow), history is read this often. */
const GAP_REFRESH_MS = 3000;
const MAX_CHARTS = 12;

let shown = null;
let range = RANGES[0];
let charts = new Map();
let nextRefresh = Number.POSITIVE_INFINITY;
let lastRefresh = 0;

export function initSensorView() {
  const buttons = RANGES.map((each) => {
    const button = element('button', { type: 'button', 'aria-pressed': String(each === range) }, each.label);
    button.addEventListener('click', () => {
      range = each;
      for (const other of buttons) other.setAttribute('aria-pressed', String(other === button));
      if (shown !== null) rebuild();
    });
    return button;
  });
  $('ranges').append(...buttons);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    for (const chart of charts.values()) chart.recolour();
  });
}

/** Shows a sensor, even one that nobody has heard of yet; null shows none. */
export function show(name) {
  if (name === shown) return;
  shown = name;
  paintTitle();
  rebuild();
}

/** Takes in a live reading if it is of the sensor shown. */
export function addLive(reading) {
  if (reading.device !== shown) return;
  const chart = charts.get(reading.metric) ?? addChart(reading.metric);
  chart?.add(Date.parse(reading.time), reading.value);
}

/** Readings were missed: the charts have holes until history is read again. */
export function addGap() {
  nextRefresh = Math.min(nextRefresh, Math.max(performance.now(), lastRefresh + GAP_REFRESH_MS));
}

export function paintSensor() {
  paintTitle();
  if (shown === null) return;
  const sensor = sensors.get(shown);
  for (const [metric, latest] of sensor?.metrics ?? [])
    (charts.get(metric) ?? addChart(metric))?.latest(latest);
  for (const chart of charts.values()) chart.paint();
  const left = (sensor?.metrics.size ?? 0) - charts.size;
  $('charts-cut').hidden = left <= 0;
  if (left > 0) setText($('charts-cut'), `${left} more metrics are not drawn. The HTTP API has them all.`);
  if (performance.now() >= nextRefresh) void refresh();
}

function paintTitle() {
  const { state } = readingState();
  const sensor = sensors.get(shown);
  const nothing = {
    loading: 'Reading the list of sensors…',
    failed: 'Sensors cannot be shown now',
    ready: 'No sensor yet',
  };
  setText($('sensor-title'), shown ?? nothing[state]);
  const isSilent = shown !== null && state === 'ready' && (sensor?.metrics.size ?? 0) === 0;
  setText($('sensor-facts'), facts(sensor ?? {}, isSilent));
}

function facts({ site = '', city, kind, year = null }, isSilent) {
  const silent = isSilent ? 'No readings from this sensor yet' : null;
  return [silent, kind, city, site === '' ? null : site, year === null ? null : `since ${year}`]
    .filter(Boolean)
    .join(' · ');
}

function rebuild() {
  for (const chart of charts.values()) chart.remove();
  charts = new Map();
  complain('history', null);
  for (const metric of sensors.get(shown)?.metrics.keys() ?? []) addChart(metric);
  void refresh();
}

function addChart(metric) {
  if (charts.size >= MAX_CHARTS) return null;
  const chart = new Chart(metric, range);
  charts.set(metric, chart);
  const behind = [...charts.values()].filter((other) => byInterest(metric, other.metric) < 0);
  behind.sort((a, b) => byInterest(a.metric, b.metric));
  $('chart-grid').insertBefore(chart.card, behind[0]?.card ?? null);
  addGap();
  return chart;
}

async function refresh() {
  lastRefresh = performance.now();
  nextRefresh = lastRefresh + REFRESH_MS;
  const device = shown;
  let failure = null;
  await Promise.all(
    [...charts].map(async ([metric, chart]) => {
      try {
        const from = new Date(serverNow() - range.seconds * 1000).toISOString();
        const bucket = `${range.bucket}s`;
        const { buckets } = await get('/v1/readings/aggregate', {
          device,
          metric,
          from,
          bucket,
          fn: 'min,max,sum',
        });
        // The reader may have gone on to another sensor meanwhile.
        if (charts.get(metric) === chart) chart.history(buckets);
      } catch (error) {
        failure = explain(error);
        chart.fail(failure);
      }
    }),
  );
  if (device !== shown) return;
  complain('history', failure);
  if (failure !== null) addGap();
}

// A card with the chart of one metric. uPlot draws on a canvas, in the colours of the page.

import { serverNow } from './api.js';
import { drawCrosses, drawNotes } from './chart-marks.js';
import { element, said, setText, setValue } from './dom.js';
import { age, moment, quantity, symbol, ticksWithUnit } from './format.js';
import { LimitLines } from './limit-lines.js';
import { nameText } from './names.js';
import { Series } from './series.js';

// From a classic script: the module of uPlot is three times the size of its minified script.
const { uPlot } = globalThis;

export class Chart {
  #range;
  #series;
  #plot = null;
  #latest = null;
  #hovered = null;
  #dirty = true;
  /** The text to show in place of a chart, or null. */
  #state = 'Reading the history…';
  #unit = null;
  #marks = { notes: [], wrong: [] };
  #sign = element('span', { class: 'unit' });
  #value = element('b');
  #when = element('span');
  #box = element('div', { class: 'plot', role: 'img' });
  #reason = element('p', { class: 'no-data' });
  #resized = new ResizeObserver(() => this.#resize());
  #limits;
  metric;
  card;

  /** @param onLimit called with a limit of an alert rule and its new value, see `LimitLines` */
  constructor(metric, range, onLimit) {
    this.metric = metric;
    this.#range = range;
    this.#limits = new LimitLines(onLimit);
    this.#series = new Series(range);
    this.#box.append(this.#reason);
    this.card = element(
      'article',
      { class: 'chart card', 'data-metric': metric },
      element(
        'header',
        {},
        element('h3', { title: metric }, nameText(metric), this.#sign),
        // A screen reader reads one phrase: "21.5, measured 3 min ago".
        element('p', { class: 'reading' }, this.#value, said(', measured '), this.#when),
      ),
      this.#box,
      // Beside the picture, because a picture cannot contain what is operated.
      this.#limits.layer,
    );
    this.#resized.observe(this.#box);
  }

  /** The newest value, `time` in milliseconds. */
  latest({ value, time, unit, isWrong }) {
    this.#latest = { value, time, isWrong };
    this.unit = unit;
  }

  /** The number of readings in the time shown, or 0. */
  get count() {
    return this.#series.count;
  }

  /** Annotations `{from, to}` and readings that were marked as wrong, `{time, value}`, in milliseconds. */
  set marks(marks) {
    this.#marks = marks;
    this.#plot?.redraw(false);
  }

  /** The number of points of the history; null while it is not known, and for texts. */
  get points() {
    return this.#state !== null || typeof this.#latest?.value !== 'number' ? null : this.#series.size;
  }

  /** The unit of the values; undefined if it is not known. */
  set unit(unit) {
    if (unit === undefined || unit === this.#unit) return;
    this.#unit = unit;
    const sign = symbol(unit);
    setText(this.#sign, sign === '' ? '' : `, ${sign}`);
    // The labels of the axis have the unit.
    this.recolour();
  }

  /** The limits of alert rules, see `limitsOf`. */
  set limits(limits) {
    this.#limits.limits = limits;
  }

  history(buckets) {
    this.#series.replace(buckets);
    this.#state = null;
    this.#dirty = true;
  }

  /** A live reading, `time` in milliseconds. */
  add(time, value) {
    if (typeof value !== 'number') return;
    this.#series.add(time / 1000, value);
    this.#dirty = true;
  }

  /** Shows why there is no history. */
  fail(message) {
    this.#state = message;
    this.#dirty = true;
  }

  /** Draws the chart when its data have changed or the time shown has moved enough. */
  paint() {
    this.#paintReading();
    this.#draw();
    // After uPlot, which sets its scales in a microtask.
    queueMicrotask(() => this.#limits.place(this.#plot, this.#box, this.#unit));
  }

  #draw() {
    const now = serverNow() / 1000;
    const moved = this.#plot !== null && now - this.#plot.scales.x.max >= this.#range.seconds / 600;
    if (!this.#dirty && !moved) return;
    this.#dirty = false;
    const columns = this.#series.columns(now);
    this.#say(columns);
    if (this.#plot === null) {
      if (columns[0].length > 0) this.#build(columns);
    } else {
      this.#plot.setData(columns, false);
    }
    this.#plot?.setScale('x', { min: now - this.#range.seconds, max: now });
  }

  /** Draws the chart again, in the current colours. */
  recolour() {
    this.#plot?.destroy();
    this.#plot = null;
    this.#dirty = true;
  }

  remove() {
    this.#resized.disconnect();
    this.#plot?.destroy();
    this.card.remove();
  }

  #paintReading() {
    const shown = this.#hovered ?? this.#latest;
    if (shown === null) return;
    const now = serverNow();
    setValue(this.#value, quantity(shown.value, this.#unit), shown.isWrong === true);
    const ago = age((now - shown.time) / 1000);
    setText(
      this.#when,
      this.#hovered === null ? (ago === 'now' ? ago : `${ago} ago`) : moment(shown.time, now),
    );
  }

  #say([times, means]) {
    const values = means.filter((value) => value !== null);
    const span = `the last ${this.#range.words}`;
    const empty = times.length === 0;
    if (empty) {
      const isText = this.#latest !== null && typeof this.#latest.value !== 'number';
      const nothing = isText ? 'This value is text. A chart shows numbers only.' : `No readings in ${span}.`;
      setText(this.#reason, this.#state ?? nothing);
    }
    this.#reason.hidden = !empty;
    const summary = empty
      ? this.#reason.textContent
      : `${span}, from ${this.#text(Math.min(...values))} to ${this.#text(Math.max(...values))}, now ${this.#text(values.at(-1))}`;
    this.#box.setAttribute('aria-label', `${nameText(this.metric)}: ${summary}`);
  }

  #text(value) {
    return quantity(value, this.#unit);
  }

  #build(columns) {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const font = `12px ${style.fontFamily}`;
    const widthOf = ruler(font);
    const space = LABEL_GAP + Math.max(...[seconds, hours, days].map((format) => widthOf(format.format(0))));
    const axis = {
      stroke: colour('--soft'),
      font,
      grid: { stroke: colour('--line'), width: 1 },
      ticks: { show: false },
    };
    const bound = { stroke: 'transparent', width: 0, points: { show: false } };
    const options = {
      width: this.#box.clientWidth,
      height: this.#box.clientHeight,
      legend: { show: false },
      padding: [8, RIGHT_PADDING, 0, 0],
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 8 } },
      scales: { x: { time: true }, y: { range: padded } },
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 28,
          space,
          incrs: STEPS,
          values: (plot, values) => whole(plot, values, times(values), widthOf),
        },
        { ...axis, size: Y_AXIS, values: (_plot, values) => ticksWithUnit(values, this.#unit) },
      ],
      series: [
        {},
        {
          stroke: colour('--accent'),
          width: 1.75,
          points: { show: (_plot, _series, from, to) => to - from < 3, size: 5, fill: colour('--accent') },
        },
        bound,
        bound,
      ],
      bands: [{ series: [3, 2], fill: colour('--accent-wash') }],
      hooks: {
        setCursor: [(plot) => this.#hover(plot)],
        draw: [
          (plot) => {
            drawNotes(plot, this.#marks.notes, colour('--note'), SECOND);
            drawCrosses(plot, this.#marks.wrong, colour('--bad'), 'y', SECOND);
          },
        ],
      },
    };
    this.#plot = new uPlot(options, columns, this.#box);
  }

  #hover(plot) {
    const { idx } = plot.cursor;
    const value = idx === null || idx === undefined ? null : plot.data[1][idx];
    this.#hovered = value === null || value === undefined ? null : { value, time: plot.data[0][idx] * 1000 };
    this.#paintReading();
  }

  #resize() {
    const { clientWidth: width, clientHeight: height } = this.#box;
    if (width > 0) this.#plot?.setSize({ width, height });
  }
}

/** The range of the y axis: space above and below the values, also when all values are equal. */
export function padded(_plot, low, high) {
  if (low === null || high === null) return [0, 1];
  const room = (high - low) * 0.08 || Math.abs(high) * 0.05 || 1;
  return [low - room, high + room];
}

/** Milliseconds of a unit of the time axis. */
const SECOND = 1000;
/** Space at the left and right of the plot, and the smallest gap between labels of the time axis. CSS pixels. */
const Y_AXIS = 52;
const RIGHT_PADDING = 18;
const LABEL_GAP = 14;

/** Steps of the time axis: round numbers of seconds, minutes, hours and days. Seconds. */
const STEPS = [10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800];

const seconds = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const hours = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const days = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });

/** A function that measures the width of a text in a font, CSS pixels. */
export function ruler(font) {
  const context = document.createElement('canvas').getContext('2d');
  context.font = font;
  return (text) => context.measureText(text).width;
}

/** Omits labels that would be cut off at the right, or overlap the labels of the y axis at the left. */
function whole(plot, values, labels, widthOf) {
  const { min, max } = plot.scales.x;
  const room = plot.width - Y_AXIS - RIGHT_PADDING;
  return labels.map((label, index) => {
    const middle = Y_AXIS + ((values[index] - min) / (max - min)) * room;
    const half = widthOf(label) / 2;
    return middle - half >= Y_AXIS - LABEL_GAP && middle + half <= plot.width ? label : '';
  });
}

/** Labels of the time axis: times with or without seconds, depending on the step, or dates for steps of days. */
function times(values) {
  const step = values.length > 1 ? values[1] - values[0] : 60;
  const format = step < 60 ? seconds : step < 86_400 ? hours : days;
  return values.map((value) => format.format(value * 1000));
}

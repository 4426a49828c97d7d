// Draws the lines of the history view. uPlot has the canvas, the scales and the axes. The lines are drawn by columns of
// pixels here, because they must contain every minimum and maximum.

import { padded, ruler } from './chart.js';
import { drawCrosses, drawNotes } from './chart-marks.js';
import { element } from './dom.js';
import { ticksWithUnit } from './format.js';
import { COLOURS } from './history-lines.js';
import { tickLabels, ticksOf } from './zoned-time.js';

const { uPlot } = globalThis;

/** Width of an axis of values, and the space where there is none. CSS pixels. */
const AXIS = 52;
const NO_AXIS = 18;
const TOP = 8;
const TIME_AXIS = 28;
/** Width of the time axis for each tick, CSS pixels. */
const TICK_SPACE = 90;
/** A label of the time axis is at most this far outside of the lines, CSS pixels. */
const OVERHANG = 14;
/** Each axis of values needs this much of the width. The scales of further units have no axis. CSS pixels. */
const WIDTH_PER_AXIS = 170;
const DASHES = [[], [8, 3], [2, 3]];
const LINE_WIDTH = 1.5;
const EXTREMES_ALPHA = 0.35;
const EARLIER_ALPHA = 0.45;
const DOT_RADIUS = 2.25;
/** Height of a line of text above a picture, CSS pixels. */
const TEXT_HEIGHT = 20;

export class HistoryChart {
  #box;
  #plot = null;
  /** Axes as `{key, unit}`, in the order of their first lines. */
  #axes = [];
  #drawn = { lines: [], notes: [], span: null, zone: 'UTC' };
  #colours = [];
  #style = null;
  #font = '';
  #widthOf = null;

  /** @param box the element whose size the chart has */
  constructor(box) {
    this.#box = box;
  }

  /** Left edge and width of the time axis in the box, CSS pixels. The width is 0 while the box is hidden. */
  get area() {
    const left = this.#axes.length === 0 ? NO_AXIS : AXIS * Math.ceil(this.#shownAxes / 2);
    const right = this.#shownAxes < 2 ? NO_AXIS : AXIS * Math.floor(this.#shownAxes / 2);
    return { left, width: Math.max(0, this.#box.clientWidth - left - right) };
  }

  /** Sets the axes, `{key, unit}`. */
  layOut(axes) {
    if (JSON.stringify(axes) === JSON.stringify(this.#axes)) return;
    this.#axes = axes;
    this.recolour();
  }

  /**
   * @param drawn `{lines, notes, span, zone}`. A line is `{axis, columns, parts, wrong, colour, isEarlier, extent}`; `axis`
   *   is the key of an axis, and `extent` the smallest and largest value, or null. A note is `{from, to}`
   */
  draw(drawn) {
    // The labels of the time axis depend on the zone.
    if (drawn.zone !== this.#drawn.zone) this.recolour();
    this.#drawn = drawn;
    if (this.area.width === 0 || this.#axes.length === 0) return;
    const { clientWidth: width, clientHeight: height } = this.#box;
    if (this.#plot?.width !== width || this.#plot.height !== height) this.recolour();
    if (this.#plot === null) this.#build(width, height);
    this.#plot.setScale('x', { min: drawn.span.from, max: drawn.span.to });
  }

  /** Draws the chart with other axes or colours the next time. */
  recolour() {
    this.#plot?.destroy();
    this.#plot = null;
  }

  /**
   * The chart with a title, the names of its lines and the texts of its annotations, as a picture.
   *
   * @returns a promise of a Blob, or of null without a chart
   */
  async picture(title, names, notes) {
    if (this.#plot === null) return null;
    const { canvas } = this.#plot.ctx;
    const ratio = canvas.width / this.#plot.width;
    const top = (names.length + notes.length + 1.5) * TEXT_HEIGHT;
    const height = Math.round(canvas.height + top * ratio);
    const picture = element('canvas', { width: canvas.width, height });
    const context = picture.getContext('2d');
    context.fillStyle = this.#colour('--card');
    context.fillRect(0, 0, picture.width, picture.height);
    context.drawImage(canvas, 0, top * ratio);
    context.scale(ratio, ratio);
    context.font = this.#font;
    context.fillStyle = this.#colour('--ink');
    context.fillText(title, NO_AXIS, TEXT_HEIGHT);
    for (const [index, name] of names.entries()) {
      const y = (index + 2) * TEXT_HEIGHT;
      const line = this.#drawn.lines[index];
      this.#asLine(context, line, 1);
      context.beginPath();
      context.moveTo(NO_AXIS, y - 4);
      context.lineTo(NO_AXIS + 24, y - 4);
      context.stroke();
      context.globalAlpha = 1;
      context.fillStyle = this.#colour('--ink');
      context.fillText(name, NO_AXIS + 32, y);
    }
    for (const [index, note] of notes.entries())
      context.fillText(note, NO_AXIS, (names.length + index + 2) * TEXT_HEIGHT);
    return new Promise((resolve) => picture.toBlob(resolve, 'image/png'));
  }

  get #shownAxes() {
    return Math.min(this.#axes.length, Math.max(2, Math.floor(this.#box.clientWidth / WIDTH_PER_AXIS)));
  }

  #colour(name) {
    return this.#style.getPropertyValue(name).trim();
  }

  #build(width, height) {
    this.#style = getComputedStyle(document.documentElement);
    this.#font = `12px ${this.#style.fontFamily}`;
    this.#widthOf = ruler(this.#font);
    this.#colours = Array.from({ length: COLOURS }, (_, index) => this.#colour(`--line-${index + 1}`));
    const common = { stroke: this.#colour('--soft'), font: this.#font, ticks: { show: false } };
    const grid = { stroke: this.#colour('--line'), width: 1 };
    const shown = this.#axes.slice(0, this.#shownAxes);
    const { left, width: wide } = this.area;
    const { from: min, to: max } = this.#drawn.span;
    const options = {
      width,
      height,
      padding: [TOP, shown.length < 2 ? NO_AXIS : 0, 0, 0],
      legend: { show: false },
      select: { show: false },
      cursor: { show: false },
      scales: {
        x: { time: false, min, max },
        ...Object.fromEntries(this.#axes.map(({ key }) => [key, { range: () => this.#rangeOf(key) }])),
      },
      axes: [
        {
          ...common,
          grid: { show: false },
          size: TIME_AXIS,
          splits: () => this.#ticks(wide).times,
          values: () => this.#labels(left, wide),
        },
        ...shown.map(({ key, unit }, index) => ({
          ...common,
          scale: key,
          side: index % 2 === 0 ? 3 : 1,
          size: AXIS,
          grid: index === 0 ? grid : { show: false },
          values: (_plot, values) => ticksWithUnit(values, unit),
        })),
      ],
      series: [{}, ...this.#axes.map(({ key }) => ({ ...SILENT, scale: key }))],
      hooks: { draw: [(plot) => this.#drawLines(plot)] },
    };
    this.#plot = new uPlot(options, [[min, max], ...this.#axes.map(() => [null, null])], this.#box);
  }

  #rangeOf(key) {
    const extents = this.#drawn.lines.filter(({ axis, extent }) => axis === key && extent !== null);
    if (extents.length === 0) return padded(null, null, null);
    const low = Math.min(...extents.map(({ extent }) => extent[0]));
    return padded(null, low, Math.max(...extents.map(({ extent }) => extent[1])));
  }

  #ticks(width) {
    const { span, zone } = this.#drawn;
    return ticksOf(span.from, span.to, Math.max(2, width / TICK_SPACE), zone);
  }

  /** Omits labels that would be beside the labels of an axis of values, or cut off. */
  #labels(left, width) {
    const { span, zone } = this.#drawn;
    const ticks = this.#ticks(width);
    return tickLabels(ticks, zone).map((label, index) => {
      const middle = left + ((ticks.times[index] - span.from) / (span.to - span.from)) * width;
      const half = this.#widthOf(label) / 2;
      const isInside = middle - half >= left - OVERHANG && middle + half <= left + width + OVERHANG;
      return isInside ? label : '';
    });
  }

  #drawLines(plot) {
    const { ctx: context, bbox } = plot;
    const { lines, notes } = this.#drawn;
    const ratio = context.canvas.width / plot.width;
    context.save();
    context.beginPath();
    context.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    context.clip();
    drawNotes(plot, notes, this.#colour('--note'));
    // Earlier periods are beneath.
    for (const line of lines.toSorted((a, b) => b.isEarlier - a.isEarlier)) {
      this.#asLine(context, line, ratio);
      const alpha = context.globalAlpha;
      context.globalAlpha = alpha * EXTREMES_ALPHA;
      drawExtremes(plot, line, ratio * LINE_WIDTH);
      context.globalAlpha = alpha;
      drawParts(plot, line, ratio);
      drawCrosses(plot, line.wrong, context.strokeStyle, line.axis);
    }
    context.restore();
  }

  /** Sets the style of a line. */
  #asLine(context, { colour, isEarlier }, ratio) {
    const dash = DASHES[Math.floor(colour / COLOURS) % DASHES.length];
    context.strokeStyle = this.#colours[colour % COLOURS];
    context.fillStyle = context.strokeStyle;
    context.lineWidth = ratio * LINE_WIDTH;
    // There is a point in nearly each column, so round joins cannot be seen, and cost time.
    context.lineJoin = 'bevel';
    context.setLineDash(dash.map((length) => length * ratio));
    context.globalAlpha = isEarlier ? EARLIER_ALPHA : 1;
  }
}

/** A series that uPlot does not draw, and whose values do not change its scale. */
const SILENT = { auto: false, paths: () => null, points: { show: false } };

/** A bar for each run of columns with the same values, from the smallest to the largest one. */
function drawExtremes({ ctx, bbox, valToPos }, { axis, columns: { low, high } }, thickness) {
  const step = bbox.width / low.length;
  for (let column = 0, next = 0; column < low.length; column = next) {
    const [least, most] = [low[column], high[column]];
    for (next = column + 1; low[next] === least && high[next] === most; ) next += 1;
    if (Number.isNaN(least)) continue;
    const top = valToPos(most, axis, true);
    const bottom = valToPos(least, axis, true);
    ctx.fillRect(
      bbox.left + column * step,
      top - thickness / 2,
      (next - column) * step,
      bottom - top + thickness,
    );
  }
}

/** The line through the means. A mean between two gaps is a dot. */
function drawParts({ ctx, valToPos }, { axis, parts }, ratio) {
  ctx.beginPath();
  const dots = [];
  for (const part of parts) {
    if (part.length === 1) dots.push(part[0]);
    for (const [index, [time, mean]] of part.entries()) {
      const [x, y] = [valToPos(time, 'x', true), valToPos(mean, axis, true)];
      if (index === 0) ctx.moveTo(x, y);
      else ctx.lineTo(x, y);
    }
  }
  ctx.stroke();
  for (const [time, mean] of dots) {
    ctx.beginPath();
    ctx.arc(valToPos(time, 'x', true), valToPos(mean, axis, true), DOT_RADIUS * ratio, 0, 2 * Math.PI);
    ctx.fill();
  }
}

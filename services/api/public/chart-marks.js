// Draws annotations and crossed readings on a chart of uPlot. Times are milliseconds.

const NOTE_ALPHA = 0.14;
/** Half of the width of a cross, and lengths of dashes, CSS pixels. */
const CROSS = 4;
const DASHES = [4, 3];

/**
 * A line at the beginning of each annotation, and an area for a span.
 *
 * @param notes `{from, to}`; `to` is null for a time
 * @param perUnit milliseconds of a unit of the time axis
 */
export function drawNotes(plot, notes, colour, perUnit = 1) {
  const { ctx, bbox } = plot;
  const ratio = ratioOf(plot);
  const [left, right] = [bbox.left, bbox.left + bbox.width];
  const at = (time) => plot.valToPos(time / perUnit, 'x', true);
  ctx.save();
  Object.assign(ctx, { fillStyle: colour, strokeStyle: colour, lineWidth: ratio });
  ctx.setLineDash(DASHES.map((length) => length * ratio));
  for (const { from, to } of notes) {
    const start = at(from);
    const end = to === null ? start : at(to);
    if (end < left || start > right) continue;
    const [first, last] = [Math.max(start, left), Math.min(end, right)];
    ctx.globalAlpha = NOTE_ALPHA;
    ctx.fillRect(first, bbox.top, last - first, bbox.height);
    ctx.globalAlpha = 1;
    for (const x of start === end ? [start] : [start, end]) {
      if (x < left || x > right) continue;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
  }
  ctx.restore();
}

/**
 * A cross for each reading that was marked as wrong. One beyond the axis is at its edge, because it does not change the axis.
 *
 * @param readings `{time, value}`
 * @param scale the axis of the values
 */
export function drawCrosses(plot, readings, colour, scale, perUnit = 1) {
  const { ctx, bbox } = plot;
  const ratio = ratioOf(plot);
  const size = CROSS * ratio;
  ctx.save();
  Object.assign(ctx, { strokeStyle: colour, lineWidth: 1.5 * ratio });
  ctx.setLineDash([]);
  ctx.beginPath();
  for (const { time, value } of readings) {
    const x = plot.valToPos(time / perUnit, 'x', true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    const [least, most] = [bbox.top + size, bbox.top + bbox.height - size];
    const y = Math.min(most, Math.max(least, plot.valToPos(value, scale, true)));
    ctx.moveTo(x - size, y - size);
    ctx.lineTo(x + size, y + size);
    ctx.moveTo(x - size, y + size);
    ctx.lineTo(x + size, y - size);
  }
  ctx.stroke();
  ctx.restore();
}

function ratioOf({ ctx, width }) {
  return ctx.canvas.width / width;
}

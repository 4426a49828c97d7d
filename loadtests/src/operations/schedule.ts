import type { OpenModel, Stage } from './plan.ts';

/**
 * When operation n (0, 1, 2, ...) of an open model should begin, milliseconds after the scenario's start; this is when
 * k6 begins its iteration n, as long as none was dropped (its counter leaves those out, k6#2308). Infinity beyond
 * the last.
 */
export function intendedStarts(model: OpenModel): (n: number) => number {
  const constant = constantRate(model);
  if (constant !== null) {
    // k6 cuts its period to whole nanoseconds.
    const periodMs = Math.floor(1e9 / constant) / 1e6;
    return (n) => n * periodMs;
  }
  return ramp(model);
}

/** The rate of a model that never changes it, or null. */
export function constantRate({ startRate, stages }: OpenModel): number | null {
  return stages.every(({ rate }) => rate === startRate) ? startRate : null;
}

/** Length of all stages, milliseconds. */
export function totalMs(stages: readonly Stage[]): number {
  return stages.reduce((sum, { durationMs }) => sum + durationMs, 0);
}

interface Piece {
  readonly beginMs: number;
  readonly durationMs: number;
  /** Operations per millisecond, at its begin and at its end. */
  readonly from: number;
  readonly to: number;
  /** Operations due before it, and in it. */
  readonly before: number;
  readonly count: number;
}

function piecesOf({ startRate, stages }: OpenModel): Piece[] {
  const pieces: Piece[] = [];
  let beginMs = 0;
  let before = 0;
  let from = startRate / 1000;
  for (const { rate, durationMs } of stages) {
    const to = rate / 1000;
    const count = (durationMs * (from + to)) / 2;
    pieces.push({ beginMs, durationMs, from, to, before, count });
    beginMs += durationMs;
    before += count;
    from = to;
  }
  return pieces;
}

/** k6 begins operation n of a ramp when n + 1 are due: when the area under the rate has become n + 1. */
function ramp(model: OpenModel): (n: number) => number {
  const pieces = piecesOf(model);
  return (n) => {
    const due = n + 1;
    const piece = pieces.find(({ before, count }) => due <= before + count);
    if (piece === undefined) return Number.POSITIVE_INFINITY;
    const { beginMs, durationMs, from, to } = piece;
    const area = due - piece.before;
    const slope = (to - from) / durationMs;
    // The root of slope / 2 t^2 + from t = area, in the form that also holds where the rate stays.
    return beginMs + (2 * area) / (from + Math.sqrt(Math.max(0, from * from + 2 * slope * area)));
  };
}

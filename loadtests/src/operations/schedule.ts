import type { OpenModel, Stage } from './plan.ts';

/**
 * Returns the scheduled start of operation n (0, 1, 2, ...) of an open model, in milliseconds after the start of the
 * scenario. k6 starts its iteration n then, as long as it has dropped none: its counter does not include dropped
 * iterations (k6#2308). Infinity for operations after the last one.
 */
export function intendedStarts(model: OpenModel): (n: number) => number {
  const constant = constantRate(model);
  if (constant !== null) {
    // k6 truncates its period to whole nanoseconds.
    const periodMs = Math.floor(1e9 / constant) / 1e6;
    return (n) => n * periodMs;
  }
  return ramp(model);
}

/** The rate of a model with a constant rate. null: the rate changes. */
export function constantRate({ startRate, stages }: OpenModel): number | null {
  return stages.every(({ rate }) => rate === startRate) ? startRate : null;
}

/** Length of all stages, in milliseconds. */
export function totalMs(stages: readonly Stage[]): number {
  return stages.reduce((sum, { durationMs }) => sum + durationMs, 0);
}

interface Piece {
  readonly beginMs: number;
  readonly durationMs: number;
  /** Operations per millisecond, at the start (`from`) and the end (`to`) of the piece. */
  readonly from: number;
  readonly to: number;
  /** Operations scheduled before the piece, and in it (`count`). */
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

/** k6 starts operation n of a ramp when the integral of the rate over time reaches n + 1. */
function ramp(model: OpenModel): (n: number) => number {
  const pieces = piecesOf(model);
  return (n) => {
    const due = n + 1;
    const piece = pieces.find(({ before, count }) => due <= before + count);
    if (piece === undefined) return Number.POSITIVE_INFINITY;
    const { beginMs, durationMs, from, to } = piece;
    const area = due - piece.before;
    const slope = (to - from) / durationMs;
    // The root of slope / 2 t^2 + from t = area, in the form that is also valid for slope = 0.
    return beginMs + (2 * area) / (from + Math.sqrt(Math.max(0, from * from + 2 * slope * area)));
  };
}

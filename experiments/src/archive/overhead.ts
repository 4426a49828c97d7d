import { median } from '@tidegauge/loadtests/results/statistics';
import type { JournalEntry } from '../model.ts';

/**
 * What the engine itself took, in seconds. The journal has all of it. The overhead of a run is the time from the end of
 * the run before it, in the same series, to its own end, without the measured operations and without loading: starting
 * the measurement, writing the operations, verifying records, and archiving.
 */
export interface Overhead {
  readonly runs: number;
  readonly betweenMedian: number | null;
  readonly betweenMost: number | null;
  /** The sum for all runs, divided by the time of the measured operations. */
  readonly share: number | null;
}

/** Runs that take turns. */
interface Turn {
  /** When the first one began, milliseconds. */
  readonly started: number;
  /** How many have begun. */
  open: number;
  /** Seconds of the measured operations of those that have ended. */
  readonly ended: number[];
}

/** A turn of which all runs have ended. */
interface EndedTurn extends Pick<Turn, 'ended'> {
  /** Seconds from the start of its first run to the end of its last one. */
  readonly seconds: number;
  /** Seconds from the end of the turn before it, in the same series, without loading. 0: it is the first one. */
  readonly before: number;
}

/** Measures the engine's overhead between the runs of each series. Runs that take turns share theirs. */
export function overheadOf(entries: readonly JournalEntry[]): Overhead {
  const between: number[] = [];
  let measured = 0;
  for (const { ended, seconds, before } of turnsIn(entries)) {
    const busy = ended.reduce((sum, each) => sum + each, 0);
    const own = seconds - busy;
    for (const _ of ended) between.push(Math.max(0, own + before) / ended.length);
    measured += busy;
  }
  const runs = between.length;
  const total = between.reduce((sum, each) => sum + each, 0);
  return {
    runs,
    betweenMedian: runs === 0 ? null : median(between),
    betweenMost: runs === 0 ? null : Math.max(...between),
    share: measured === 0 ? null : total / measured,
  };
}

function* turnsIn(entries: readonly JournalEntry[]): Generator<EndedTurn> {
  let from: number | null = null;
  let turn: Turn | null = null;
  for (const entry of entries) {
    const time = Date.parse(entry.time);
    switch (entry.event) {
      case 'opened':
      case 'series-started':
      case 'series-ended':
        from = null;
        turn = null;
        break;
      case 'trial-loaded':
        if (from !== null) from += entry.seconds * 1000;
        break;
      case 'run-started':
        turn ??= { started: time, open: 0, ended: [] };
        turn.open += 1;
        break;
      case 'run-ended': {
        turn?.ended.push(entry.seconds);
        if (turn === null || turn.ended.length < turn.open) break;
        const { started, ended } = turn;
        const before = from === null ? 0 : (started - from) / 1000;
        yield { ended, seconds: (time - started) / 1000, before };
        from = time;
        turn = null;
      }
    }
  }
}

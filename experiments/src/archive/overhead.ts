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

/** Measures the engine's overhead between the runs of each series. Runs that take turns share theirs. */
export function overheadOf(entries: readonly JournalEntry[]): Overhead {
  const between: number[] = [];
  let measured = 0;
  let from: number | null = null;
  let started: number | null = null;
  let open = 0;
  let ended: number[] = [];
  for (const entry of entries) {
    const time = Date.parse(entry.time);
    if (entry.event === 'series-started' || entry.event === 'series-ended' || entry.event === 'opened') {
      from = null;
      started = null;
      open = 0;
      ended = [];
    }
    if (entry.event === 'trial-loaded' && from !== null) from += entry.seconds * 1000;
    if (entry.event === 'run-started') {
      started ??= time;
      open += 1;
    }
    if (entry.event !== 'run-ended' || started === null) continue;
    ended.push(entry.seconds);
    if (ended.length < open) continue;
    const busy = ended.reduce((sum, seconds) => sum + seconds, 0);
    const own = (time - started) / 1000 - busy;
    const before = from === null ? 0 : (started - from) / 1000;
    for (const _ of ended) between.push(Math.max(0, own + before) / ended.length);
    measured += busy;
    from = time;
    started = null;
    open = 0;
    ended = [];
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

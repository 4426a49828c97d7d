import type { Reading } from '@tidegauge/readings';
import { compareText, type Store } from '@tidegauge/storage';
import type { BatchWriter } from './batch-writer.ts';
import { DAY_US, type DayDigest, DeviceDigest } from './digest.ts';
import { type Difference, differenceOf, inLockstep } from './lockstep.ts';
import { byTime, metricsOf, none, seriesOf } from './series-of.ts';

/** Numbers of readings, by how the target differs from the source. */
export type Counts = Record<Difference | 'kept', number>;

/** How a device differs between two stores. */
export interface DeviceComparison {
  readonly counts: Counts;
  /** Numbers of the days that differ. Days are counted since the epoch. */
  readonly days: ReadonlyMap<number, Counts>;
  readonly metrics: readonly string[];
}

export interface Sides {
  readonly source: Store;
  readonly target: Store;
}

export interface Watch {
  readonly signal: AbortSignal;
  /** Called after readings of the source. @param share the part of the device that is done, from 0 to 1 */
  readings(count: number, device: string, share: number): void;
}

export function noCounts(): Counts {
  return { equal: 0, missing: 0, different: 0, details: 0, extra: 0, kept: 0 };
}

/** Readings between two calls of `Watch.readings`. */
const WATCH_EVERY = 2000;

interface Visitor {
  /** Null, or a promise to wait for. */
  difference(kind: keyof Counts, day: number): void;
}

/** Compares the readings of a device on both sides, and passes each difference on. */
async function compareSeries(
  { source, target }: Sides,
  device: string,
  watch: Watch,
  visit: (source: Reading | null, target: Reading | null) => Promise<void> | null,
): Promise<string[]> {
  const [left, right] = [await metricsOf(source, device), new Set(await metricsOf(target, device))];
  const known = new Set(left);
  const metrics = [...new Set([...left, ...right])].sort(compareText);
  let unreported = 0;
  for (const [index, metric] of metrics.entries()) {
    const [newest] = known.has(metric) ? [await newestOf(source, device, metric)] : [];
    let oldest: number | null = null;
    await inLockstep(
      known.has(metric) ? seriesOf(source, device, metric) : none(),
      right.has(metric) ? seriesOf(target, device, metric) : none(),
      byTime,
      (from, to) => {
        if (from !== null) {
          oldest ??= from.time;
          unreported += 1;
        }
        if (unreported >= WATCH_EVERY && from !== null) {
          watch.signal.throwIfAborted();
          const span = (newest ?? from.time) - oldest! + 1;
          watch.readings(
            unreported,
            device,
            (index + Math.min((from.time - oldest!) / span, 1)) / metrics.length,
          );
          unreported = 0;
        }
        return visit(from, to);
      },
    );
  }
  watch.signal.throwIfAborted();
  watch.readings(unreported, device, 1);
  return metrics;
}

async function newestOf(store: Store, device: string, metric: string): Promise<number | undefined> {
  for await (const { time } of store.readings.range({ device, metric, limit: 1 })) return time;
  return undefined;
}

function counter(): Visitor & { readonly counts: Counts; readonly days: Map<number, Counts> } {
  const counts = noCounts();
  const days = new Map<number, Counts>();
  return {
    counts,
    days,
    difference(kind, day) {
      counts[kind] += 1;
      if (kind === 'equal') return;
      let ofDay = days.get(day);
      if (ofDay === undefined) {
        ofDay = noCounts();
        days.set(day, ofDay);
      }
      ofDay[kind] += 1;
    },
  };
}

/** The result of the first step of a copy of a device: what the target must have once the writer is flushed. */
export interface Plan extends DeviceComparison {
  readonly device: string;
  readonly expected: ReadonlyMap<number, DayDigest>;
  /** Days to which readings were passed to the writer, ascending. */
  readonly written: readonly number[];
}

/**
 * Passes the readings of a device that the target lacks to the writer. Of two different values, the one that was
 * received later stays, and at the same time of receipt that of the source.
 */
export async function copyDevice(
  sides: Sides,
  device: string,
  writer: BatchWriter,
  watch: Watch,
): Promise<Plan> {
  const { counts, days, difference } = counter();
  const expected = new DeviceDigest();
  const written = new Set<number>();
  const metrics = await compareSeries(sides, device, watch, (source, target) => {
    const day = Math.floor((source ?? target)!.time / DAY_US);
    const kind = differenceOf(source, target);
    const isKept = kind === 'different' && target!.received > source!.received;
    difference(isKept ? 'kept' : kind, day);
    const isWritten = kind === 'missing' || (kind === 'different' && !isKept);
    expected.add(isWritten ? source! : target!);
    if (!isWritten) return null;
    written.add(day);
    return writer.add(source!);
  });
  return {
    device,
    counts,
    days,
    metrics,
    expected: expected.days(),
    written: [...written].sort((a, b) => a - b),
  };
}

/** Days without written readings between two days with them, which are read again too. */
const MAX_GAP_DAYS = 31;

/** Reads the written days of a device again. Resolves to the days whose number or digest is not the expected one. */
export async function unequalDays(target: Store, plan: Plan, watch: Watch): Promise<number[]> {
  const unequal: number[] = [];
  for (const { first, last } of runsOf(plan.written)) {
    const digest = new DeviceDigest();
    const bounds = { from: first * DAY_US, to: (last + 1) * DAY_US };
    for (const metric of plan.metrics) {
      for await (const reading of seriesOf(target, plan.device, metric, bounds)) digest.add(reading);
      watch.signal.throwIfAborted();
    }
    const found = digest.days();
    for (let day = first; day <= last; day += 1) {
      if (!isEqualDay(found.get(day), plan.expected.get(day))) unequal.push(day);
    }
  }
  return unequal;
}

function* runsOf(days: readonly number[]): Generator<{ first: number; last: number }> {
  let [first, last] = [days[0], days[0]];
  for (const day of days) {
    if (day - last! > MAX_GAP_DAYS) {
      yield { first: first!, last: last! };
      first = day;
    }
    last = day;
  }
  if (first !== undefined) yield { first, last: last! };
}

function isEqualDay(a: DayDigest | undefined, b: DayDigest | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.count === b.count && a.digest.equals(b.digest);
}

/** Compares a device without a change. Both digests are complete. */
export async function verifyDevice(
  sides: Sides,
  device: string,
  watch: Watch,
): Promise<
  DeviceComparison & {
    readonly source: ReadonlyMap<number, DayDigest>;
    readonly target: ReadonlyMap<number, DayDigest>;
  }
> {
  const { counts, days, difference } = counter();
  const [left, right] = [new DeviceDigest(), new DeviceDigest()];
  const metrics = await compareSeries(sides, device, watch, (source, target) => {
    difference(differenceOf(source, target), Math.floor((source ?? target)!.time / DAY_US));
    if (source !== null) left.add(source);
    if (target !== null) right.add(target);
    return null;
  });
  return { counts, days, metrics, source: left.days(), target: right.days() };
}

import { DAY_US, dayName, metricsOf, type Progress, patiently } from '@tidegauge/copy';
import { isWithin } from '@tidegauge/service';
import { compareText, type Store } from '@tidegauge/storage';
import type { SequenceLedger } from '../ledger/sequence-ledger.ts';
import { dayOf } from '../relay/day-digest.ts';
import type { DayRange } from '../relay/relay-log.ts';
import type { EarlierDays } from './chain.ts';
import { type FoundDay, readDay } from './day-facts.ts';
import type { AttestationTotals, AttestedBoot, AttestedDay } from './document.ts';
import { gapsOf, type JudgedNumbers, judge, sizeOf } from './gaps.ts';

/** Days of one device that are read at the same time. */
const DAYS_AT_ONCE = 4;

export interface AttestOptions {
  readonly store: Store;
  /** Days, counted since the epoch, which have ended. */
  readonly days: DayRange;
  /** Only this device and those below it; null for all. */
  readonly device: string | null;
  /**
   * Null: there is none, so no gap is judged. It was read before the store is, so that a number that arrives meanwhile is
   * no gap.
   */
  readonly ledger: SequenceLedger | null;
  readonly earlier: EarlierDays;
  readonly signal: AbortSignal;
  readonly progress: Progress;
}

/**
 * Passes on a line for each device and day that has readings or deleted readings, or had some in an earlier document: by
 * device, then by day. Only the figures of one device are in memory.
 *
 * @throws {StoreError} after ten minutes without the store
 */
export async function attest(
  options: AttestOptions,
  write: (line: AttestedDay) => void,
): Promise<AttestationTotals> {
  const { store, device: only, earlier, signal, progress } = options;
  const report = (line: string) => progress.line(line);
  const totals = newTotals();
  const devices = new Set(earlier.keys());
  for await (const device of store.readings.devices()) if (isWithin(only, device)) devices.add(device);
  progress.expect(devices.size);
  for (const device of [...devices].sort(compareText)) {
    const lines = await patiently(() => linesOf(device, options), signal, report);
    for (const line of lines) {
      addTo(totals, line);
      write(line);
    }
    progress.finish([device]);
  }
  return totals;
}

/** The totals of a document without days. */
export function newTotals(): AttestationTotals {
  return {
    days: 0,
    readings: 0,
    missing: 0,
    arrived: 0,
    unjudged: 0,
    late: 0,
    deleted: 0,
    changed: 0,
  };
}

function addTo(totals: AttestationTotals, { count, deleted = 0, was, boots = [] }: AttestedDay): void {
  totals.days++;
  totals.readings += count;
  totals.deleted += deleted;
  if (was !== undefined) totals.changed++;
  for (const { late, missing = [], arrived = [], unjudged = [] } of boots) {
    totals.late += late ?? 0;
    totals.missing += sizeOf(missing);
    totals.arrived += sizeOf(arrived);
    totals.unjudged += sizeOf(unjudged);
  }
}

async function linesOf(
  device: string,
  { store, days, ledger, earlier, signal, progress }: AttestOptions,
): Promise<AttestedDay[]> {
  const metrics = await metricsOf(store, device);
  const found: FoundDay[] = [];
  for (let first = days.from; first <= days.to; first += DAYS_AT_ONCE) {
    signal.throwIfAborted();
    const length = Math.min(DAYS_AT_ONCE, days.to - first + 1);
    const read = await Promise.all(
      Array.from({ length }, (_, index) => readDay(store, device, first + index)),
    );
    found.push(...read);
    const readings = read.reduce((sum, { facts }) => sum + (facts?.count ?? 0), 0);
    progress.advance(readings, device, found.length / (days.to - days.from + 1));
  }
  const before = await numbersBefore(store, device, metrics, days.from);
  const gaps = gapsOf(found, before);
  const rolledUp = await countsOfRollups(store, device, metrics, days);
  const named = new Set<string>();
  return found.flatMap(({ day, facts, numeric }): AttestedDay[] => {
    const name = dayName(day);
    const past = earlier.get(device)?.get(name);
    const was = past !== undefined && past.digest !== (facts?.digest ?? '') ? past : null;
    const deleted = Math.max(0, (rolledUp.get(day) ?? 0) - numeric);
    const changes = { ...(deleted === 0 ? {} : { deleted }), ...(was === null ? {} : { was }) };
    if (facts === null) {
      if (deleted === 0 && past === undefined) return [];
      return [{ device, day: name, count: 0, digest: '', ...changes }];
    }
    const boots = facts.boots.map((each): AttestedBoot => {
      const { boot } = each;
      const number = named.has(boot) ? undefined : before.get(boot);
      named.add(boot);
      const judged = judge(gaps.get(boot)?.get(day) ?? [], ledger?.tracked(device, boot) ?? null);
      return { ...each, ...(number === undefined ? {} : { before: number }), ...withoutEmpty(judged) };
    });
    return [{ device, day: name, ...facts, boots, ...changes }];
  });
}

function withoutEmpty({ missing, arrived, unjudged }: JudgedNumbers): Partial<JudgedNumbers> {
  return {
    ...(missing.length === 0 ? {} : { missing }),
    ...(arrived.length === 0 ? {} : { arrived }),
    ...(unjudged.length === 0 ? {} : { unjudged }),
  };
}

/** The highest number of each boot among the last reading of each metric before a day. */
async function numbersBefore(
  store: Store,
  device: string,
  metrics: readonly string[],
  day: number,
): Promise<Map<string, number>> {
  const highest = new Map<string, number>();
  for (const metric of metrics) {
    for await (const { boot, seq } of store.readings.range({ device, metric, to: day * DAY_US, limit: 1 })) {
      if (boot !== null && seq !== null) highest.set(boot, Math.max(seq, highest.get(boot) ?? 0));
    }
  }
  return highest;
}

/** How many numeric readings rollups have of each day. They stay when retention deletes the readings. */
async function countsOfRollups(
  store: Store,
  device: string,
  metrics: readonly string[],
  days: DayRange,
): Promise<Map<number, number>> {
  const counts = new Map<number, number>();
  if (!store.capabilities.rollups) return counts;
  const bounds = { from: days.from * DAY_US, to: (days.to + 1) * DAY_US };
  for (const metric of metrics) {
    const { rollups } = await store.rollups.read({ device, metric, period: 'day', ...bounds });
    for (const { time, count } of rollups) counts.set(dayOf(time), (counts.get(dayOf(time)) ?? 0) + count);
  }
  return counts;
}

import { setImmediate as nextTurn } from 'node:timers/promises';
import { DAY_US, DeviceDigest, metricsOf } from '@tidegauge/copy';
import type { Reading } from '@tidegauge/readings';
import { compareText, type RangeCursor, type Store } from '@tidegauge/storage';

/** The day of the latest time of a reading, counted since the epoch. */
export const MOST_DAY = Math.floor(Number.MAX_SAFE_INTEGER / DAY_US);
/** Readings that are read at once. In between, other work has time. */
const PAGE = 1000;

/**
 * The number and the digest of the readings of one device on one UTC day, as docs/copy.md defines it, but with 0 as the time
 * of receipt: a message that is received again after a crash has another one, and not all stores keep the first.
 */
export interface DayFigures {
  readonly count: number;
  /** 64 hexadecimal digits; empty without readings. */
  readonly digest: string;
}

/** The UTC day of a time in microseconds, counted since the epoch. */
export function dayOf(time: number): number {
  return Math.floor(time / DAY_US);
}

async function pageOf(parts: AsyncIterable<readonly Reading[]>): Promise<Reading[]> {
  const page: Reading[] = [];
  for await (const part of parts) page.push(...part);
  return page;
}

/**
 * The readings of a device on one day, by metric and time, in pages of up to 1,000. No read stays open between two pages.
 *
 * @param until only readings before it, microseconds since the epoch
 * @param start only readings after this one; null: all
 */
export async function* readingsOfDay(
  store: Store,
  device: string,
  day: number,
  until: number,
  start: RangeCursor | null = null,
): AsyncGenerator<Reading[]> {
  const bounds = { from: day * DAY_US, to: Math.min((day + 1) * DAY_US, until) };
  if (bounds.to <= bounds.from) return;
  for (const metric of await metricsOf(store, device)) {
    const order = start === null ? 1 : compareText(metric, start.metric);
    if (order >= 0) yield* pagesAfter(store, { device, metric, ...bounds }, order === 0 ? start : null);
  }
}

/** The readings of one series after a cursor. */
async function* pagesAfter(
  store: Store,
  series: { readonly device: string; readonly metric: string; readonly from: number; readonly to: number },
  start: RangeCursor | null,
): AsyncGenerator<Reading[]> {
  const query = { ...series, order: 'asc' as const, limit: PAGE };
  for (let after = start; ; ) {
    const page = await pageOf(store.readings.pages(after === null ? query : { ...query, after }));
    if (page.length > 0) yield page;
    if (page.length < PAGE) return;
    after = { time: page.at(-1)!.time, metric: series.metric };
    await nextTurn();
  }
}

/**
 * @param until as for `readingsOfDay`
 * @throws {StoreError}
 */
export async function dayFigures(
  store: Store,
  device: string,
  day: number,
  until: number,
): Promise<DayFigures> {
  const digest = new DeviceDigest();
  for await (const page of readingsOfDay(store, device, day, until))
    for (const reading of page) digest.add({ ...reading, received: 0 });
  const found = digest.days().get(day);
  return found === undefined
    ? { count: 0, digest: '' }
    : { count: found.count, digest: found.digest.toString('hex') };
}

/** The first day from `from` on with readings of a device before the time `until`; null when there is none. */
export async function nextDay(
  store: Store,
  device: string,
  from: number,
  until: number,
): Promise<number | null> {
  let first = Number.POSITIVE_INFINITY;
  const bounds = { from: from * DAY_US, to: until };
  if (bounds.to <= bounds.from) return null;
  for (const metric of await metricsOf(store, device)) {
    const query = { device, metric, ...bounds, order: 'asc' as const, limit: 1 };
    for await (const { time } of store.readings.range(query)) first = Math.min(first, time);
  }
  return first === Number.POSITIVE_INFINITY ? null : dayOf(first);
}

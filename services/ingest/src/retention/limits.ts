import { statfs } from 'node:fs/promises';
import { ConfigError } from '@tidegauge/service';
import { isDamaged, type Store } from '@tidegauge/storage';
import type { RetentionRules } from './rules.ts';

const MINUTE = 60e6;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** The share of the stored time that one step deletes. */
const STEP = 0.02;
const MAX_METRICS = 1000;

/** Bounds of the space of a store. 0: no bound. */
export interface Limits {
  /** Largest size of the data, bytes. */
  readonly maxBytes: number;
  /** Least free space of the disk, bytes. The spare part of the store's own files counts as free. */
  readonly minFreeBytes: number;
}

export interface LimitStep {
  /** Readings older than this must go, microseconds. */
  readonly before: number;
  readonly reason: 'size' | 'disk';
  /** False: all older readings are deleted already, and that was not enough. It is the last step. */
  readonly isEnough: boolean;
}

/**
 * @throws {ConfigError} when the limits cannot be checked for this store
 */
export async function checkLimits(store: Store, { maxBytes, minFreeBytes }: Limits): Promise<void> {
  if ((maxBytes === 0 && minFreeBytes === 0) || (await store.space()) !== null) return;
  const setting = maxBytes > 0 ? 'RETENTION_MAX_BYTES' : 'RETENTION_MIN_FREE';
  throw new ConfigError([
    `${setting} needs a store on a disk of this machine (sqlite: or json:), and this one is ${store.name}: ` +
      'limit the age of readings with RETENTION',
  ]);
}

/**
 * The steps until the store is within its limits: each names a time before which all readings must be deleted, and is
 * followed by another look at the disk. Readings of the last hour stay, so that a wrong limit does not delete what has
 * just arrived.
 */
export async function* belowLimit(store: Store, limits: Limits, time: number): AsyncGenerator<LimitStep> {
  let before = 0;
  for (;;) {
    const reason = await exceeded(store, limits);
    if (reason === null) return;
    const oldest = await oldestTime(store);
    // A sensor whose clock is years behind can have sent another old reading meanwhile.
    const start = Math.max(oldest ?? time, before);
    if (start >= time - HOUR) {
      yield { before: 0, reason, isEnough: false };
      return;
    }
    before = endOfStep(start, time);
    yield { before, reason, isEnough: true };
  }
}

/** @throws {ConfigError} when rules limit rollups, and the store keeps none */
export function checkRollups(
  { name, capabilities }: Pick<Store, 'name' | 'capabilities'>,
  { hasRollups }: RetentionRules,
): void {
  if (!hasRollups || capabilities.rollups) return;
  throw new ConfigError([
    `retention: 1m, 1h and 1d are ages of rollups, and the store ${name} keeps no rollups: keep raw only, such as raw:30d`,
  ]);
}

/** The limit that the store exceeds, or null. */
export async function exceeded(
  store: Store,
  { maxBytes, minFreeBytes }: Limits,
): Promise<'size' | 'disk' | null> {
  if (maxBytes === 0 && minFreeBytes === 0) return null;
  const space = await store.space();
  if (space === null) return null;
  if (maxBytes > 0 && space.used > maxBytes) return 'size';
  if (minFreeBytes === 0) return null;
  const { bavail, bsize } = await statfs(space.path);
  return bavail * bsize + space.spare < minFreeBytes ? 'disk' : null;
}

/** Whole days, if the data has several: engines that keep days apart delete them fastest. */
function endOfStep(oldest: number, time: number): number {
  const end = oldest + Math.max(MINUTE, Math.round(STEP * (time - oldest)));
  const midnight = (Math.floor(end / DAY) + 1) * DAY;
  return midnight <= time - 2 * DAY ? midnight : Math.min(end, time - HOUR);
}

/**
 * The time of the oldest reading, or null without readings. It reads one reading of each series. A series whose oldest
 * readings are damaged is left out: they are deleted with others of their time.
 */
async function oldestTime({ readings }: Store): Promise<number | null> {
  let oldest: number | null = null;
  for await (const device of readings.devices()) {
    for (const metric of await readings.metrics(device, MAX_METRICS)) {
      try {
        for await (const { time } of readings.range({ device, metric, order: 'asc', limit: 1 }))
          oldest = Math.min(oldest ?? time, time);
      } catch (error) {
        if (!isDamaged(error)) throw error;
      }
    }
  }
  return oldest;
}

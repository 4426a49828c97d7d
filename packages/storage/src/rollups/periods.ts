import type { RollupPeriod } from '../contract.ts';

/** The periods of rollups, the finest first. */
export const ROLLUP_PERIODS: readonly RollupPeriod[] = ['minute', 'hour', 'day'];

export const MINUTE_US = 60_000_000;
export const HOUR_US = 3_600_000_000;
/** Microseconds of a UTC day. */
export const DAY_US = 86_400_000_000;

/** The length of each period, microseconds. */
export const PERIOD_US: Readonly<Record<RollupPeriod, number>> = {
  minute: MINUTE_US,
  hour: HOUR_US,
  day: DAY_US,
};

/**
 * The time that one stored row covers, microseconds. A row has up to 60 minutes, 24 hours or one day. So a row that is
 * replaced changes at once on every engine, and the row of an hour takes 3 KB at most.
 */
export const ROW_US: Readonly<Record<RollupPeriod, number>> = { minute: HOUR_US, hour: DAY_US, day: DAY_US };

/** The largest multiple of `unit` that is at most `time`. */
export function floorTo(time: number, unit: number): number {
  return Math.floor(time / unit) * unit;
}

/** The smallest multiple of `unit` that is at least `time`. */
export function ceilTo(time: number, unit: number): number {
  return Math.ceil(time / unit) * unit;
}

import type { Reading } from '@tidegauge/readings';
import { openStore, type Store } from '@tidegauge/storage';

const MINUTE_US = 60_000_000;
const HOUR_US = 60 * MINUTE_US;
const MINUTES_OF_DAY = 1440;
const MINUTES_OF_YEAR = 365 * MINUTES_OF_DAY;
/** Readings of one write. */
const BATCH = 10_000;
/** Sensors of one site of a fleet. */
const SENSORS_OF_SITE = 100;

/** The site and the metric of the history. */
export const SITE = 'tower';
export const METRIC = 'temperature';

/** What a store holds after `fillHistory`. */
export interface Filled {
  readonly readings: number;
  readonly seconds: number;
}

/** Name of a sensor of the history. */
export function sensorOf(number: number): string {
  return `${SITE}/sensor-${number + 1}`;
}

/**
 * Fills a store with the readings of some sensors, one per minute, for some days until now, and computes all rollups.
 *
 * @throws {Error} when hours without rollups are left
 */
export async function fillHistory(
  url: string,
  { sensors, days }: { readonly sensors: number; readonly days: number },
  signal: AbortSignal,
): Promise<Filled> {
  const begun = performance.now();
  const last = Math.floor(Date.now() / 60_000);
  const first = last - days * MINUTES_OF_DAY;
  const names = Array.from({ length: sensors }, (_, number) => sensorOf(number));
  const clock = { now: first * MINUTE_US };
  const store = await openStore(url, { clock: () => clock.now });
  try {
    await store.devices.register(names);
    const atOnce = Math.floor(BATCH / sensors);
    for (let from = first; from < last; from += atOnce) {
      signal.throwIfAborted();
      const to = Math.min(last, from + atOnce);
      clock.now = to * MINUTE_US;
      await store.readings.write(readingsOf(names, from, to));
      await rollUp(store);
    }
    // The hours of the last readings are computed when they have ended.
    clock.now += 2 * HOUR_US;
    await rollUp(store);
    const { marks } = await store.rollups.status();
    if (marks > 0) throw new Error(`${marks} hours have no rollups`);
  } finally {
    await store.close();
  }
  return { readings: sensors * (last - first), seconds: (performance.now() - begun) / 1000 };
}

/** Fills a store with sensors in sites of 100 that have just reported two metrics. */
export async function fillFleet(url: string, sensors: number): Promise<void> {
  const names = Array.from(
    { length: sensors },
    (_, number) => `site-${Math.floor(number / SENSORS_OF_SITE) + 1}/room/probe-${number + 1}`,
  );
  const store = await openStore(url);
  try {
    await store.devices.register(names);
    const minute = Math.floor(Date.now() / 60_000);
    for (let start = 0; start < sensors; start += BATCH / 2) {
      const some = names.slice(start, start + BATCH / 2);
      const temperatures = readingsOf(some, minute - 1, minute);
      await store.readings.write([
        ...temperatures,
        ...temperatures.map((reading) => ({ ...reading, metric: 'humidity' })),
      ]);
    }
  } finally {
    await store.close();
  }
}

async function rollUp(store: Store): Promise<void> {
  while ((await store.rollups.work()).more);
}

/** The readings of each minute in [from, to), minutes since the epoch. */
function readingsOf(names: readonly string[], from: number, to: number): Reading[] {
  const readings: Reading[] = [];
  for (let minute = from; minute < to; minute += 1) {
    const time = minute * MINUTE_US;
    for (const [number, device] of names.entries()) {
      const value = valueAt(minute, number);
      const stamp = { received: time + 1_500_000, boot: null, seq: null, quality: 'ok' } as const;
      readings.push({ device, metric: METRIC, time, value, ...stamp });
    }
  }
  return readings;
}

/** A temperature with years, days, noise, and rare peaks of one reading. */
function valueAt(minute: number, sensor: number): number {
  const year = 8 * Math.sin((2 * Math.PI * minute) / MINUTES_OF_YEAR);
  const day = 3 * Math.sin((2 * Math.PI * minute) / MINUTES_OF_DAY + sensor);
  const noise = ((minute * 7919 + sensor * 104_729) % 97) / 100;
  const peak = (minute + sensor * 1009) % 20_011 === 0 ? 30 : 0;
  return Math.round(100 * (15 + sensor / 4 + year + day + noise + peak)) / 100;
}

import type { Reading } from '@tidegauge/readings';
import type { CoreReadings } from '../backend.ts';

// Devices in which derived parts keep their data. The names of callers have no space.

/** Whether only derived parts use a device. */
export function isReserved(device: string): boolean {
  return device.includes(' ');
}

/** The reserved device with the fields of a device and the units of its series. */
export function recordOf(device: string): string {
  return `device ${device}`;
}

const ROLLUPS = 'rollups ';

/** The reserved device with the marks and rows of rollups of a device. */
export function rollupsOf(device: string): string {
  return ROLLUPS + device;
}

/** The device of which a reserved device has rollups, or null. */
export function deviceOfRollups(reserved: string): string | null {
  return reserved.startsWith(ROLLUPS) ? reserved.slice(ROLLUPS.length) : null;
}

/** A text in a reserved device. */
export function textAt(device: string, metric: string, time: number, value: string): Reading {
  return { device, metric, time, value, received: time, boot: null, seq: null, quality: 'ok' };
}

/** Writes any number of readings. */
export async function writeAll(
  readings: Pick<CoreReadings, 'write'>,
  batch: readonly Reading[],
  maxBatch: number,
): Promise<void> {
  for (let start = 0; start < batch.length; start += maxBatch)
    await readings.write(batch.slice(start, start + maxBatch));
}

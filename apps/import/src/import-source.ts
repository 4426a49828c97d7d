import type { Device, Reading } from '@tidegauge/readings';
import type { Tally } from './tally.ts';

/** A reading of the source, and its unit in the name that Tidegauge uses; null when the source has none. */
export interface SourceReading {
  readonly reading: Reading;
  readonly unit: string | null;
}

/** A bounded part of a source. */
export interface Step {
  readonly readings: readonly SourceReading[];
  /** Where a later run continues after this part. Any value of JSON; only the source reads it. */
  readonly position: unknown;
  /** The part of the source that is done, from 0 to 1. */
  readonly share: number;
}

/** What an import reads. It gives the same readings each time, until its version changes. */
export interface ImportSource {
  /** For people, and to find the state of an earlier run: `influxdb:/mnt/export.lp`. */
  readonly name: string;
  /** Another text when its content or how it is read has changed, so that a position is no longer valid. */
  readonly version: string;
  /**
   * Its readings, in parts. What cannot be a reading is counted in `tally` before the part that contains it is returned.
   *
   * @param position that of an earlier step; null for the beginning
   * @throws {Error} when the source cannot be read on
   */
  steps(position: unknown, tally: Tally): AsyncIterable<Step>;
  /** Descriptions of devices. Those without readings in the store are not registered. */
  devices?(): Iterable<Device>;
  close?(): void;
}

/** A reading of a source that has no times of receipt: it was received at its own time, and no clock is in doubt. */
export function asHistory({ device, metric, time, value, boot, seq }: Reading): Reading {
  return { device, metric, time, value, received: time, boot, seq, quality: 'ok' };
}

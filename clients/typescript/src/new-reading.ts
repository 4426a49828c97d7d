import type { Time } from './time.ts';

/** A reading to store. */
export interface NewReading {
  /** A path of 1 to 8 segments. Needed unless the options of `send` name it. */
  readonly device?: string;
  /** One word. Needed unless the options of `send` name it. */
  readonly metric?: string;
  /** The time of the measurement. Default: the time of the call. */
  readonly t?: Time;
  /** The value. true and false are stored as 1 and 0. */
  readonly v: number | boolean | string;
  /** One power cycle of the sensor. */
  readonly boot?: string;
  /** Counts the readings of one boot: 0, 1, 2 and so on. */
  readonly seq?: number;
}

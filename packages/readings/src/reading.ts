/**
 * The quality of the reading's time.
 *
 * - `ok`: plausible.
 * - `skewed`: ahead of the receiver's clock by more than its tolerance.
 * - `unsynced`: from a board that started without a clock. A decoder gives it to times before the year 2000. Ingest
 *   replaces those that count from a start by an estimate.
 */
export type Quality = 'ok' | 'skewed' | 'unsynced';

export const QUALITIES: readonly Quality[] = ['ok', 'skewed', 'unsynced'];

/** Fields of a reading that ingest sets itself. */
export const SET_BY_INGEST: ReadonlySet<string> = new Set(['received', 'quality']);

/** Whether an object is a reading as the API has it, with these fields. They are ignored, so that it can be sent back. */
export function isReadingDocument({ received, quality }: Readonly<Record<string, unknown>>): boolean {
  return typeof received === 'string' && QUALITIES.includes(quality as Quality);
}

/** A number, or a text kept as text. Booleans are stored as 1 and 0. */
export type ReadingValue = number | string;

/**
 * One measured value. Its identity is (device, metric, time). The same identity with the same value is a duplicate,
 * and with another value a correction. The last written correction is kept.
 */
export interface Reading {
  /** Path of 1 to 8 segments, `site-3/boiler/probe-7`. */
  readonly device: string;
  /** One word, `temperature`. */
  readonly metric: string;
  /** Microseconds since the Unix epoch, from the sensor; the receive time when the sensor sends none. */
  readonly time: number;
  readonly value: ReadingValue;
  /** Microseconds since the Unix epoch when ingest received it. */
  readonly received: number;
  /** Identifies one power cycle of the sensor; `null` when the sensor does not send it. */
  readonly boot: string | null;
  /** Counts the readings of one boot, by one, from any start; `null` when the sensor does not send it. */
  readonly seq: number | null;
  readonly quality: Quality;
}

/** One character of a name, as part of a regular expression with the flag `u`. */
export const NAME_CHARACTER = '[\\p{L}\\p{N}_.:@~-]';

// Names of dots only are invalid, because names become URL paths and clients remove `.` and `..` there.
const SEGMENT = new RegExp(`^(?!\\.+$)${NAME_CHARACTER}+$`, 'u');
/** Largest device and metric names, in segments and UTF-16 code units. */
export const MAX_SEGMENTS = 8;
export const MAX_DEVICE_LENGTH = 200;
export const MAX_METRIC_LENGTH = 64;

/** The first level of a device's name. A login is limited to one, so bounds count by it: it stands for a client. */
export function firstLevelOf(device: string): string {
  const end = device.indexOf('/');
  return end === -1 ? device : device.slice(0, end);
}

/** Longest text value, in UTF-16 code units, that every backend can store. */
export const MAX_TEXT_LENGTH = 4096;

/** Longest unit of a series, in UTF-16 code units. The longest of the SenML registry has 7. */
export const MAX_UNIT_LENGTH = 64;

/** Why `unit` cannot be the unit of a series; `null` when it can. It is a text for people: `Cel`, `%RH`, `µg/m³`. */
export function unitProblem(unit: string): string | null {
  if (unit.length === 0) return 'a unit cannot be empty';
  if (unit.length > MAX_UNIT_LENGTH) return `a unit has at most ${MAX_UNIT_LENGTH} characters`;
  if (!unit.isWellFormed()) return 'a unit cannot contain half of a surrogate pair';
  return /\p{Cc}/u.test(unit) ? 'a unit cannot contain control characters' : null;
}

/** Why `name` is not a valid device name; `null` when it is. */
export function deviceNameProblem(name: string): string | null {
  if (name.length === 0) return 'a device name cannot be empty';
  if (name.length > MAX_DEVICE_LENGTH) return `a device name has at most ${MAX_DEVICE_LENGTH} characters`;
  const segments = name.split('/');
  if (segments.length > MAX_SEGMENTS) return `a device is a path of at most ${MAX_SEGMENTS} segments`;
  for (const segment of segments) {
    if (!SEGMENT.test(segment)) {
      return `device segment ${JSON.stringify(segment)} must be letters, digits and _ . : @ ~ - only, and not just dots`;
    }
  }
  return null;
}

/** Why `name` is not a valid metric name; `null` when it is. */
export function metricNameProblem(name: string): string | null {
  if (name.length === 0) return 'a metric name cannot be empty';
  if (name.length > MAX_METRIC_LENGTH) return `a metric name has at most ${MAX_METRIC_LENGTH} characters`;
  if (!SEGMENT.test(name)) {
    return `metric ${JSON.stringify(name)} must be one word of letters, digits and _ . : @ ~ -, and not just dots`;
  }
  return null;
}

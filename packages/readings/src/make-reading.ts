import { DecodeError } from './codec.ts';
import { quote } from './quote.ts';
import { MAX_TEXT_LENGTH, type Reading, type ReadingValue } from './reading.ts';
import { formatTime, MAX_AHEAD, parseSensorTime, timeQuality } from './time.ts';

/** Largest number of readings in one payload. It bounds the cost of one message. */
export const MAX_READINGS_PER_PAYLOAD = 10_000;

/** Largest number of characters of a boot. */
export const MAX_BOOT_LENGTH = 64;

/**
 * Creates a reading. All readings are created here, so that they have one shape in memory. The arguments must be
 * valid.
 */
export function makeReading(
  device: string,
  metric: string,
  time: number,
  value: ReadingValue,
  received: number,
  boot: string | null,
  seq: number | null,
): Reading {
  return { device, metric, time, value, received, boot, seq, quality: timeQuality(time, received) };
}

/**
 * Converts a value of a payload to the value of a reading. `field` is its field; `null` when the value is the whole
 * payload.
 */
export function readValue(value: unknown, field: string | null): ReadingValue | DecodeError {
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value;
    return new DecodeError(
      'invalid_value',
      `${label(field)} is a number beyond 1.8e308, the largest there is`,
    );
  }
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'string') return readText(value, field);
  return new DecodeError(
    'invalid_value',
    `${label(field)} is ${quote(value)}; a value is a number, true, false or a text`,
  );
}

/** Checks that every backend can store a text: its length, and characters that SQL or UTF-8 cannot represent. */
export function readText(text: string, field: string | null): string | DecodeError {
  if (text.length > MAX_TEXT_LENGTH) {
    return new DecodeError(
      'invalid_value',
      `${label(field)} is a text of ${text.length} characters; at most ${MAX_TEXT_LENGTH} are kept`,
    );
  }
  if (text.includes('\0')) {
    return new DecodeError('invalid_value', `${label(field)} has a NUL character, which databases refuse`);
  }
  if (!text.isWellFormed()) {
    return new DecodeError(
      'invalid_value',
      `${label(field)} has half of a surrogate pair, which is no character`,
    );
  }
  return text;
}

/** Converts a time of a payload to microseconds since the epoch, if it is plausible. */
export function readTime(value: unknown, field: string, received: number): number | DecodeError {
  const time = parseSensorTime(value);
  if (time === null) {
    return new DecodeError(
      'invalid_time',
      `${label(field)} is ${quote(value)}; a time is a number since 1970 or ISO 8601, until June 2255`,
    );
  }
  return timeProblem(time, field, received) ?? time;
}

/** Why `time` is not plausible at the receive time `received`; `null` when it is. */
export function timeProblem(time: number, field: string, received: number): DecodeError | null {
  if (time - received <= MAX_AHEAD) return null;
  return new DecodeError(
    'invalid_time',
    `${label(field)} is ${formatTime(time)}, more than 24 hours ahead of the receiver's clock, ` +
      `${formatTime(received)}; set the clock that is wrong`,
  );
}

function label(field: string | null): string {
  return field === null ? 'the payload' : quote(field);
}

/** What makes a reading one and the same: of two with one identity, the later replaces the earlier. */
export function identityOf({ device, metric, time }: Reading): string {
  return `${device} ${metric} ${time}`;
}

/** The error of a value that would replace another one of the same message. @param other what helps besides a time */
export function replacement({ device, metric }: Reading, other = ''): DecodeError {
  return new DecodeError(
    'invalid_time',
    `a second ${device} ${metric} of the same time, with another value, would overwrite the first; give each its time${other}`,
  );
}

/**
 * The error of readings of one message with two values of one series at one time, because one would replace the other;
 * `null` without them.
 */
export function replacedIn(readings: readonly Reading[]): DecodeError | null {
  if (readings.length === 1) return null;
  const values = new Map<string, ReadingValue>();
  for (const reading of readings) {
    const identity = identityOf(reading);
    const before = values.get(identity);
    if (before !== undefined && before !== reading.value) return replacement(reading);
    values.set(identity, reading.value);
  }
  return null;
}

/** The position of a record in a DecodeError. */
export function recordPosition(index: number, count: number): string {
  return `record ${index + 1} of ${count}`;
}

/** The error for a payload with more than `MAX_READINGS_PER_PAYLOAD` readings. */
export function tooManyReadings(count: number): DecodeError {
  return new DecodeError(
    'too_many_readings',
    `${count} readings in one payload; at most ${MAX_READINGS_PER_PAYLOAD} are taken, send them in several`,
  );
}

import { DecodeError } from './codec.ts';
import { quote } from './quote.ts';
import { MAX_TEXT_LENGTH, type Reading, type ReadingValue } from './reading.ts';
import { formatTime, MAX_AHEAD, parseTime, timeQuality } from './time.ts';

/** Most readings one payload may carry: bounds what one message can cost. */
export const MAX_READINGS_PER_PAYLOAD = 10_000;

/** The one place where readings are built, so that all have one shape in memory. Arguments are checked. */
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

/** A payload's value as a reading's; `field` is where it was found, `null` when it is the whole payload. */
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

/** A text that every backend can keep: bounded, and without what SQL or UTF-8 cannot carry. */
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

/** A payload's time as microseconds since the epoch, if it can be believed. */
export function readTime(value: unknown, field: string, received: number): number | DecodeError {
  const time = parseTime(value);
  if (time === null) {
    return new DecodeError(
      'invalid_time',
      `${label(field)} is ${quote(value)}; a time is a number since 1970 or ISO 8601, until June 2255`,
    );
  }
  return timeProblem(time, field, received) ?? time;
}

/** Why `time` is not believed by a receiver whose clock says `received`, or `null` when it is. */
export function timeProblem(time: number, field: string, received: number): DecodeError | null {
  if (time - received <= MAX_AHEAD) return null;
  return new DecodeError(
    'invalid_time',
    `${label(field)} says ${formatTime(time)}, more than 24 hours ahead of the clock here, ` +
      `${formatTime(received)}; set the clock that is wrong`,
  );
}

function label(field: string | null): string {
  return field === null ? 'the payload' : quote(field);
}

/** The place of a record, as a DecodeError gives it. */
export function recordPosition(index: number, count: number): string {
  return `record ${index + 1} of ${count}`;
}

/** A payload beyond `MAX_READINGS_PER_PAYLOAD`. */
export function tooManyReadings(count: number): DecodeError {
  return new DecodeError(
    'too_many_readings',
    `${count} readings in one payload; at most ${MAX_READINGS_PER_PAYLOAD} are taken, send them in several`,
  );
}

/** A time: a Date, ISO 8601, or a number since 1970, whose size decides its unit (see the API's documentation). */
export type Time = Date | string | number;

/** A time as a query parameter or a field of a reading. @throws {RangeError} for an invalid Date */
export function timeText(time: Time): string {
  return time instanceof Date ? time.toISOString() : String(time);
}

/** Like `timeText`, and undefined stays undefined. */
export function optionalTime(time: Time | undefined): string | undefined {
  return time === undefined ? undefined : timeText(time);
}

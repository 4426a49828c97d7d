/** The offset of a zone from UTC at an instant, milliseconds; positive east of Greenwich. */
type Offset = (instant: number) => number;

/** The instants of a local time, milliseconds since the epoch. */
export interface Instants {
  readonly first: number;
  readonly again: number;
  /** Whether the local time does not occur, because clocks are set forward. */
  readonly isSkipped: boolean;
}

/** Offsets change at full quarters of an hour only, so one is computed for each quarter. */
const QUARTER_MS = 900_000;
/** The quarters that are kept: a week. */
const MOST_QUARTERS = 672;

/** Why a name is no zone; null when it is one. */
export function zoneProblem(zone: string): string | null {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return null;
  } catch {
    return `${JSON.stringify(zone)} is not a time zone; give a name of the IANA database such as Europe/Berlin, or UTC`;
  }
}

/**
 * Compiles a zone of the IANA time zone database, such as `Europe/Berlin`, or an offset such as `+02:00`. The result
 * converts a local time, as milliseconds since the epoch if it were UTC, to milliseconds since the epoch. A local time
 * that occurs twice, when clocks are set back, has a second result, `again`; otherwise that is the same. One that does not
 * occur, when clocks are set forward, is read with the offset before the change.
 *
 * @throws {RangeError} when the zone does not exist
 */
export function compileZone(zone: string): (local: number) => Instants {
  // Every program compiles UTC when it starts, and Intl's first format takes 40 ms.
  if (zone === 'UTC') return (local) => ({ first: local, again: local, isSkipped: false });
  const offset = cached(offsetOf(zone));
  return (local) => {
    // The offsets a day before and a day after are those on both sides of a change. Changes are further apart.
    const before = offset(local - 86_400_000);
    const after = offset(local + 86_400_000);
    const early = local - before;
    if (before === after) return { first: early, again: early, isSkipped: false };
    const late = local - after;
    const isLate = offset(late) === after;
    const isEarly = offset(early) === before;
    const first = isEarly || !isLate ? early : late;
    return { first, again: isLate ? late : first, isSkipped: !isEarly && !isLate };
  };
}

function offsetOf(zone: string): Offset {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hourCycle: 'h23',
    ...{
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    },
  });
  return (instant) => {
    const parts: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(instant)) parts[type] = Number(value);
    const { year, month, day, hour, minute, second } = parts;
    return Date.UTC(year!, month! - 1, day!, hour!, minute!, second!) - Math.floor(instant / 1000) * 1000;
  };
}

function cached(offset: Offset): Offset {
  const known = new Map<number, number>();
  return (instant) => {
    const quarter = Math.floor(instant / QUARTER_MS);
    let found = known.get(quarter);
    if (found === undefined) {
      if (known.size >= MOST_QUARTERS) known.clear();
      found = offset(quarter * QUARTER_MS);
      known.set(quarter, found);
    }
    return found;
  };
}

/** Microseconds of a UTC day. */
export const DAY_US = 86_400_000_000;

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** A UTC day as text. Its value is the start of the day, microseconds. */
export const day = {
  takes: 'a UTC day such as 2026-11-23',
  placeholder: 'DAY',
  parse(value: string): number {
    const start = DAY.test(value) ? Date.parse(value) : Number.NaN;
    // Date.parse changes 30 February to a day in March.
    if (Number.isNaN(start) || start < 0 || dayName(start * 1000) !== value)
      throw new Error('there is no such day since 1970');
    return start * 1000;
  },
};

export function dayName(start: number): string {
  return new Date(start / 1000).toISOString().slice(0, 10);
}

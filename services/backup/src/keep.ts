import type { Kind } from '@tidegauge/service/program';

/** Which backups are kept: the newest of each of the last days, weeks and months that have one. */
export interface KeepRule {
  readonly days: number;
  readonly weeks: number;
  readonly months: number;
}

const UNITS = { d: 'days', w: 'weeks', m: 'months' } as const;
const MAX = 1000;

export const keepRule: Kind<KeepRule> = {
  takes: 'numbers of days, weeks and months such as 7d,4w,12m',
  placeholder: 'RULE',
  parse(text) {
    const rule = { days: 0, weeks: 0, months: 0 };
    for (const part of text.split(',')) {
      const [, digits, unit] = /^([1-9]\d*)([dwm])$/.exec(part.trim()) ?? [];
      if (digits === undefined)
        throw new Error(`${JSON.stringify(part.trim())} is not a number with d, w or m`);
      if (Number(digits) > MAX) throw new Error(`${part.trim()} is more than ${MAX}`);
      const name = UNITS[unit as keyof typeof UNITS];
      if (rule[name] > 0) throw new Error(`${unit} is given twice`);
      rule[name] = Number(digits);
    }
    return rule;
  },
};

const DAY_MS = 86_400_000;

/**
 * The backups that a rule deletes. The newest one is always kept. Weeks begin on Monday, and all periods are UTC.
 *
 * @param times when the backups began, milliseconds
 */
export function outdated(times: readonly number[], rule: KeepRule): number[] {
  const newestFirst = [...times].sort((a, b) => b - a);
  const kept = new Set(newestFirst.slice(0, 1));
  for (const [count, periodOf] of [
    [rule.days, (time: number) => Math.floor(time / DAY_MS)],
    // 1970-01-01 was a Thursday.
    [rule.weeks, (time: number) => Math.floor((time / DAY_MS + 3) / 7)],
    [rule.months, (time: number) => new Date(time).getUTCFullYear() * 12 + new Date(time).getUTCMonth()],
  ] as const) {
    const periods = new Set<number>();
    for (const time of newestFirst) {
      const period = periodOf(time);
      if (periods.has(period)) continue;
      if (periods.size === count) break;
      periods.add(period);
      kept.add(time);
    }
  }
  return newestFirst.filter((time) => !kept.has(time));
}

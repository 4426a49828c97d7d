import { MAX_TIME } from '@tidegauge/readings';
import { bad } from './errors.ts';

// Times and durations: http://opentsdb.net/docs/build/html/user_guide/query/dates.html

const SECOND = 1000;
const DAY = 86_400 * SECOND;

/** Milliseconds of each unit. A month has 30 days and a year 365, as in OpenTSDB. */
const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: SECOND,
  m: 60 * SECOND,
  h: 3600 * SECOND,
  d: DAY,
  w: 7 * DAY,
  n: 30 * DAY,
  y: 365 * DAY,
};

/** Largest time and duration, milliseconds. */
const MAX_MS = Math.floor(MAX_TIME / 1000);

const DATE = /^(\d{4})\/(\d\d)\/(\d\d)(?:[ -](\d\d):(\d\d)(?::(\d\d))?)?$/;

/** A duration such as `5m`, in milliseconds. @throws {Problem} 400 */
export function parseDuration(text: string): number {
  const [, number, unit] = /^(\d{1,15})(ms|[smhdwny])$/i.exec(text) ?? [];
  const length = number === undefined ? Number.NaN : Number(number) * UNITS[unit!.toLowerCase()]!;
  if (!(length > 0 && length <= MAX_MS)) {
    throw bad(`Invalid duration ${JSON.stringify(text)}: write a number and ms, s, m, h, d, w, n or y.`);
  }
  return length;
}

/**
 * A time of a query, in milliseconds since the epoch: seconds (up to 10 digits) or milliseconds, `1h-ago`, `now`, or
 * `2026/11/21-14:05:08` in UTC.
 *
 * @param now milliseconds since the epoch
 * @throws {Problem} 400
 */
export function parseTime(given: string | number, now: number, name: string): number {
  const text = String(given).trim();
  const time = timeOf(text, now);
  if (time !== null && time >= 0 && time <= MAX_MS) return Math.floor(time);
  throw bad(
    `Invalid ${name} time ${JSON.stringify(given)}: write seconds or milliseconds since 1970, 1h-ago, or 2026/11/21-14:05:08.`,
  );
}

function timeOf(text: string, now: number): number | null {
  const lower = text.toLowerCase();
  if (lower === 'now') return now;
  if (lower.endsWith('-ago')) return Math.max(0, now - parseDuration(lower.slice(0, -'-ago'.length)));
  if (/^\d{10}\.\d{1,3}$/.test(text)) return Number(text) * SECOND;
  if (/^\d{1,16}ms$/.test(lower)) return Number.parseInt(text, 10);
  if (/^\d{1,16}$/.test(text)) return text.length <= 10 ? Number(text) * SECOND : Number(text);
  return dateOf(text);
}

function dateOf(text: string): number | null {
  const match = DATE.exec(text);
  if (match === null) return null;
  const [year, month, day, hour, minute, second] = match.slice(1).map((part) => Number(part ?? 0));
  const time = Date.UTC(year!, month! - 1, day!, hour, minute, second);
  const isReal =
    new Date(time).getUTCDate() === day && hour! < 24 && minute! < 60 && second! < 60 && month! <= 12;
  return isReal ? time : null;
}

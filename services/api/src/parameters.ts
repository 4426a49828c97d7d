import { deviceNameProblem, MAX_TIME, metricNameProblem, parseTime } from '@tidegauge/readings';
import { Problem } from '@tidegauge/service';
import type { DeviceFilter } from '@tidegauge/storage';
import type { Parameters } from './operation.ts';

// Requests are checked against the OpenAPI document first (operation.ts). These functions check what a schema cannot.

/** A 400 that names the input. */
export function invalid(path: string, message: string): Problem {
  return new Problem(400, 'Invalid request', `${path}: ${message}`, { errors: [{ path, message }] });
}

/** Query parameters, which have the types that the document gives them. */
export function queryOf<T>({ query }: Parameters): Readonly<Partial<T>> {
  return query as Readonly<Partial<T>>;
}

export function device(name: string | undefined, path = '/query/device'): string {
  if (name === undefined) throw invalid(path, 'is missing');
  const problem = deviceNameProblem(name);
  if (problem !== null) throw invalid(path, problem);
  return name;
}

export function metric(name: string | undefined, path = '/query/metric'): string | undefined {
  if (name === undefined) return undefined;
  const problem = metricNameProblem(name);
  if (problem !== null) throw invalid(path, problem);
  return name;
}

/** Microseconds since the epoch. */
export function time(text: string | undefined, path: string): number | undefined {
  if (text === undefined) return undefined;
  const parsed = parseTime(/^\d+(?:\.\d+)?$/.test(text) ? Number(text) : text);
  if (parsed === null) {
    throw invalid(
      path,
      `${JSON.stringify(text)} is not a time: ISO 8601, or a number since 1970 (a + is sent as %2B)`,
    );
  }
  return parsed;
}

/**
 * The range from `from` to before `to` of a query, in microseconds; undefined without a bound.
 *
 * @throws {Problem} 400 when it ends before it begins
 */
export function timesOf(query: { readonly from?: string; readonly to?: string }): {
  readonly from: number | undefined;
  readonly to: number | undefined;
} {
  const from = time(query.from, '/query/from');
  const to = time(query.to, '/query/to');
  if (from !== undefined && to !== undefined && to < from)
    throw invalid('/query/to', 'is before `from`: write the earlier time as `from`');
  return { from, to };
}

/** The filter of devices in a query, or undefined when it has none. */
export function filterOf({ site, city, kind, year }: Partial<DeviceFilter>): DeviceFilter | undefined {
  const filter = defined({ site, city, kind, year });
  return Object.keys(filter).length === 0 ? undefined : filter;
}

const UNITS: Readonly<Record<string, number>> = { ms: 1e3, s: 1e6, m: 60e6, h: 3600e6, d: 86_400e6 };

/**
 * The length of a bucket, such as `5m`, in microseconds. The validator has checked the form. The result is at most
 * MAX_TIME: buckets begin at the epoch, so one bucket of this length contains every time.
 */
export function bucketLength(text: string): number {
  const [, number, unit] = /^(\d+)(ms|s|m|h|d)$/.exec(text)!;
  return Math.min(Number(number) * UNITS[unit!]!, MAX_TIME);
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** A copy without undefined fields: the optional fields of the store's queries are absent or have a value. */
export function defined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}

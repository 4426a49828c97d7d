import { cpus } from 'node:os';
import { relative } from 'node:path';
import type { TestRecord } from './records.ts';

/** How long a test file took. */
export interface FileTime {
  readonly suite: string;
  /** Relative to the root. */
  readonly file: string;
  readonly ms: number;
  readonly tests: number;
}

/**
 * The times of the files of a job that took `ms`. A file with a separate process has the time of that process, with the
 * start and the end of its servers. A file that shares a process has the sum of its tests.
 */
export function fileTimes(
  suite: string,
  records: readonly TestRecord[],
  ms: number,
  root: string,
): FileTime[] {
  const files = Map.groupBy(records, ({ file }) => (file === null ? '(unknown file)' : relative(root, file)));
  return [...files].map(([file, tests]) => {
    const sum = tests.reduce((total, test) => total + test.ms, 0);
    return { suite, file, ms: files.size === 1 ? ms : sum, tests: tests.length };
  });
}

/** The slowest files, and the time of each suite: the sum of its processes, of which several run at once. */
export function timesTable(
  times: readonly FileTime[],
  suites: ReadonlyMap<string, number>,
  most: number,
): string {
  const line = (ms: number, suite: string, rest = '') =>
    `  ${(ms / 1000).toFixed(1).padStart(7)} s  ${suite.padEnd(8)}  ${rest}`.trimEnd();
  const slowest = times.toSorted((a, b) => b.ms - a.ms).slice(0, most);
  const lines = slowest.map(({ ms, suite, file, tests }) =>
    line(ms, suite, `${String(tests).padStart(4)} tests  ${file}`),
  );
  const sums = [...suites].map(([suite, ms]) => line(ms, suite));
  const text = ['', `The ${most} slowest files:`, ...lines, '', 'All processes of each suite:', ...sums, ''];
  return text.join('\n');
}

/** Time of all processors since the start of this machine, milliseconds, and the part in which they ran something. */
export function processorTime(): { readonly total: number; readonly busy: number } {
  const times = cpus().map((cpu) => cpu.times);
  const total = times.reduce(
    (sum, { user, nice, sys, irq, idle }) => sum + user + nice + sys + irq + idle,
    0,
  );
  return { total, busy: total - times.reduce((sum, { idle }) => sum + idle, 0) };
}

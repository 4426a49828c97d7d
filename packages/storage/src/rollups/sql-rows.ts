import type { RollupPeriod, SeriesScope } from '../contract.ts';
import type { Bind } from '../sql-groups.ts';

/** The condition of the rows of rollups of a period that begin before a time, microseconds, and belong to a scope. */
export function rowsBefore(
  period: RollupPeriod,
  before: number,
  { devices = '', metric }: SeriesScope,
  bind: Bind,
): string {
  const conditions = [`period = ${bind(period)}`, `start < ${bind(before)}`];
  if (metric !== undefined) conditions.push(`metric = ${bind(metric)}`);
  if (devices !== '') {
    // A device sorts before the devices below it, and `0` follows `/`.
    const [itself, first, end] = [bind(devices), bind(`${devices}/`), bind(`${devices}0`)];
    conditions.push(`(device = ${itself} or device >= ${first} and device < ${end})`);
  }
  return conditions.join(' and ');
}

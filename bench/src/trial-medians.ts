import { median } from '@tidegauge/loadtests/results/statistics';

/**
 * The medians of trials of one kind: of each field that is a number. Other fields are those of the first trial.
 *
 * @param trials at least one, all with the same fields
 */
export function mediansOf<T extends object>(trials: readonly T[]): T {
  const fields = Object.keys(trials[0]!) as (keyof T)[];
  const medianOf = (field: keyof T) => {
    const values = trials.map((trial) => trial[field]);
    return typeof values[0] === 'number' ? median(values as number[]) : values[0];
  };
  return Object.fromEntries(fields.map((field) => [field, medianOf(field)])) as T;
}

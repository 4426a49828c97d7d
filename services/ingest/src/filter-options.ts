import { isTable, metricNameProblem } from '@tidegauge/readings';
import { duration } from '@tidegauge/service';
import { type Mistake, unknownKeys } from '@tidegauge/yaml-file';
import type { FilterOptions } from './series-filter.ts';

const KEYS = ['deadband', 'silence'];
const SILENCE = duration(1, 7 * 86_400);
const DEFAULT_SILENCE = '1h';
const MOST_METRICS = 1000;

/**
 * Reads the key `filter` of a route: `deadband` is a number, or a table of numbers by metric, and `silence` a duration.
 * The paths of the problems begin below `filter`.
 */
export function readFilter(data: unknown): {
  readonly options: FilterOptions;
  readonly problems: readonly Mistake[];
} {
  const problems: Mistake[] = [];
  const add = (path: readonly string[], message: string, atKey = false) =>
    void problems.push({ path, message, atKey });
  if (!isTable(data)) add([], `it must be a table with keys of ${KEYS.join(', ')}, or {} for changes only`);
  const { deadband = 0, silence = DEFAULT_SILENCE, ...others } = isTable(data) ? data : {};
  const { length } = Object.keys(others);
  if (length > KEYS.length) add([], `it has ${length} keys besides ${KEYS.join(', ')}`);
  else problems.push(...unknownKeys(others, [], KEYS, 'filter'));
  const deadbands = new Map<string, number>();
  if (isTable(deadband)) {
    const entries = Object.entries(deadband);
    if (entries.length > MOST_METRICS)
      add(['deadband'], `it has ${entries.length} metrics, and at most ${MOST_METRICS} are used`);
    for (const [metric, value] of entries.slice(0, MOST_METRICS)) {
      const problem = metricNameProblem(metric);
      if (problem !== null) add(['deadband', metric], problem, true);
      else
        deadbands.set(
          metric,
          bandOf(value, (message) => add(['deadband', metric], message)),
        );
    }
  }
  return {
    options: {
      deadband: isTable(deadband) ? 0 : bandOf(deadband, (message) => add(['deadband'], message)),
      deadbands,
      silence: silenceOf(silence, (message) => add(['silence'], message)),
    },
    problems,
  };
}

function bandOf(value: unknown, add: (message: string) => void): number {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value;
  add('it must be a number from 0 on, or a table of such numbers by metric');
  return 0;
}

/** Microseconds. */
function silenceOf(value: unknown, add: (message: string) => void): number {
  try {
    return Math.round(SILENCE.parse(String(value)) * 1e6);
  } catch (error) {
    add(`${JSON.stringify(value)}: ${(error as Error).message}: write ${SILENCE.takes}`);
    return 0;
  }
}

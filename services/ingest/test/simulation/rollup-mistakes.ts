import { PERIOD_US, ROLLUP_PERIODS, type Rollup, type Store } from '@tidegauge/storage';
import type { ModelStore } from './model-store.ts';
import { METRIC } from './sensors.ts';

type Figures = Pick<Rollup, 'count' | 'min' | 'max' | 'sum'>;

/**
 * What must be true at any time: rollups are exact. Where an hour is marked as changed, they are computed from its readings.
 *
 * @param isDone whether no hour is marked, so that no readings are needed
 */
export async function* rollupMistakes(
  { rollups }: Store,
  { rows }: ModelStore,
  isDone: boolean,
): AsyncGenerator<string> {
  const devices = Map.groupBy(rows.values(), ({ device }) => device);
  for (const [device, readings] of devices) {
    const times = readings.map(({ time }) => time);
    for (const period of ROLLUP_PERIODS) {
      const length = PERIOD_US[period];
      const from = Math.floor(Math.min(...times) / length) * length;
      const to = Math.floor(Math.max(...times) / length) * length + length;
      const read = await rollups.read({ device, metric: METRIC, period, from, to });
      const found = read.rollups.map(({ time, ...figures }) => textOf(time, figures));
      const parts = Map.groupBy(readings, ({ time }) => Math.floor(time / length) * length);
      const expected = [...parts]
        .toSorted(([a], [b]) => a - b)
        .map(([time, some]) => textOf(time, figuresOf(some.map(({ value }) => Number(value)))));
      if (found.join() !== expected.join())
        yield `rollups by ${period} of ${device} are ${found}, and its readings have ${expected}`;
      if (isDone && read.sources.includes('raw'))
        yield `rollups by ${period} of ${device} need readings of hours without a mark`;
    }
  }
}

function figuresOf(values: readonly number[]): Figures {
  const sum = values.reduce((all, value) => all + value, 0);
  return { count: values.length, min: Math.min(...values), max: Math.max(...values), sum };
}

function textOf(time: number, { count, min, max, sum }: Figures): string {
  return `${time}: ${count} from ${min} to ${max}, ${sum} in all`;
}

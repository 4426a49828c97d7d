import type { Reading } from '@tidegauge/readings';
import { PERIOD_US, ROLLUP_PERIODS, type Rollup, type Store } from '@tidegauge/storage';
import { hourOf, type ModelStore } from './model-store.ts';
import { type Keep, keptUs } from './plan.ts';
import { METRIC } from './sensors.ts';

/** The longest time from the look at what is in rollups to a deletion. A reading can come between them, microseconds. */
const LOOK_US = 60_000_000;

type Figures = Pick<Rollup, 'count' | 'min' | 'max' | 'sum'>;

/**
 * What must be true at any time: rollups are exact, also of readings that were deleted. Where an hour is marked as changed, they
 * are computed from its readings. Those of hours with readings that came too late are not known.
 *
 * @param isDone whether no hour is marked, so that no readings are needed
 * @param keep how long readings are kept
 */
export async function* rollupMistakes(
  { rollups }: Store,
  { rows, deleted, written, expiries }: ModelStore,
  isDone: boolean,
  keep: Keep | null,
): AsyncGenerator<string> {
  const all = [...new Map([...deleted, ...rows]).values()];
  const isLate = (reading: Reading): boolean => {
    const { device } = reading;
    const hour = hourOf(reading);
    const last = written.get(`${device} ${hour}`)!;
    return (
      hour < last - keptUs(keep, device) ||
      expiries.some(({ before, at }) => hour < before && at - LOOK_US < last)
    );
  };
  for (const [device, readings] of Map.groupBy(all, ({ device }) => device)) {
    if (readings.some(isLate)) continue;
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

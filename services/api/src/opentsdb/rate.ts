import { type Budget, Points } from './points.ts';

/** http://opentsdb.net/docs/build/html/user_guide/query/rate.html */
export interface RateOptions {
  /** Whether the value only grows, and begins again at 0 after `counterMax`. */
  readonly counter: boolean;
  readonly counterMax: number;
  /** A larger rate of a counter that went down counts as 0. 0: no limit. */
  readonly resetValue: number;
  /** Whether a counter that went down has no rate at that time. */
  readonly dropResets: boolean;
}

/** The largest value of a counter in OpenTSDB. */
export const MAX_COUNTER = 2 ** 63;

/** The changes per second between the points. The first point has none. */
export function ratesOf(points: Points, options: RateOptions, budget: Budget): Points {
  const { counter, counterMax, resetValue, dropResets } = options;
  const rates = new Points(budget);
  for (let index = 1; index < points.length; index += 1) {
    const [before, value] = [points.value(index - 1), points.value(index)];
    const seconds = (points.time(index) - points.time(index - 1)) / 1000;
    let rate = (value - before) / seconds;
    if (counter && value < before) {
      if (dropResets) continue;
      rate = (counterMax - before + value) / seconds;
      if (resetValue > 0 && rate > resetValue) rate = 0;
    }
    rates.add(points.time(index), rate);
  }
  points.clear();
  return rates;
}

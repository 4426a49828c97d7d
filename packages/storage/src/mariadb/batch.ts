import type { Reading } from '@tidegauge/readings';
import { fromQuality } from './mapping.ts';
import type { Missing, Series, SeriesDictionary } from './series.ts';

/** Values of rows of `readings`, row after row, `WIDTH` each. */
export type Rows = unknown[];

export const COLUMNS = 'series, time, value, text, received, boot, seq, quality';
export const WIDTH = 8;

/**
 * Sorts a batch into rounds, to be written one after the other. In each round, every identity occurs once, in the
 * order of the key. That is fast for the server and avoids deadlocks between writers. There is one round, unless
 * the batch repeats identities. If the dictionary lacks names, the result is those names instead.
 */
export function sortBatch(batch: readonly Reading[], dictionary: SeriesDictionary): Rows[] | Missing {
  const touched: Series[] = [];
  const missing = new Map<string, readonly [string, string]>();
  const boots = new Set<string>();
  for (const reading of batch) {
    const { device, metric, boot } = reading;
    const series = dictionary.get(device, metric);
    if (series === undefined) {
      missing.set(`${device}\0${metric}`, [device, metric]);
      if (boot !== null) boots.add(boot);
      continue;
    }
    if (series.rows.length === 0) touched.push(series);
    series.rows.push(reading);
    if (dictionary.bootId(series, boot) === undefined) boots.add(boot!);
  }
  const isComplete = missing.size + boots.size === 0;
  const rounds: Rows[] = [[]];
  for (const series of touched.sort((a, b) => a.id - b.id)) {
    if (isComplete) appendSeries(rounds, series, dictionary);
    series.rows = [];
  }
  return isComplete ? rounds : { series: [...missing.values()].flat(), boots: [...boots] };
}

function appendSeries(rounds: Rows[], series: Series, dictionary: SeriesDictionary): void {
  const { id, rows } = series;
  if (!isAscending(rows)) rows.sort((a, b) => a.time - b.time);
  let round = 0;
  let last = -1;
  for (const { time, value, received, boot, seq, quality } of rows) {
    round = time === last ? round + 1 : 0;
    last = time;
    if (round === rounds.length) rounds.push([]);
    const to = rounds[round]!;
    const bootId = dictionary.bootId(series, boot);
    const flags = fromQuality(quality, value);
    if (typeof value === 'number') to.push(id, time, value, null, received - time, bootId, seq, flags);
    else to.push(id, time, null, value, received - time, bootId, seq, flags);
  }
}

function isAscending(rows: readonly Reading[]): boolean {
  for (let index = 1; index < rows.length; index += 1) {
    if (rows[index]!.time < rows[index - 1]!.time) return false;
  }
  return true;
}

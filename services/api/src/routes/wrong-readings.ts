import { formatTime, now, type ReadingValue, rightValue, wrongValue } from '@tidegauge/readings';
import { demandWithin } from '@tidegauge/service';
import type { Store } from '@tidegauge/storage';
import type { Response } from 'express';
import type { Answers } from '../answers.ts';
import { type Change, changeReadings, type SeriesRange } from '../change-readings.ts';
import type { Call, Handlers } from '../dispatch.ts';
import type { IngestClient } from '../ingest-client.ts';
import { device, invalid, metric, queryOf, timesOf } from '../parameters.ts';
import { type SeriesNames, seriesOf } from '../series-names.ts';
import { findWrongReadings } from '../wrong-readings.ts';

/** Approximate memory of a marked reading and its document, bytes. */
const WRONG_BYTES = 600;

interface ListParameters extends SeriesNames {
  readonly from: string;
  readonly to: string;
}

interface RangeParameters {
  readonly device: string;
  readonly metric: string;
  readonly from: string;
  readonly to: string;
}

interface MarkParameters extends RangeParameters {
  readonly above: number;
  readonly below: number;
}

/** Readings that are stored and left out of all figures, because a person marked them as wrong. */
export function wrongReadingHandlers(store: Store, ingest: IngestClient, answers: Answers): Handlers {
  const change = async (call: Call, response: Response, corrected: Parameters<typeof changeReadings>[2]) => {
    const range = rangeOf(call);
    const found = await changeReadings(store, range, corrected, response);
    if (found.changed > 0) void ingest.compareRelay(range.device, range.from, found.next ?? range.to);
    response.json(toDocument(found));
  };
  return {
    listWrongReadings: async (call, response) => {
      const query = queryOf<ListParameters>(call);
      const series = seriesOf(call, query);
      const range = spanOf(query, now());
      const found = await answers.read(response, 'scan', () => findWrongReadings(store, series, range));
      if (found === null) return;
      answers.memory.reserve(response, WRONG_BYTES * found.readings.length);
      const readings = found.readings.map((each) => ({ ...each, time: formatTime(each.time) }));
      response.json({ readings, complete: found.complete });
    },

    markReadings: async (call, response) => {
      const { above, below } = queryOf<MarkParameters>(call);
      const isAll = above === undefined && below === undefined;
      const isWrong = (value: number) =>
        isAll || value > (above ?? Number.POSITIVE_INFINITY) || value < (below ?? Number.NEGATIVE_INFINITY);
      const marked = (value: ReadingValue) =>
        typeof value === 'number' && isWrong(value) ? wrongValue(value) : null;
      await change(call, response, marked);
    },

    restoreReadings: (call, response) => change(call, response, rightValue),
  };
}

/** The range of a request; without `to` the reading at `from`. */
function rangeOf(call: Call): SeriesRange {
  const query = queryOf<RangeParameters>(call);
  const series = { device: demandWithin(call, device(query.device)), metric: metric(query.metric)! };
  return { ...series, ...spanOf(query) };
}

/** @param end the end when the query has none; without it, the first microsecond */
function spanOf(query: Readonly<Partial<Pick<RangeParameters, 'from' | 'to'>>>, end?: number) {
  const times = timesOf(query);
  const from = times.from!;
  const to = times.to ?? end ?? from + 1;
  if (to <= from) throw invalid('/query/to', 'is not after `from`');
  return { from, to };
}

function toDocument({ changed, next }: Change): object {
  return { changed, next: next === null ? null : formatTime(next) };
}

import { metricNameProblem } from '@tidegauge/readings';
import { type Aggregator, aggregatorOf } from './aggregators.ts';
import { type Downsampling, parseDownsampling } from './downsample.ts';
import { bad } from './errors.ts';
import { documentOfTag, type FilterDocument, type FilterRoom, filterOf, type TagFilter } from './filters.ts';
import { MAX_COUNTER, type RateOptions } from './rate.ts';

/** A part of `queries`: http://opentsdb.net/docs/build/html/api_http/query/index.html */
export interface SubQueryDocument {
  readonly aggregator: string;
  readonly metric: string;
  readonly downsample?: string | null;
  readonly rate?: boolean | null;
  readonly rateOptions?: Partial<RateOptions> | null;
  readonly tags?: Readonly<Record<string, string>> | null;
  readonly filters?: readonly FilterDocument[] | null;
  readonly explicitTags?: boolean | null;
}

export interface SubQuery {
  /** Null: each series is in the answer itself. */
  readonly aggregator: Aggregator | null;
  readonly metric: string;
  /** Null: none. */
  readonly downsampling: Downsampling | null;
  readonly rate: RateOptions | null;
  readonly filters: readonly TagFilter[];
  /** Whether only devices match that have no other tags than those of the filters. */
  readonly explicitTags: boolean;
  /** How the answer shows the query. */
  readonly document: Readonly<Record<string, unknown>>;
}

/**
 * @param index its place among the queries
 * @param room of all queries of the request
 * @throws {Problem} 400
 */
export function subQueryOf(given: SubQueryDocument, index: number, room: FilterRoom): SubQuery {
  const { aggregator, metric, downsample, rate, rateOptions, tags, filters, explicitTags } = given;
  const problem = metricNameProblem(metric);
  if (problem !== null) throw bad(`queries[${index}]: ${problem}.`);
  const all = [
    ...(filters ?? []),
    ...Object.entries(tags ?? {}).map(([key, text]) => documentOfTag(key, text, true)),
  ].map((each) => filterOf(each, room));
  const isDownsampled = downsample !== undefined && downsample !== null && downsample !== '';
  const options = rate === true ? rateOptionsOf(rateOptions ?? {}) : null;
  return {
    aggregator: aggregatorOf(aggregator),
    metric,
    downsampling: isDownsampled ? parseDownsampling(downsample) : null,
    rate: options,
    filters: all,
    explicitTags: explicitTags === true,
    document: {
      aggregator,
      metric,
      tsuids: null,
      downsample: isDownsampled ? downsample : null,
      rate: options !== null,
      filters: all.map(({ type, key, filter, groupBy }) => ({ tagk: key, filter, group_by: groupBy, type })),
      rateOptions: options,
      tags: Object.fromEntries(
        all.filter(({ groupBy }) => groupBy).map(({ type, key, filter }) => [key, `${type}(${filter})`]),
      ),
      explicitTags: explicitTags === true,
      index,
    },
  };
}

function rateOptionsOf(given: Partial<RateOptions>): RateOptions {
  return {
    counter: given.counter ?? false,
    counterMax: given.counterMax ?? MAX_COUNTER,
    resetValue: given.resetValue ?? 0,
    dropResets: given.dropResets ?? false,
  };
}

import { now } from '@tidegauge/readings';
import { demandWithin } from '@tidegauge/service';
import type { Aggregate, AggregateOrigin, AggregateQuery, SeriesName, Store } from '@tidegauge/storage';
import { type Answers, Pages } from '../answers.ts';
import {
  BUCKET_BYTES,
  ENDS,
  type End,
  FIGURES,
  type Figure,
  toBucketDocument,
  toOriginDocument,
} from '../bucket-document.ts';
import type { Handlers } from '../dispatch.ts';
import { bucketLength, device, invalid, metric, queryOf, timesOf } from '../parameters.ts';
import { ReadingUnits } from '../reading-units.ts';
import { type SeriesNames, seriesOf } from '../series-names.ts';

/** Largest number of buckets of a series. It is below the limit of the store, because they are held in memory. */
const MAX_BUCKETS = 10_000;
/** Largest number of buckets of all series of an answer. */
const MAX_ALL_BUCKETS = 50_000;
/** Series that one request reads from the store at the same time. */
const SERIES_AT_ONCE = 8;
/** Approximate memory of a series and its document without its buckets, bytes. */
const SERIES_BYTES = 1000;

interface BucketParameters {
  readonly from: string;
  readonly to: string;
  readonly bucket: string;
  readonly fn: readonly (Figure | End)[];
}

interface AggregateParameters extends BucketParameters {
  readonly device: string;
  readonly metric: string;
}

interface SeriesParameters extends BucketParameters, SeriesNames {}

/** What a request selects of each of its series. */
interface Buckets {
  readonly range: Omit<AggregateQuery, 'device' | 'metric'>;
  /** The number of buckets of a series, with empty ones. */
  readonly count: number;
  /** A bucket as the answer shows it. */
  readonly toDocument: (bucket: Aggregate['buckets'][number]) => Record<string, unknown>;
}

interface SeriesAggregate extends SeriesName, Aggregate {}

export function aggregateHandlers(store: Store, answers: Answers): Handlers {
  return {
    aggregateReadings: async (call, response) => {
      const query = queryOf<AggregateParameters>(call);
      const series = { device: demandWithin(call, device(query.device)), metric: metric(query.metric)! };
      const { range, toDocument } = bucketsOf(query, 1);
      let unit: string | null = null;
      let held = 0;
      let origin: AggregateOrigin = { sources: [], incompleteBefore: null };
      const buckets = async function* () {
        const [found, units] = await Promise.all([
          store.readings.aggregate({ ...series, ...range }),
          store.readings.units([series]),
        ]);
        unit = units[0] ?? null;
        origin = found;
        held = found.buckets.length;
        yield* found.buckets;
      };
      await answers.list(response, {
        name: 'buckets',
        cost: 'scan',
        items: buckets(),
        limit: MAX_BUCKETS + 1,
        sizeOf: () => BUCKET_BYTES,
        held: () => BUCKET_BYTES * held,
        toDocument,
        rest: () => ({ ...toOriginDocument(origin), ...(unit === null ? {} : { unit }) }),
      });
    },

    aggregateSeries: async (call, response) => {
      const query = queryOf<SeriesParameters>(call);
      const series = seriesOf(call, query);
      const { range, count, toDocument } = bucketsOf(query, series.length);
      const { prepare, unitOf } = new ReadingUnits(store);
      const sizeOf = ({ buckets }: SeriesAggregate) => SERIES_BYTES + BUCKET_BYTES * buckets.length;
      // Together they have no more buckets than one series can have.
      const atOnce = Math.max(1, Math.min(SERIES_AT_ONCE, Math.floor(MAX_BUCKETS / Math.max(1, count))));
      const read = async (each: SeriesName): Promise<SeriesAggregate> => ({
        ...each,
        ...(await store.readings.aggregate({ ...each, ...range })),
      });
      let held = 0;
      const pages = async function* (): AsyncGenerator<readonly SeriesAggregate[]> {
        for (let start = 0; start < series.length; start += atOnce) {
          const page = await Promise.all(series.slice(start, start + atOnce).map(read));
          held = page.reduce((sum, each) => sum + sizeOf(each), 0);
          yield page;
        }
      };
      await answers.list(response, {
        name: 'series',
        cost: 'scan',
        items: new Pages(pages()),
        limit: series.length,
        sizeOf,
        held: () => held,
        prepare,
        toDocument: ({ device, metric, buckets, ...origin }) => {
          const unit = unitOf({ device, metric });
          const document = { device, metric, ...(unit === null ? {} : { unit }) };
          return { ...document, buckets: buckets.map(toDocument), ...toOriginDocument(origin) };
        },
      });
    },
  };
}

/** @throws {Problem} 400 when there are too many buckets */
function bucketsOf(query: Readonly<Partial<BucketParameters>>, series: number): Buckets {
  const times = timesOf(query);
  const from = times.from!;
  const to = times.to ?? now();
  const bucket = bucketLength(query.bucket!);
  const count = (to - from) / bucket;
  if (count > MAX_BUCKETS) {
    const message = `makes more than ${MAX_BUCKETS} buckets from \`from\` to \`to\`: take a longer one`;
    throw invalid('/query/bucket', message);
  }
  if (count * series > MAX_ALL_BUCKETS) {
    const message = `makes more than ${MAX_ALL_BUCKETS} buckets of ${series} series: take a longer one, or fewer series`;
    throw invalid('/query/bucket', message);
  }
  const figures = FIGURES.filter((figure) => figure === 'count' || (query.fn ?? FIGURES).includes(figure));
  const ends = ENDS.filter((end) => query.fn?.includes(end) === true);
  return {
    range: { from, to, bucket, ends: ends.length > 0 },
    count,
    toDocument: (each) => toBucketDocument(each, figures, ends),
  };
}

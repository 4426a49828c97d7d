import { formatTime, metricNameProblem, now, type Reading, toReadingDocument } from '@tidegauge/readings';
import {
  type AggregateQuery,
  type Bucket,
  compareText,
  MAX_METRICS_READ,
  type Order,
  type RangeCursor,
  type Store,
} from '@tidegauge/storage';
import { type Answers, sizeOfReading } from '../answers.ts';
import type { Cursors } from '../cursor.ts';
import type { Handlers } from '../dispatch.ts';
import type { IngestClient } from '../ingest-client.ts';
import { bucketLength, defined, device, invalid, metric, queryOf, time } from '../parameters.ts';

/** Largest number of buckets in an answer. It is below the limit of the store, because they are held in memory. */
const MAX_BUCKETS = 10_000;
/** Approximate memory of a bucket and its document, bytes. */
const BUCKET_BYTES = 300;

interface RangeParameters {
  readonly device: string;
  readonly metric: string;
  readonly from: string;
  readonly to: string;
  readonly limit: number;
  readonly order: Order;
  readonly cursor: string;
}

interface AggregateParameters {
  readonly device: string;
  readonly metric: string;
  readonly from: string;
  readonly to: string;
  readonly bucket: string;
  readonly fn: readonly Figure[];
}

type Figure = 'count' | 'min' | 'max' | 'mean' | 'sum';
const FIGURES: readonly Figure[] = ['count', 'min', 'max', 'mean', 'sum'];

export function readingHandlers(
  store: Store,
  ingest: IngestClient,
  cursors: Cursors,
  answers: Answers,
): Handlers {
  return {
    listReadings: async (call, response) => {
      const query = queryOf<RangeParameters>(call);
      const range = {
        device: device(query.device),
        metric: metric(query.metric),
        from: time(query.from, '/query/from'),
        to: time(query.to, '/query/to'),
        order: query.order ?? 'desc',
      };
      const limit = query.limit ?? 100;
      const key = ['readings', range.device, range.metric, range.from, range.to, range.order];
      const after =
        query.cursor === undefined ? undefined : positionOf(cursors.read(key, query.cursor, isPosition));
      await answers.list(response, {
        name: 'readings',
        // One more than the page, to find whether there is a next page.
        items: store.readings.range(defined({ ...range, after, limit: limit + 1 })),
        limit,
        sizeOf: sizeOfReading,
        toDocument: toReadingDocument,
        next: ({ time, metric }) => cursors.write(key, [time, metric]),
      });
    },

    latestReadings: async (call, response) => {
      const names = queryOf<{ device: readonly string[] }>(call).device ?? [];
      const devices = names.map((name, index) => device(name, `/query/device/${index}`));
      await answers.list(response, {
        name: 'readings',
        items: latestOf(store, devices),
        limit: Number.POSITIVE_INFINITY,
        sizeOf: sizeOfReading,
        toDocument: toReadingDocument,
      });
    },

    aggregateReadings: async (call, response) => {
      const query = queryOf<AggregateParameters>(call);
      const from = time(query.from, '/query/from')!;
      const to = time(query.to, '/query/to') ?? now();
      const bucket = bucketLength(query.bucket!);
      if ((to - from) / bucket > MAX_BUCKETS) {
        throw invalid(
          '/query/bucket',
          `makes more than ${MAX_BUCKETS} buckets from \`from\` to \`to\`: take a longer one`,
        );
      }
      const figures = FIGURES.filter(
        (figure) => figure === 'count' || (query.fn ?? FIGURES).includes(figure),
      );
      const series = { device: device(query.device), metric: metric(query.metric)! };
      await answers.list(response, {
        name: 'buckets',
        items: bucketsOf(store, { ...series, from, to, bucket }),
        limit: MAX_BUCKETS + 1,
        sizeOf: () => BUCKET_BYTES,
        toDocument: (each) => toBucketDocument(each, figures),
      });
    },

    deliverReadings: async (call, response) => {
      const query = queryOf<RangeParameters>(call);
      const delivery = await ingest.deliver({
        body: call.body as Buffer,
        contentType: call.request.headers['content-type']!,
        device: query.device === undefined ? undefined : device(query.device),
        metric: metric(query.metric),
      });
      response.status(202).json(delivery);
    },
  };
}

/** One call of the store, made when the answer reads its first item. */
async function* bucketsOf(store: Store, query: AggregateQuery): AsyncGenerator<Bucket> {
  yield* await store.readings.aggregate(query);
}

/** Reads as many readings at a time as one device can have, so that only part of the answer is in memory. */
async function* latestOf(store: Store, devices: readonly string[]): AsyncGenerator<Reading> {
  for (let rest = [...new Set(devices)].sort(compareText); rest.length > 0; ) {
    const page = await store.readings.latest(rest, MAX_METRICS_READ + 1);
    const last = page.at(-1)?.device;
    if (page.length <= MAX_METRICS_READ || last === undefined) {
      yield* page;
      return;
    }
    // The last device may have more readings, so the next page begins with it.
    const whole = page.filter(({ device }) => device !== last);
    if (whole.length === 0)
      throw invalid('/query/device', `${last} has more than ${MAX_METRICS_READ} metrics`);
    yield* whole;
    rest = rest.slice(rest.indexOf(last));
  }
}

type Position = readonly [time: number, metric: string];

function isPosition(value: unknown): value is Position {
  if (!Array.isArray(value)) return false;
  const [time, metric] = value as readonly unknown[];
  return (
    Number.isSafeInteger(time) &&
    (time as number) >= 0 &&
    typeof metric === 'string' &&
    metricNameProblem(metric) === null
  );
}

function positionOf([time, metric]: Position): RangeCursor {
  return { time, metric };
}

function toBucketDocument(bucket: Bucket, figures: readonly Figure[]): Record<string, unknown> {
  const document: Record<string, unknown> = { time: formatTime(bucket.time) };
  for (const figure of figures) document[figure] = bucket[figure];
  return document;
}

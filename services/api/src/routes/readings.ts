import { formatTime, now, type Reading, toReadingDocument } from '@tidegauge/readings';
import type { Bucket, Order, RangeCursor, Store } from '@tidegauge/storage';
import { Router } from 'express';
import { readCursor, writeCursor } from '../cursor.ts';
import type { IngestClient } from '../ingest-client.ts';
import { bucketLength, defined, device, invalid, metric, queryOf, time } from '../parameters.ts';

/** Buckets one answer can hold; fewer than the store would compute, for the answer is built in memory. */
const MAX_BUCKETS = 10_000;

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

export function readingRoutes(store: Store, ingest: IngestClient): Router {
  const router = Router();

  router.get('/v1/readings', async (request, response) => {
    const query = queryOf<RangeParameters>(request);
    const range = {
      device: device(query.device),
      metric: metric(query.metric),
      from: time(query.from, '/query/from'),
      to: time(query.to, '/query/to'),
      order: query.order ?? 'desc',
    };
    const limit = query.limit ?? 100;
    const key = ['readings', range.device, range.metric, range.from, range.to, range.order];
    const after = query.cursor === undefined ? undefined : positionOf(readCursor(key, query.cursor));
    const page: Reading[] = [];
    let more = false;
    // One beyond the page tells whether there is a next one.
    for await (const reading of store.readings.range(defined({ ...range, after, limit: limit + 1 }))) {
      if (page.length === limit) more = true;
      else page.push(reading);
    }
    const last = page.at(-1);
    const next = more && last !== undefined ? writeCursor(key, [last.time, last.metric]) : null;
    response.json({ readings: page.map(toReadingDocument), next });
  });

  router.get('/v1/readings/latest', async (request, response) => {
    const names = queryOf<{ device: readonly string[] }>(request).device ?? [];
    const readings = await store.readings.latest(
      names.map((name, index) => device(name, `/query/device/${index}`)),
    );
    response.json({ readings: readings.map(toReadingDocument) });
  });

  router.get('/v1/readings/aggregate', async (request, response) => {
    const query = queryOf<AggregateParameters>(request);
    const from = time(query.from, '/query/from')!;
    const to = time(query.to, '/query/to') ?? now();
    const bucket = bucketLength(query.bucket!);
    if ((to - from) / bucket > MAX_BUCKETS) {
      throw invalid(
        '/query/bucket',
        `makes more than ${MAX_BUCKETS} buckets from \`from\` to \`to\`: take a longer one`,
      );
    }
    const figures = FIGURES.filter((figure) => figure === 'count' || (query.fn ?? FIGURES).includes(figure));
    const series = { device: device(query.device), metric: metric(query.metric)! };
    const buckets = await store.readings.aggregate({ ...series, from, to, bucket });
    response.json({ buckets: buckets.map((each) => toBucketDocument(each, figures)) });
  });

  router.post('/v1/readings', async (request, response) => {
    const query = queryOf<RangeParameters>(request);
    const delivery = await ingest.deliver({
      body: request.body as Buffer,
      contentType: request.headers['content-type']!,
      device: query.device === undefined ? undefined : device(query.device),
      metric: metric(query.metric),
    });
    response.status(202).json(delivery);
  });

  return router;
}

function positionOf(position: readonly unknown[]): RangeCursor {
  const [time, metric] = position as readonly [number, string];
  return { time, metric };
}

function toBucketDocument(bucket: Bucket, figures: readonly Figure[]): Record<string, unknown> {
  const document: Record<string, unknown> = { time: formatTime(bucket.time) };
  for (const figure of figures) document[figure] = bucket[figure];
  return document;
}

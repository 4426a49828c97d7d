import { deviceNameProblem, formatTime, metricNameProblem } from '@tidegauge/readings';
import { demandUnlimited, demandWithin, limitOf, senderOf, Turns } from '@tidegauge/service';
import {
  type DeleteQuery,
  type DeviceFilter,
  type Group,
  type GroupKey,
  type GroupOrder,
  type GroupQuery,
  type Groups,
  type Order,
  type RangeCursor,
  type Store,
  StoreError,
} from '@tidegauge/storage';
import { type Answers, type List, Pages, sizeOfReading } from '../answers.ts';
import { BUCKET_BYTES, FIGURES, toBucketDocument, toOriginDocument } from '../bucket-document.ts';
import type { Cursors } from '../cursor.ts';
import type { Handlers, PlainHandler } from '../dispatch.ts';
import type { IngestClient } from '../ingest-client.ts';
import { latestOf, latestOfDevices, ofMetrics } from '../latest.ts';
import { bucketLength, defined, device, filterOf, invalid, metric, queryOf, timesOf } from '../parameters.ts';
import { ReadingUnits } from '../reading-units.ts';

/** The time after which a request to delete readings answers that there are more, milliseconds. */
const DELETE_MS = 10_000;
/** Deliveries of readings that are forwarded at once. The client of ingest has a few connections more. */
const DELIVERIES = 48;
/** Approximate memory of a group and its document without its key, bytes. */
const GROUP_BYTES = 350;

interface RangeParameters extends DeviceFilter {
  readonly device: string;
  readonly metric: string;
  readonly from: string;
  readonly to: string;
  readonly limit: number;
  readonly order: Order;
  readonly cursor: string;
}

interface LatestParameters extends DeviceFilter {
  readonly device: readonly string[];
  readonly prefix: string;
  readonly metric: readonly string[];
  readonly limit: number;
  readonly cursor: string;
}

interface GroupParameters extends DeviceFilter {
  readonly by: GroupKey;
  readonly metric: string;
  readonly prefix: string;
  readonly bucket: string;
  readonly from: string;
  readonly to: string;
  readonly order: GroupOrder;
  readonly limit: number;
}

export function readingHandlers(
  store: Store,
  ingest: IngestClient,
  cursors: Cursors,
  answers: Answers,
): Handlers & Readonly<Record<'listReadings' | 'latestReadings', PlainHandler>> {
  const deliveries = new Turns(DELIVERIES);
  return {
    listReadings: async (call, response) => {
      const query = queryOf<RangeParameters>(call);
      const filter = filterOf(query);
      const range = {
        metric: metric(query.metric),
        ...timesOf(query),
        order: query.order ?? 'desc',
      };
      const limit = query.limit ?? 100;
      const { prepare, toDocument } = new ReadingUnits(store);
      const list = { name: 'readings', limit, sizeOf: sizeOfReading, prepare, toDocument };
      const bounds = [range.metric, range.from, range.to, range.order];
      // One more than the page, to find whether there is a next page.
      const page = { ...range, limit: limit + 1 };
      if (filter === undefined) {
        const one = demandWithin(call, deviceOf(query.device));
        const key = ['readings', one, ...bounds];
        const after = query.cursor === undefined ? undefined : cursors.read(key, query.cursor, isPosition);
        await answers.list(response, {
          ...list,
          items: new Pages(
            store.readings.pages(defined({ ...page, device: one, after: after && positionOf(after) })),
          ),
          next: ({ time, metric }) => cursors.write(key, [time, metric]),
        });
        return;
      }
      demandUnlimited(call);
      if (query.device !== undefined) {
        throw invalid('/query/device', 'selects one device: leave out site, city, kind and year, or device');
      }
      const { site, city, kind, year } = filter;
      const key = ['readings of devices', site, city, kind, year, ...bounds];
      const after = query.cursor === undefined ? undefined : cursors.read(key, query.cursor, isPlace);
      await answers.list(response, {
        ...list,
        cost: 'scan',
        items: store.readings.rangeOfDevices(
          filter,
          defined({ ...page, after: after && { device: after[0], ...positionOf(after[1]) } }),
        ),
        next: ({ device, time, metric }) => cursors.write(key, [device, [time, metric]]),
      });
    },

    groupReadings: async (call, response) => {
      const { by, order, limit = 100, ...query } = queryOf<GroupParameters>(call);
      const prefix = query.prefix === undefined ? undefined : device(query.prefix, '/query/prefix');
      const groups = groupsOf(
        store,
        defined({
          by: by!,
          metric: metric(query.metric),
          devices: filterOf(query),
          prefix: prefix === undefined ? (limitOf(call) ?? undefined) : demandWithin(call, prefix),
          bucket: query.bucket === undefined ? undefined : bucketLength(query.bucket),
          ...timesOf(query),
          order,
          limit,
        }),
      );
      await answers.list(response, { ...groups, cost: 'query', limit: limit + 1 });
    },

    latestReadings: async (call, response) => {
      const query = queryOf<LatestParameters>(call);
      const { device: names, prefix, limit, cursor } = query;
      const filter = filterOf(query);
      const metrics = query.metric?.map((name, at) => metric(name, `/query/metric/${at}`)!);
      const { prepare, toDocument } = new ReadingUnits(store);
      const list = { name: 'readings', sizeOf: sizeOfReading, prepare, toDocument };
      if (names !== undefined) {
        if ([prefix, filter, limit, cursor].some((each) => each !== undefined)) {
          const others = 'prefix, site, city, kind, year, limit and cursor';
          throw invalid('/query/device', `names all devices of the answer: leave out ${others}, or device`);
        }
        const devices = names.map((name, at) => demandWithin(call, device(name, `/query/device/${at}`)));
        await answers.list(response, {
          ...list,
          items: new Pages(ofMetrics(latestOf(store, devices), metrics)),
          limit: Number.POSITIVE_INFINITY,
          rest: () => ({ next: null }),
        });
        return;
      }
      const within =
        prefix === undefined ? limitOf(call) : demandWithin(call, device(prefix, '/query/prefix'));
      const key = ['latest', within, filter?.site, filter?.city, filter?.kind, filter?.year, metrics];
      const after = cursor === undefined ? undefined : cursors.read(key, cursor, isSeries);
      const selection = { filter, within, after: after && { device: after[0], metric: after[1] } };
      await answers.list(response, {
        ...list,
        cost: 'scan',
        items: new Pages(ofMetrics(latestOfDevices(store, selection), metrics)),
        limit: limit ?? 1000,
        next: ({ device, metric }) => cursors.write(key, [device, metric]),
      });
    },

    deleteReadings: async (call, response) => {
      const query = queryOf<RangeParameters>(call);
      const { from, to } = timesOf(query);
      if (from === undefined && to === undefined) {
        throw invalid(
          '/query/from',
          'or `to` is required: `from=1970-01-01T00:00:00Z` deletes all readings of the device',
        );
      }
      const selected = { device: demandWithin(call, device(query.device)), metric: metric(query.metric) };
      response.json(await deleteFor(DELETE_MS, store, defined({ ...selected, from, to }), response));
    },

    deliverReadings: async (call, response) => {
      const query = queryOf<RangeParameters>(call);
      const named = query.device === undefined ? undefined : demandWithin(call, device(query.device));
      const delivery = {
        body: call.body as Buffer,
        contentType: call.request.headers['content-type']!,
        // Ingest puts every device that the body names below this one, so a limited sender cannot name another.
        device: named ?? limitOf(call) ?? undefined,
        metric: metric(query.metric),
        sender: senderOf(response),
      };
      const outcome = await deliveries.run(response, () => ingest.deliver(delivery));
      if (outcome !== null) response.status(202).json(outcome);
    },
  };
}

/**
 * Deletes readings until all are deleted, the time is over or the client has gone. The client repeats the request, so
 * that no request of it or of a proxy takes too long.
 */
async function deleteFor(
  limitMs: number,
  store: Store,
  query: DeleteQuery,
  client: { readonly destroyed: boolean },
): Promise<{ readonly deleted: number | null; readonly complete: boolean }> {
  const deadline = performance.now() + limitMs;
  const enough = new StoreError('TIMEOUT', 'the rest is deleted by the next request');
  let deleted: number | null = 0;
  const pace = async (rows: number | null) => {
    deleted = rows === null || deleted === null ? null : deleted + rows;
    if (client.destroyed || performance.now() >= deadline) throw enough;
  };
  try {
    return { deleted: await store.readings.delete(query, pace), complete: true };
  } catch (error) {
    if (error !== enough) throw error;
    return { deleted, complete: false };
  }
}

function deviceOf(name: string | undefined): string {
  if (name !== undefined) return device(name);
  throw invalid('/query/device', 'is required, unless site, city, kind or year select devices');
}

/**
 * The list of an answer about groups: one call of the store, made when the answer reads its first item. Groups of devices
 * and one metric are series, which have units.
 */
function groupsOf(store: Store, query: GroupQuery): Omit<List<Group>, 'limit'> {
  const { by, metric } = query;
  const units = new ReadingUnits(store);
  const seriesOf = ({ key }: Group) =>
    by === 'device' && metric !== undefined ? [{ device: key, metric }] : [];
  let found: Groups | undefined;
  async function* items() {
    found = await store.readings.groups(query);
    yield* found.groups;
  }
  const sizeOf = ({ key, buckets = [] }: Group) =>
    GROUP_BYTES + 2 * key.length + BUCKET_BYTES * buckets.length;
  return {
    name: 'groups',
    items: items(),
    sizeOf,
    held: () => (found?.groups ?? []).reduce((sum, group) => sum + sizeOf(group), 0),
    prepare: (part) => units.prepare(part.flatMap(seriesOf)),
    // JSON has no infinity: it becomes null.
    toDocument: (group) => {
      const { buckets, ...figures } = group;
      const unit = seriesOf(group).map(units.unitOf)[0] ?? null;
      return {
        ...figures,
        ...(unit === null ? {} : { unit }),
        ...(buckets === undefined ? {} : { buckets: buckets.map((each) => toBucketDocument(each, FIGURES)) }),
      };
    },
    rest: () => {
      const { source, asOf } = found!;
      return { source, asOf: asOf === null ? null : formatTime(asOf), ...toOriginDocument(found!) };
    },
  };
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

type Place = readonly [device: string, position: Position];

function isPlace(value: unknown): value is Place {
  if (!Array.isArray(value)) return false;
  const [device, position] = value as readonly unknown[];
  return typeof device === 'string' && deviceNameProblem(device) === null && isPosition(position);
}

/** The position of a list of the newest readings. */
function isSeries(value: unknown): value is readonly [device: string, metric: string] {
  return Array.isArray(value) && isPlace([value[0], [0, value[1]]]);
}

function positionOf([time, metric]: Position): RangeCursor {
  return { time, metric };
}

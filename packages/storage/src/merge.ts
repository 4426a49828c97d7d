import { forEach } from '@tidegauge/parallel';
import { MAX_TIME, type Reading } from '@tidegauge/readings';
import { MAX_METRICS_READ } from './arguments.ts';
import type { Order, RangeQuery, ReadingStore } from './contract.ts';
import { StoreError } from './errors.ts';

/**
 * Compares texts by code point, as databases compare UTF-8 bytes. JavaScript's `<` compares UTF-16 code units. It
 * differs for a surrogate pair and U+E000 to U+FFFF.
 */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const [x, y] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (x !== y) return codePointRank(x) - codePointRank(y);
  }
  return a.length - b.length;
}

/** Orders surrogates, which begin code points from U+10000 on, after all other code units. */
function codePointRank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

/** The order of a range: by time, then metric. */
export function compareReadings(order: Order): (a: Reading, b: Reading) => number {
  const sign = order === 'asc' ? 1 : -1;
  return (a, b) => sign * (a.time - b.time || compareText(a.metric, b.metric));
}

/**
 * The part [from, to) of one series that a range with its cursor covers, in microseconds. A series has one reading
 * per time, so a cursor over several metrics is a simple bound in each series.
 */
export function seriesBounds(query: RangeQuery, metric: string): { from: number; to: number } {
  const { after, order = 'desc' } = query;
  let from = query.from ?? 0;
  let to = query.to ?? MAX_TIME + 1;
  if (after !== undefined) {
    const behind = compareText(metric, after.metric);
    if (order === 'asc') from = Math.max(from, behind > 0 ? after.time : after.time + 1);
    else to = Math.min(to, behind < 0 ? after.time + 1 : after.time);
  }
  return { from, to };
}

/**
 * Readings per query of `rangePages`: for the first query, by how much pages grow, and at most. A first page of the largest
 * texts has the target size. Two queries read 100 readings.
 */
const PAGE_ROWS = { first: 15, growth: 6, most: 256 };
/** The target size of a page in memory. It assumes that readings are as large as those of the page before. */
const PAGE_BYTES = 128 * 1024;
/** First pages that are read at the same time. */
const WIDTH = 3;

/** The size of the next page after a full one, in readings. */
export function nextPageRows(page: readonly Reading[]): number {
  let bytes = 0;
  for (const { value } of page) bytes += 300 + (typeof value === 'string' ? 2 * value.length : 0);
  const fit = Math.floor((page.length * PAGE_BYTES) / bytes);
  return Math.max(1, Math.min(fit, PAGE_ROWS.growth * page.length, PAGE_ROWS.most));
}

/** The size of the first page of each of `series` series, in readings. */
export function firstPageRows(limit: number, series: number): number {
  return Math.max(1, Math.ceil(Math.min(limit, PAGE_ROWS.first) / Math.max(series, 1)));
}

/** Readings of the first pages of all series, if one query reads them, unless there are more series. */
const FIRST_PAGES_ROWS = 512;

/** One page of a series: at most `limit` readings of [from, to), in microseconds, in the given order. */
export interface PageQuery {
  readonly from: number;
  readonly to: number;
  readonly order: Order;
  readonly limit: number;
}

/**
 * A range over the series of a device, in pages. Each series is read page by page with the engine's own query, so
 * nothing stays open in the database between pages.
 */
export function rangePages<S extends { readonly metric: string }>(
  query: RangeQuery,
  series: readonly S[],
  readPage: (series: S, page: PageQuery) => Promise<readonly Reading[]>,
): AsyncGenerator<readonly Reading[]> {
  const { metric, limit, order = 'desc' } = query;
  const wanted = series.filter((candidate) => metric === undefined || candidate.metric === metric);
  const size = firstPageRows(limit, wanted.length);
  const streams = wanted.map((each) => pagesOf(each, query, size, readPage));
  return takePages(mergedPages(streams, compareReadings(order)), limit);
}

/** As `rangePages`, one reading at a time. */
export function rangeOfSeries<S extends { readonly metric: string }>(
  ...range: Parameters<typeof rangePages<S>>
): AsyncGenerator<Reading> {
  return flatten(rangePages(...range));
}

/** As `rangeOfSeries`, for an engine that addresses a series by its name. */
export async function* rangeOfNames(
  query: RangeQuery,
  readings: Pick<ReadingStore, 'metrics'>,
  readPage: (metric: string, page: PageQuery) => Promise<readonly Reading[]>,
): AsyncGenerator<Reading> {
  const { device, metric } = query;
  const metrics = metric === undefined ? await readings.metrics(device, MAX_METRICS_READ + 1) : [metric];
  demandFewMetrics(device, metrics.length);
  const series = metrics.map((name) => ({ metric: name }));
  yield* rangeOfSeries(query, series, (each, page) => readPage(each.metric, page));
}

/**
 * As `rangePages`, for a database across a network: one query reads the first pages of all series. Most ranges over
 * many series need no other one.
 *
 * @param readFirst resolves to a page for each of the given ones, in their order
 */
export async function* rangePagesAtOnce<S extends { readonly metric: string }>(
  query: RangeQuery,
  series: readonly S[],
  readPage: (series: S, page: PageQuery) => Promise<readonly Reading[]>,
  readFirst: (pages: readonly FirstPage<S>[]) => Promise<readonly (readonly Reading[])[]>,
): AsyncGenerator<readonly Reading[]> {
  const { limit, order = 'desc' } = query;
  const rows = Math.max(1, Math.min(limit, Math.floor(FIRST_PAGES_ROWS / series.length)));
  const firsts = series
    .map((each) => ({ series: each, ...seriesBounds(query, each.metric), order, limit: rows }))
    .filter(({ from, to }) => from < to);
  if (firsts.length === 0) return;
  const pages = await readFirst(firsts);
  const streams = firsts.map((first, index) => pagesOf(first.series, query, rows, readPage, pages[index]));
  yield* takePages(mergedPages(streams, compareReadings(order)), limit);
}

/** The first page of a series of a range. */
export interface FirstPage<S> extends PageQuery {
  readonly series: S;
}

async function* pagesOf<S extends { readonly metric: string }>(
  series: S,
  query: RangeQuery,
  rows: number,
  readPage: (series: S, page: PageQuery) => Promise<readonly Reading[]>,
  first?: readonly Reading[],
): AsyncGenerator<readonly Reading[]> {
  const { order = 'desc' } = query;
  let limit = rows;
  let left = query.limit;
  let { from, to } = seriesBounds(query, series.metric);
  for (let known = first; from < to; known = undefined) {
    const page = known ?? (await readPage(series, { from, to, order, limit }));
    yield page;
    const last = page.at(-1);
    left -= page.length;
    if (last === undefined || page.length < limit || left <= 0) return;
    if (order === 'asc') from = last.time + 1;
    else to = last.time;
    limit = Math.min(nextPageRows(page), left);
  }
}

/** @throws {StoreError} REJECTED if a device has too many metrics for a range over all of them. */
export function demandFewMetrics(device: string, count: number): void {
  if (count <= MAX_METRICS_READ) return;
  const message = `device ${device} has more than ${MAX_METRICS_READ} metrics`;
  throw new StoreError('REJECTED', message, { hint: 'name one metric' });
}

/** Reads the newest readings of a few devices at a time, until there are `limit` readings. */
export async function latestOfSome(
  devices: readonly string[],
  limit: number,
  some: number,
  ask: (devices: readonly string[]) => Promise<readonly Reading[]>,
): Promise<Reading[]> {
  const found: Reading[] = [];
  for (let start = 0; start < devices.length && found.length < limit; start += some) {
    for (const reading of await ask(devices.slice(start, start + some))) {
      if (found.length < limit) found.push(reading);
    }
  }
  return found;
}

/** A page of the newest reading of a series. */
export const NEWEST: PageQuery = { from: 0, to: MAX_TIME + 1, order: 'desc', limit: 1 };

interface Head<T> {
  readonly pages: AsyncIterator<readonly T[]>;
  page: readonly T[];
  index: number;
}

/** As `mergedPages`, one item at a time. */
export function mergePages<T>(
  streams: readonly AsyncIterable<readonly T[]>[],
  compare: (a: T, b: T) => number,
): AsyncGenerator<T> {
  return flatten(mergedPages(streams, compare));
}

/**
 * Merges streams of pages, each ordered by `compare`, into one ordered stream of pages. It holds one page of each
 * stream, and uses a binary heap, because a device can have hundreds of metrics. A page ends where a page of a stream
 * ends, so that no stream is read before its next page is needed.
 */
async function* mergedPages<T>(
  streams: readonly AsyncIterable<readonly T[]>[],
  compare: (a: T, b: T) => number,
): AsyncGenerator<readonly T[]> {
  const [only] = streams;
  if (only !== undefined && streams.length === 1) {
    yield* only;
    return;
  }
  const heads: Head<T>[] = streams.map((stream) => ({
    pages: stream[Symbol.asyncIterator](),
    page: [],
    index: 0,
  }));
  const heap: Head<T>[] = [];
  const less = (a: Head<T>, b: Head<T>) => compare(a.page[a.index]!, b.page[b.index]!) < 0;
  try {
    await forEach(heads, WIDTH, async (head) => (await turnPage(head)) && heap.push(head));
    for (let start = (heap.length >> 1) - 1; start >= 0; start -= 1) sink(heap, start, less);
    for (let merged: T[] = []; heap.length > 0; ) {
      const head = heap[0]!;
      merged.push(head.page[head.index]!);
      head.index += 1;
      if (head.index === head.page.length) {
        yield merged;
        merged = [];
        if (!(await turnPage(head))) {
          const last = heap.pop()!;
          if (last === head) continue;
          heap[0] = last;
        }
      }
      sink(heap, 0, less);
    }
  } finally {
    for (const head of heads) await head.pages.return?.();
  }
}

async function turnPage<T>(head: Head<T>): Promise<boolean> {
  head.index = 0;
  do {
    const result = await head.pages.next();
    if (result.done === true) return false;
    head.page = result.value;
  } while (head.page.length === 0);
  return true;
}

function sink<T>(heap: T[], start: number, less: (a: T, b: T) => boolean): void {
  let at = start;
  for (;;) {
    let least = at;
    for (const child of [2 * at + 1, 2 * at + 2]) {
      if (child < heap.length && less(heap[child]!, heap[least]!)) least = child;
    }
    if (least === at) return;
    [heap[at], heap[least]] = [heap[least]!, heap[at]!];
    at = least;
  }
}

/** The items of pages. */
export async function* flatten<T>(pages: AsyncIterable<readonly T[]>): AsyncGenerator<T> {
  for await (const page of pages) for (const item of page) yield item;
}

/** The pages with the first `limit` items. */
async function* takePages<T>(
  pages: AsyncIterable<readonly T[]>,
  limit: number,
): AsyncGenerator<readonly T[]> {
  let left = limit;
  if (left <= 0) return;
  for await (const page of pages) {
    yield page.length <= left ? page : page.slice(0, left);
    left -= page.length;
    if (left <= 0) return;
  }
}

/** The first `limit` items. */
export async function* take<T>(items: AsyncIterable<T>, limit: number): AsyncGenerator<T> {
  let left = limit;
  if (left <= 0) return;
  for await (const item of items) {
    yield item;
    left -= 1;
    if (left === 0) return;
  }
}

const SERIES_PAGE = 1000;

/**
 * All series of a device by metric, or only the named one. A device of an early version can have any number of them.
 * @param page reads the series after a metric, at most `limit` of them
 */
export async function* allSeries<S extends { readonly metric: string }>(
  metric: string | undefined,
  page: (after: string, limit: number) => Promise<readonly S[]>,
): AsyncGenerator<S> {
  for (let after = ''; ; ) {
    const series = await page(after, SERIES_PAGE);
    yield* series;
    if (metric !== undefined || series.length < SERIES_PAGE) return;
    after = series.at(-1)!.metric;
  }
}

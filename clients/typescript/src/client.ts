import createClient, { type Client } from 'openapi-fetch';
import { type ExportQuery, exportReadings } from './export.ts';
import type { components, operations, paths } from './generated/api.ts';
import type { KeptReadings } from './kept-readings.ts';
import { type LiveEvent, type LiveOptions, live, type Reading } from './live.ts';
import type { NewReading } from './new-reading.ts';
import { dataOf } from './problem-error.ts';
import { serializeQuery } from './query.ts';
import { type RetryOptions, retry } from './retry.ts';
import { type Delivery, type SendMissingOptions, type SendOptions, send, sendMissing } from './send.ts';
import { optionalTime, type Time } from './time.ts';

export type Device = components['schemas']['Device'];

export interface ClientOptions {
  /** The address of the API, such as `http://127.0.0.1:8080`. */
  readonly url: string;
  /** An API key or the API token. It is sent as `Authorization: Bearer`. */
  readonly token?: string | undefined;
  /** Replaces the global fetch, for example to trust a private certificate authority. */
  readonly fetch?: (request: Request) => Promise<Response>;
}

interface PageOptions extends RetryOptions {
  /** Items per request, 1 to 10,000. Default: 1000. */
  readonly pageSize?: number;
}

type Query<Name extends keyof operations> = NonNullable<operations[Name]['parameters']['query']>;

/** Which readings: of a device, or of the registered devices that match. */
export interface ReadingsQuery
  extends Omit<Query<'listReadings'>, 'from' | 'to' | 'cursor' | 'limit'>,
    PageOptions {
  /** Start, inclusive. */
  readonly from?: Time;
  /** End, exclusive. */
  readonly to?: Time;
}

/** Readings of one device. At least one of `from` and `to` is required. */
export interface DeleteQuery extends Omit<Query<'deleteReadings'>, 'from' | 'to'>, RetryOptions {
  /** Start, inclusive. */
  readonly from?: Time;
  /** End, exclusive. */
  readonly to?: Time;
}

export interface DevicesQuery extends Omit<Query<'listDevices'>, 'cursor' | 'limit'>, PageOptions {}

/** Which registered devices, and which of their metrics. Default: all. */
export interface LatestQuery
  extends Omit<Query<'latestReadings'>, 'device' | 'cursor' | 'limit'>,
    PageOptions {}

interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}

/** A client of one Tidegauge API. It keeps no connection open, except for a live stream. */
export class TidegaugeClient {
  /** Typed requests for every operation of the API (openapi-fetch). They give `{ data, error, response }`; see `dataOf`. */
  readonly api: Client<paths>;

  constructor({ url, token, fetch }: ClientOptions) {
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
      throw new TypeError(
        `${JSON.stringify(url)} is no address of an API: use one such as http://127.0.0.1:8080`,
      );
    this.api = createClient<paths>({
      baseUrl: url,
      querySerializer: serializeQuery,
      ...(token !== undefined && { headers: { Authorization: `Bearer ${token}` } }),
      ...(fetch !== undefined && { fetch }),
    });
  }

  /**
   * All readings that match, newest first unless `order` is `asc`. It requests a page when the loop needs it, and repeats
   * requests that fail temporarily.
   *
   * @throws {ProblemError} when the API refuses the query
   */
  readings(query: ReadingsQuery): AsyncGenerator<Reading, void> {
    const { from, to, pageSize, retryForMs, signal, ...rest } = query;
    const times = { from: optionalTime(from), to: optionalTime(to) };
    return items({ pageSize, retryForMs, signal }, async (paging, trySignal) => {
      const init = { params: { query: definedOf({ ...rest, ...times, ...paging }) }, signal: trySignal };
      const page = dataOf(await this.api.GET('/v1/readings', init));
      return { items: page.readings, next: page.next };
    });
  }

  /**
   * All readings that match, by device, metric and time, from one long answer. It continues after a broken connection, and
   * ends only when the API has reported that the export is complete.
   *
   * @throws {ProblemError} when the API refuses the query
   */
  export(query: ExportQuery = {}): AsyncGenerator<Reading, void> {
    return exportReadings(this.api, query);
  }

  /**
   * The newest reading of each metric of the registered devices that match, by device and metric.
   *
   * @throws {ProblemError} when the API refuses the query
   */
  latest(query: LatestQuery = {}): AsyncGenerator<Reading, void> {
    const { pageSize, retryForMs, signal, ...rest } = query;
    return items({ pageSize, retryForMs, signal }, async (paging, trySignal) => {
      const init = { params: { query: definedOf({ ...rest, ...paging }) }, signal: trySignal };
      const page = dataOf(await this.api.GET('/v1/readings/latest', init));
      return { items: page.readings, next: page.next };
    });
  }

  /** All devices that match, by name. @throws {ProblemError} when the API refuses the query */
  devices(query: DevicesQuery = {}): AsyncGenerator<Device, void> {
    const { pageSize, retryForMs, signal, ...rest } = query;
    return items({ pageSize, retryForMs, signal }, async (paging, trySignal) => {
      const init = { params: { query: definedOf({ ...rest, ...paging }) }, signal: trySignal };
      const page = dataOf(await this.api.GET('/v1/devices', init));
      return { items: page.devices, next: page.next };
    });
  }

  /** Stores readings: see `send` for retries and times. @throws {SendError} with the readings that were not sent */
  send(readings: readonly NewReading[], options: SendOptions = {}): Promise<Delivery> {
    return send(this.api, readings, options);
  }

  /** Sends readings again that the API lacks and that `send` kept (`keep`). Declares the others gone. See `sendMissing` */
  sendMissing(kept: KeptReadings, options: SendMissingOptions = {}): Promise<Delivery> {
    return sendMissing(this.api, kept, options);
  }

  /**
   * Deletes the readings of a device in a range of times, with as many requests as it takes. It repeats a request that
   * fails temporarily. The count does not include what a failed request deleted.
   *
   * @returns the number of deleted readings, or null if the store does not count them
   * @throws {ProblemError} when the API refuses the query
   */
  async deleteReadings(query: DeleteQuery): Promise<number | null> {
    const { from, to, retryForMs, signal, ...rest } = query;
    const times = { from: optionalTime(from), to: optionalTime(to) };
    const remove = async (trySignal: AbortSignal) => {
      const init = { params: { query: definedOf({ ...rest, ...times }) }, signal: trySignal };
      return dataOf(await this.api.DELETE('/v1/readings', init));
    };
    for (let deleted: number | null = 0; ; ) {
      const part = await retry(remove, definedOf({ retryForMs, signal }));
      deleted = deleted === null || part.deleted === null ? null : deleted + part.deleted;
      if (part.complete) return deleted;
    }
  }

  /** Readings as they are committed, until the loop ends or `signal` is aborted. See `live` for lost connections. */
  live(options: LiveOptions = {}): AsyncGenerator<LiveEvent, void> {
    return live(this.api, options);
  }
}

async function* items<T>(
  { pageSize = 1000, ...retries }: { [Key in keyof PageOptions]: PageOptions[Key] | undefined },
  request: (paging: { limit: number; cursor?: string }, signal: AbortSignal) => Promise<Page<T>>,
): AsyncGenerator<T, void> {
  for (let cursor: string | null = null; ; ) {
    const paging = { limit: pageSize, ...(cursor !== null && { cursor }) };
    const page: Page<T> = await retry((signal) => request(paging, signal), definedOf(retries));
    yield* page.items;
    if (page.next === null) return;
    cursor = page.next;
  }
}

type Defined<T> = { [Key in keyof T]: Exclude<T[Key], undefined> };

/** The object without its undefined fields. */
function definedOf<T extends object>(given: T): Defined<T> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Defined<T>;
}

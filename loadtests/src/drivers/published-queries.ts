import { setTimeout as sleep } from 'node:timers/promises';
import { parseUrl, type StoreUrl } from '@tidegauge/storage';
import driver from 'cassandra-driver';
import pg from 'pg';
import type { QueryName, ReadLoad } from '../operations/read-load.ts';
import { TOP } from '../operations/right-answers.ts';
import { postgresClient } from './postgres-client.ts';

/** A query as the programs of a published study ask it. */
export interface PublishedQueries {
  open(): Promise<void>;
  /**
   * Resolves as soon as the original's latency ends. What the server found is not known then.
   *
   * @returns why the read failed, or null. The original does not look at it
   */
  ask(): Promise<string | null>;
  /** Closes what the reads of a turn left open. Reads of others, which have the next turn, need the connections. */
  endTurn(): Promise<void>;
  close(): Promise<void>;
}

/**
 * The queries as the programs of Hilpold, Kraeman, Turek and Chien ask them, as far as a published version of them shows,
 * on the tables of the application. PostgreSQL: each read opens a connection, does not read its rows, and leaves the
 * connection open; so reads beyond `max_connections` fail, which takes little time. Cassandra: one session, and only the
 * first page of each result.
 *
 * @param storeUrl of one of `PUBLISHED_STORES.queries`
 */
export function publishedQueries(storeUrl: string, load: ReadLoad, query: QueryName): PublishedQueries {
  const url = parseUrl(storeUrl);
  return url.scheme === 'postgres'
    ? new UnreadPostgres(url, statementOf(load, query))
    : new FirstPages(url, load, query);
}

/** Name of the connections of reads on the server. */
const READS = 'published reads';
/** How long the server may take to end the connections of a turn. */
const CLOSE_MS = 30_000;
const CLOSE_PAUSE_MS = 20;

class UnreadPostgres implements PublishedQueries {
  readonly #url: StoreUrl;
  readonly #statement: string;
  readonly #open: pg.Client[] = [];

  constructor(url: StoreUrl, statement: string) {
    this.#url = url;
    this.#statement = statement;
  }

  async open(): Promise<void> {}

  async ask(): Promise<string | null> {
    const client = postgresClient(this.#url, READS);
    // A connection that the server refuses or ends also emits an error.
    client.on('error', () => {});
    this.#open.push(client);
    try {
      await client.connect();
      await firstRow(client, this.#statement);
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  }

  /**
   * The connections are cut, because their rows were never read. The server refuses others until it has noticed that.
   *
   * @throws {Error} when connections are still open after half a minute
   */
  async endTurn(): Promise<void> {
    for (const client of this.#open.splice(0)) socketOf(client)?.destroy();
    for (const end = performance.now() + CLOSE_MS; ; await sleep(CLOSE_PAUSE_MS)) {
      const left = await openReads(this.#url).catch((error: Error) => error.message);
      if (left === 0) return;
      if (performance.now() > end) throw new Error(`connections of the published reads stay open: ${left}`);
    }
  }

  async close(): Promise<void> {}
}

/** Connections of published reads that the server has not ended. */
async function openReads(url: StoreUrl): Promise<number> {
  const client = postgresClient(url);
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ open: number }>(
      'select count(*)::int as open from pg_stat_activity where application_name = $1',
      [READS],
    );
    return rows[0]!.open;
  } finally {
    await client.end();
  }
}

/** Sends a statement, and resolves at its first row: Go's driver then returns from `Query`. */
async function firstRow(client: pg.Client, statement: string): Promise<void> {
  const query = client.query(new pg.Query(statement));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  query.on('row', () => {
    socketOf(client)?.pause();
    resolve();
  });
  query.on('end', () => resolve());
  query.on('error', reject);
  await promise;
}

/** The socket of a connection. The types of the driver do not have it. */
function socketOf(client: pg.Client): { pause(): void; destroy(): void } | undefined {
  return (client as unknown as { connection?: { stream?: { pause(): void; destroy(): void } } }).connection
    ?.stream;
}

function statementOf(load: ReadLoad, query: QueryName): string {
  const { device, city, from, to } = load.asked;
  const ofDevice = `s.device = ${pg.escapeLiteral(device.name)}`;
  const joined = 'devices d join series s on s.device = d.name join readings r on r.series = s.id';
  const lines = 'select r.time, s.metric, r.value, d.name, d.site, d.city';
  switch (query) {
    case 'q1': {
      const { metric, time } = load.firstOfAsked();
      return `select d.site from ${joined}
        where ${ofDevice} and s.metric = ${pg.escapeLiteral(metric)} and r.time = ${time}`;
    }
    case 'q2':
      return `select r.time from series s join readings r on r.series = s.id
        where ${ofDevice} order by r.time desc limit 1`;
    case 'q3':
      return `${lines} from ${joined}
        where ${ofDevice} and r.time >= ${from} and r.time < ${to} order by r.time desc`;
    case 'q4':
      return `${lines} from ${joined} where ${ofDevice} order by r.time desc`;
    case 'q5':
      return `select d.name, sum(r.value) from ${joined} group by d.name order by 2 desc limit ${TOP}`;
    case 'q6':
      return `select d.name, sum(r.value) / count(*) from ${joined} group by d.name order by 2 desc`;
    case 'q7':
      return `select r.time / 86400000000, sum(r.value) from readings r group by 1 order by 1 desc`;
    case 'q8':
      return `select s.metric, count(*) from series s join readings r on r.series = s.id
        group by s.metric order by 2 desc`;
    case 'q9':
      return `select s.metric, sum(r.value) from series s join readings r on r.series = s.id
        group by s.metric order by 2 desc`;
    case 'q10':
      return `select r.time, s.metric from ${joined} where d.city = ${pg.escapeLiteral(city)}`;
  }
}

/** A statement of Cassandra with its values. */
type Statement = readonly [text: string, values: readonly unknown[]];

class FirstPages implements PublishedQueries {
  readonly #client: driver.Client;
  readonly #query: QueryName;
  readonly #load: ReadLoad;
  /** Statements that do not depend on a result. */
  readonly #statement: Statement;

  constructor({ hosts, user, password, path, options }: StoreUrl, load: ReadLoad, query: QueryName) {
    this.#client = new driver.Client({
      contactPoints: hosts.map(({ host, port }) => `${host}:${port ?? 9042}`),
      localDataCenter: options.get('dc') ?? 'datacenter1',
      keyspace: path,
      ...(user === null ? {} : { authProvider: new driver.auth.PlainTextAuthProvider(user, password ?? '') }),
      // Go's driver reads from a majority, and does not repeat a read that may take long.
      queryOptions: { prepare: true, consistency: driver.types.consistencies.quorum },
      encoding: { useBigIntAsLong: true },
    });
    this.#query = query;
    this.#load = load;
    this.#statement = firstStatement(load, query);
  }

  async open(): Promise<void> {
    await this.#client.connect();
  }

  async ask(): Promise<string | null> {
    try {
      const rows = await this.#firstPage(this.#statement);
      await Promise.all(this.#following(rows).map((statement) => this.#firstPage(statement)));
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  }

  async endTurn(): Promise<void> {}

  async close(): Promise<void> {
    await this.#client.shutdown();
  }

  async #firstPage([text, values]: Statement): Promise<readonly driver.types.Row[]> {
    return (await this.#client.execute(text, values as unknown[])).rows;
  }

  /** The readings of a device have many partitions here, and one in the original. They are read at the same time. */
  #following(rows: readonly driver.types.Row[]): readonly Statement[] {
    const { asked } = this.#load;
    if (this.#query === 'q10') {
      return rows.map(({ name }) => ['select metric, bucket from series where device = ?', [name]]);
    }
    if (this.#query !== 'q3' && this.#query !== 'q4') return [];
    const isAll = this.#query === 'q4';
    const days = { from: dayNumber(asked.from), to: dayNumber(asked.to) };
    return rows
      .filter(({ bucket }) => isAll || (bucket >= days.from && bucket < days.to))
      .map(({ metric, bucket }) => [
        'select time, metric, number from readings where device = ? and metric = ? and bucket = ?',
        [asked.device.name, metric, bucket],
      ]);
  }
}

function firstStatement(load: ReadLoad, query: QueryName): Statement {
  const { device, city } = load.asked;
  const years = 'year in (2009, 2010, 2011)';
  switch (query) {
    case 'q1':
      return [
        'select device from readings where time = ? allow filtering',
        [BigInt(load.firstOfAsked().time)],
      ];
    case 'q2': {
      const { metric, time } = load.lastOfAsked();
      return [
        'select time from readings where device = ? and metric = ? and bucket = ? limit 1',
        [device.name, metric, dayNumber(time)],
      ];
    }
    case 'q3':
    case 'q4':
      return ['select metric, bucket from series where device = ?', [device.name]];
    case 'q5':
      return ['select device, sum(number) from readings group by device, metric, bucket', []];
    case 'q6':
      return ['select device, sum(number), count(number) from readings group by device, metric, bucket', []];
    case 'q7':
      return [`select day, sum(sum) from totals where ${years} group by year, day`, []];
    case 'q8':
      return [`select metric, count from totals where ${years}`, []];
    case 'q9':
      return [`select metric, sum from totals where ${years}`, []];
    case 'q10':
      return ['select name from devices where city = ? allow filtering', [city]];
  }
}

/** Days since 1970: the bucket of a reading. */
function dayNumber(time: number): number {
  return Math.floor(time / 86_400_000_000);
}

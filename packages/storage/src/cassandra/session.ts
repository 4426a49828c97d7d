import { setTimeout as delay } from 'node:timers/promises';
import type { ConnectionOptions } from 'node:tls';
import driver from 'cassandra-driver';
import type { BackendLogger } from '../context.ts';
import { StoreError } from '../errors.ts';
import { readAuthority } from '../tls.ts';
import { BulkClient } from './bulk-client.ts';
import type { CassandraConfig } from './config.ts';
import { isUndecided, toStoreError } from './errors.ts';
import { Limiter } from './limiter.ts';
import { NextHostRetryPolicy, processTimestamps, RememberingPolicy } from './policies.ts';

const { consistencies } = driver.types;

/** Concurrent requests. A connection accepts 2048, but the node of a board handles far fewer at a time. */
const MAX_REQUESTS = 256;
/** A second node gets the request if the first has not answered within this time. */
const SPECULATE_MS = 500;
/**
 * Longer than a node waits before it fetches a change of the schema that it was not sent, because others believed it to
 * be down: up to a minute until it compares the versions, and another before it fetches (MigrationCoordinator).
 */
const AGREEMENT_MS = 150_000;
const AGREEMENT_POLL_MS = 50;
/** How long colliding transactions are repeated. */
const UNDECIDED_MS = 5000;
const SCAN_ROWS = 1000;

export type Row = driver.types.Row;
export type Params = readonly unknown[];
export interface Statement {
  readonly query: string;
  readonly params: Params;
}

interface WithControlConnection {
  readonly controlConnection?: { readonly connection?: { closeAsync(): Promise<void> } | null };
}

interface WithShutdown extends driver.Host {
  shutdown(waitForPending: boolean): Promise<void>;
}

const LEVELS = {
  ONE: consistencies.one,
  TWO: consistencies.two,
  THREE: consistencies.three,
  QUORUM: consistencies.quorum,
  ALL: consistencies.all,
  LOCAL_ONE: consistencies.localOne,
  LOCAL_QUORUM: consistencies.localQuorum,
  EACH_QUORUM: consistencies.eachQuorum,
} as const satisfies Record<CassandraConfig['write'], driver.types.consistencies>;

/**
 * The driver's client: prepared statements at the consistency levels of the URL, with bounds. It maps errors to
 * StoreErrors.
 */
export class Session {
  readonly keyspace: string;
  readonly config: CassandraConfig;
  readonly logger: BackendLogger;
  /** The options object of the client. `open` completes it before the first connection. */
  readonly #tls: ConnectionOptions | null;
  readonly #client: BulkClient;
  readonly #balancing: RememberingPolicy;
  readonly #limiter = new Limiter(MAX_REQUESTS);
  readonly #read: driver.QueryOptions;
  readonly #write: driver.QueryOptions;
  /**
   * Devices and the schema are small and shared, so they always use a majority, whatever the level of readings is.
   */
  readonly #shared: driver.QueryOptions;
  readonly #majority: driver.QueryOptions;
  readonly #conditional: driver.QueryOptions;

  constructor(config: CassandraConfig, logger: BackendLogger) {
    this.config = config;
    this.logger = logger;
    this.keyspace = config.keyspace;
    this.#balancing = new RememberingPolicy({ localDc: config.dc });
    this.#tls = config.tls === 'true' ? { rejectUnauthorized: true } : null;
    this.#client = new BulkClient(clientOptions(config, this.#balancing, this.#tls));
    const local = config.write.startsWith('LOCAL_');
    const majority = local ? consistencies.localQuorum : consistencies.quorum;
    const serial = local ? consistencies.localSerial : consistencies.serial;
    const common = { prepare: true, isIdempotent: true };
    this.#read = { ...common, consistency: LEVELS[config.read] };
    this.#write = { ...common, consistency: LEVELS[config.write], logged: false };
    // A read at SERIAL also sees a conditional write that was accepted but not yet applied.
    this.#shared = { ...common, consistency: serial };
    this.#majority = { ...common, consistency: majority };
    this.#conditional = { ...this.#majority, isIdempotent: false, serialConsistency: serial, logged: false };
  }

  /** Connects within the connect option, or rejects. */
  async open(): Promise<void> {
    const { connect, place, tlsCAFile } = this.config;
    if (this.#tls !== null && tlsCAFile !== null) {
      this.#tls.ca = await readAuthority(tlsCAFile, 'tlsCAFile');
    }
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        const hint = 'check that the server runs, and the host';
        reject(
          new StoreError('UNAVAILABLE', `cassandra ${place}: no connection within ${connect} ms`, { hint }),
        );
      }, connect);
    });
    try {
      await Promise.race([this.#client.connect(), late]);
    } catch (error) {
      this.#client.shutdown().catch(() => {});
      throw toStoreError(error, place);
    } finally {
      clearTimeout(timer);
    }
  }

  async close(): Promise<void> {
    await this.#client.shutdown();
    // After all hosts were lost, the driver opens a control connection that shutdown does not close. Its heartbeat
    // would keep the process running.
    const { controlConnection } = this.#client as unknown as WithControlConnection;
    await controlConnection?.connection?.closeAsync();
    // It also creates new host objects then. The old ones reconnect until they are shut down too.
    for (const host of this.#balancing.hosts) await (host as WithShutdown).shutdown(false);
  }

  /** The address of the first node of a partition, or '' if it is the only node or unknown. */
  nodeOf(partitionKey: readonly Buffer[]): string {
    if (this.#client.hosts.length < 2) return '';
    return this.#client.getReplicas(this.keyspace, hashedKey(partitionKey))?.[0]?.address ?? '';
  }

  /** A timestamp like those of writes, for deletes that must not affect later writes. */
  timestamp(): number {
    return processTimestamps.next();
  }

  async read(query: string, params: Params): Promise<Row[]> {
    return (await this.#execute(query, params, this.#read)).rows;
  }

  async readAll(query: string, params: Params): Promise<Row[]> {
    const rows: Row[] = [];
    for await (const row of this.scan(query, params, SCAN_ROWS)) rows.push(row);
    return rows;
  }

  /** Resolves when enough copies of a row can be reached for a write. */
  async probe(): Promise<void> {
    const { write } = this.config;
    const consistency = write === 'EACH_QUORUM' ? consistencies.quorum : LEVELS[write];
    const query = `select value from "${this.keyspace}".tidegauge_schema where name = 'version'`;
    await this.#execute(query, [], { ...this.#read, consistency });
  }

  /** All rows, page by page. `fetchSize`: the rows of a page, or a function that returns those of the next page. */
  async *scan(query: string, params: Params, fetchSize: number | (() => number)): AsyncGenerator<Row> {
    yield* this.#pages(query, params, fetchSize, this.#read);
  }

  async *#pages(
    query: string,
    params: Params,
    fetchSize: number | (() => number),
    options: driver.QueryOptions,
  ): AsyncGenerator<Row> {
    let pageState: string | undefined;
    do {
      const page: driver.types.ResultSet = await this.#execute(query, params, {
        ...options,
        fetchSize: typeof fetchSize === 'number' ? fetchSize : fetchSize(),
        ...(pageState === undefined ? {} : { pageState }),
      });
      yield* page.rows;
      pageState = page.pageState;
    } while (pageState);
  }

  /** All rows at a majority of the copies, page by page. */
  async *scanMajority(query: string, params: Params, fetchSize: number): AsyncGenerator<Row> {
    yield* this.#pages(query, params, fetchSize, this.#majority);
  }

  /** A write that a majority of the copies acknowledges, whatever the level of readings is. */
  async writeMajority(query: string, params: Params): Promise<void> {
    await this.#execute(query, params, this.#majority);
  }

  async write(query: string, params: Params, timestamp?: driver.types.Long | number): Promise<void> {
    await this.#execute(query, params, timestamp === undefined ? this.#write : { ...this.#write, timestamp });
  }

  /** Statements in one request. Those on one partition are applied together or not at all. */
  async writeBatch(statements: readonly Statement[]): Promise<void> {
    await this.#call(() => this.#client.batch(statements as never[], this.#write));
  }

  /** A statement for each of at least one row, in one request. Rows on one partition are applied together or not at all. */
  async writeRows(query: string, rows: readonly Params[]): Promise<void> {
    await this.#call(() => this.#client.insertRows(query, rows, this.#write));
  }

  /** Like `writeRows`, and a majority of the copies acknowledges it. */
  async writeRowsMajority(query: string, rows: readonly Params[]): Promise<void> {
    await this.#call(() => this.#client.insertRows(query, rows, { ...this.#majority, logged: false }));
  }

  /** A read of data that conditional statements write. */
  async readShared(query: string, params: Params): Promise<Row[]> {
    return (await this.#execute(query, params, this.#shared)).rows;
  }

  /**
   * Like `readShared`, for more rows than Paxos can read at once. It sees every completed conditional write.
   */
  async readMajority(query: string, params: Params): Promise<Row[]> {
    return (await this.#execute(query, params, this.#majority)).rows;
  }

  /**
   * A lightweight transaction on one partition. Resolves to whether it was applied. When it collides with another
   * one and only some copies accepted it, the server reports an unknown outcome (write type CAS). It is then
   * repeated, and can find its own change, so that it reports that it was not applied.
   */
  async writeIf(...statements: readonly Statement[]): Promise<boolean> {
    const [first, ...more] = statements;
    const deadline = performance.now() + UNDECIDED_MS;
    for (let most = 10; ; most *= 2) {
      try {
        const result = await this.#call(() =>
          more.length === 0
            ? this.#client.execute(first!.query, first!.params as never[], this.#conditional)
            : this.#client.batch(statements as never[], this.#conditional),
        );
        return result.wasApplied();
      } catch (error) {
        if (!isUndecided(error) || performance.now() > deadline) throw error;
        await delay(Math.random() * Math.min(most, 500));
      }
    }
  }

  /** Changes the schema, and waits until all running nodes agree on it. */
  async define(query: string): Promise<void> {
    // Not prepared. IF (NOT) EXISTS makes it repeatable.
    await this.#call(() => this.#client.execute(query, [], { isIdempotent: true }));
    await this.agree();
  }

  /**
   * Waits until all running nodes have the same schema. It reads the version of each node, because the driver reads
   * only that of its control node, which may not have the change yet.
   */
  async agree(): Promise<void> {
    const deadline = performance.now() + AGREEMENT_MS;
    for (; performance.now() < deadline; await delay(AGREEMENT_POLL_MS)) {
      const up = this.#client.hosts.values().filter((host) => host.isUp());
      const versions = await Promise.all(up.map((host) => this.#schemaVersion(host)));
      const known = new Set(versions.filter((version) => version !== null));
      if (known.size === 1) return;
    }
    const { place } = this.config;
    const message = `cassandra ${place}: nodes do not agree on the schema after ${AGREEMENT_MS} ms`;
    throw new StoreError('UNAVAILABLE', message, { hint: 'see nodetool describecluster' });
  }

  /** Null if the node does not answer. It gets the schema when it is back. */
  async #schemaVersion(host: driver.Host): Promise<string | null> {
    const query = 'select schema_version from system.local';
    const options = { host, consistency: consistencies.one, isIdempotent: true };
    const result = await this.#client.execute(query, [], options).catch(() => null);
    return result === null ? null : String(result.first().schema_version);
  }

  #execute(query: string, params: Params, options: driver.QueryOptions): Promise<driver.types.ResultSet> {
    return this.#call(() => this.#client.execute(query, params as never[], options));
  }

  async #call<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await this.#limiter.run(call);
    } catch (error) {
      throw toStoreError(error, this.config.place);
    }
  }
}

/**
 * The form of a partition key that Cassandra hashes: the bytes of one column. Of several columns, each has its length
 * before it and a zero after it.
 */
function hashedKey(parts: readonly Buffer[]): Buffer {
  if (parts.length === 1) return parts[0]!;
  const end = Buffer.of(0);
  return Buffer.concat(
    parts.flatMap((part) => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(part.length);
      return [length, part, end];
    }),
  );
}

function clientOptions(
  config: CassandraConfig,
  loadBalancing: RememberingPolicy,
  tls: ConnectionOptions | null,
): driver.DseClientOptions {
  const { hosts, port, user, password, connect, timeout, rf } = config;
  const { reconnection, speculativeExecution } = driver.policies;
  return {
    contactPoints: [...hosts],
    localDataCenter: config.dc,
    ...(tls === null ? {} : { sslOptions: tls }),
    protocolOptions: { port },
    ...(user === null ? {} : { authProvider: new driver.auth.PlainTextAuthProvider(user, password) }),
    // Hosts are tried one after the other, and each gets its part of the time.
    socketOptions: { connectTimeout: Math.ceil(connect / hosts.length), readTimeout: timeout },
    policies: {
      loadBalancing,
      reconnection: new reconnection.ExponentialReconnectionPolicy(200, 5000),
      retry: new NextHostRetryPolicy(),
      timestampGeneration: processTimestamps,
      ...(rf > 1 || hosts.length > 1
        ? {
            speculativeExecution: new speculativeExecution.ConstantSpeculativeExecutionPolicy(
              SPECULATE_MS,
              1,
            ),
          }
        : {}),
    },
    monitorReporting: { enabled: false },
  };
}

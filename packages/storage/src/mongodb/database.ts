import { type Collection, type Db, type Document, MongoClient, type MongoClientOptions } from 'mongodb';
import { StoreError } from '../errors.ts';
import { hostList, type MongodbConfig, placeOf } from './config.ts';
import { toStoreError } from './errors.ts';
import type {
  DeviceDocument,
  LeaseDocument,
  MarkDocument,
  ReadingDocument,
  RollupDocument,
  SchemaDocument,
  SeriesDocument,
  StateDocument,
  TableDocument,
} from './mapping.ts';

/** The driver's client with bounded waits. It maps errors to StoreErrors. */
export class Database {
  readonly #config: MongodbConfig;
  readonly #place: string;
  #client: MongoClient | null = null;

  constructor(config: MongodbConfig) {
    this.#config = config;
    this.#place = placeOf(config);
  }

  /** @throws {StoreError} within the connect timeout. Nothing is left open. */
  async open(): Promise<void> {
    const client = await this.#guard(() => new MongoClient(url(this.#config), clientOptions(this.#config)));
    this.#client = client;
    try {
      // A ping needs no rights, but a read does.
      await this.run(async () => {
        await client.connect();
        await this.schema.findOne({ _id: 'schema' });
      });
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#client?.close();
    this.#client = null;
  }

  /** Runs `work` on the database. All its errors become StoreErrors that name hosts and database. */
  run<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return this.#guard(() => work(this.db));
  }

  async #guard<T>(work: () => T | Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw toStoreError(error, this.#place);
    }
  }

  get place(): string {
    return this.#place;
  }

  get db(): Db {
    if (this.#client === null) throw new StoreError('CLOSED', `mongodb ${this.#place}: not open`);
    return this.#client.db(this.#config.database);
  }

  get schema(): Collection<SchemaDocument> {
    return this.db.collection('tidegauge_schema');
  }

  get tables(): Collection<TableDocument> {
    return this.db.collection('tidegauge_tables');
  }

  get series(): Collection<SeriesDocument> {
    return this.db.collection('series');
  }

  get readings(): Collection<ReadingDocument> {
    return this.db.collection('readings');
  }

  get devices(): Collection<DeviceDocument> {
    return this.db.collection('devices');
  }

  get leases(): Collection<LeaseDocument> {
    return this.db.collection('tidegauge_leases');
  }

  get marks(): Collection<MarkDocument> {
    return this.db.collection('tidegauge_marks');
  }

  get rollups(): Collection<RollupDocument> {
    return this.db.collection('tidegauge_rollups');
  }

  get states(): Collection<StateDocument> {
    return this.db.collection('tidegauge_state');
  }

  table(name: string): Collection<Document & { _id: string }> {
    return this.db.collection(name);
  }
}

function url({ hosts, database }: MongodbConfig): string {
  return `mongodb://${hostList(hosts)}/${encodeURIComponent(database)}`;
}

function clientOptions(config: MongodbConfig): MongoClientOptions {
  const { user, password, authSource, replicaSet, w, j, tls, tlsCAFile, connect, timeout, connections } =
    config;
  return {
    appName: 'tidegauge',
    ...(user === null ? {} : { auth: { username: user, password: password ?? '' } }),
    ...(authSource === null ? {} : { authSource }),
    ...(replicaSet === null ? {} : { replicaSet }),
    ...(tlsCAFile === null ? {} : { tlsCAFile }),
    tls: tls === 'true',
    writeConcern: { w, journal: j === 'true', wtimeoutMS: timeout },
    // A write reads the documents that exist, to distinguish duplicates from corrections.
    readPreference: 'primary',
    // The driver retries where the server supports sessions: replica sets and sharded clusters.
    retryWrites: true,
    // A retried read on a server that hangs would wait for a connection, and report that all are busy.
    retryReads: false,
    serverSelectionTimeoutMS: connect,
    connectTimeoutMS: connect,
    socketTimeoutMS: timeout,
    waitQueueTimeoutMS: timeout,
    maxPoolSize: connections,
    promoteBuffers: true,
  };
}

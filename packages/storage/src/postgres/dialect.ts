import type { Capabilities } from '../contract.ts';
import { WRITERS } from './config.ts';
import type { Connection } from './database.ts';

/** What PostgreSQL and an extension of it do differently. */
export interface Dialect {
  readonly name: string;
  readonly capabilities: Capabilities;
  /** Whether one statement may look into many series, each by its key. */
  readonly lateral: boolean;
  /** Whether an upsert of many rows tells how many it changed; else the rows have to come back. */
  readonly countsUpserts: boolean;
  /** Whether batches take turns in the server, which would have them block each other for good. */
  readonly takesTurns: boolean;
  /** Settings of each session. */
  readonly settings: Readonly<Record<string, string>>;
  /** Whether a table is where `distribute` would put it. */
  isPlaced(connection: Connection, table: string): Promise<boolean>;
  /** In a transaction of its own, before the tables are made. */
  prepare(connection: Connection): Promise<void>;
  /** In a transaction, before the first table of it is made. */
  begin(connection: Connection): Promise<void>;
  /** In the same transaction, for a table that is to be cut by a column; one that is already stays as it is. */
  distribute(connection: Connection, table: string, column: string): Promise<void>;
  /** In the same transaction, for a small table that every node needs whole. */
  replicate(connection: Connection, table: string): Promise<void>;
}

export const POSTGRES_CAPABILITIES: Capabilities = Object.freeze({
  countsDuplicates: true,
  atomicBatches: true,
  maxBatch: 5000,
  writers: WRITERS,
  serverAggregates: true,
  orderedScan: true,
  updateIsUpsert: false,
  insertIsUpsert: false,
  ttl: false,
  consistencyLevels: Object.freeze([]),
  maxReplicationFactor: 1,
});

const nothing = async (): Promise<void> => {};

/** PostgreSQL by itself. */
export const plain: Dialect = {
  name: 'postgres',
  capabilities: POSTGRES_CAPABILITIES,
  lateral: true,
  countsUpserts: true,
  takesTurns: false,
  settings: {},
  isPlaced: async () => true,
  prepare: nothing,
  begin: nothing,
  distribute: nothing,
  replicate: nothing,
};

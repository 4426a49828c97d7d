import { capabilities } from '../backend.ts';
import type { Capabilities } from '../contract.ts';
import { WRITERS } from './config.ts';
import type { Connection, Sessions } from './database.ts';

/** The differences between PostgreSQL and its extensions. */
export interface Dialect extends Sessions {
  readonly capabilities: Capabilities;
  /** Whether one statement can read many series, each by its key. */
  readonly lateral: boolean;
  /** Whether an upsert of many rows returns how many it changed. Otherwise it must return the rows. */
  readonly countsUpserts: boolean;
  /** Whether a statement reads the rows of several keys as one call. */
  readonly readsTogether: boolean;
  /** Whether batches must take turns, because they would deadlock in the server. */
  readonly takesTurns: boolean;
  /** Whether a table is distributed already. */
  isPlaced(connection: Connection, table: string): Promise<boolean>;
  /** Runs in its own transaction, before the tables are created. */
  prepare(connection: Connection): Promise<void>;
  /** Runs in a transaction, before its first table is created. */
  begin(connection: Connection): Promise<void>;
  /** In the same transaction: distributes a table by a column. A distributed table stays as it is. */
  distribute(connection: Connection, table: string, column: string): Promise<void>;
  /** In the same transaction: makes a small table a reference table, which every node has. */
  replicate(connection: Connection, table: string): Promise<void>;
}

export const POSTGRES_CAPABILITIES = capabilities({
  countsDuplicates: true,
  atomicBatches: true,
  maxBatch: 5000,
  writers: WRITERS,
  serverAggregates: true,
  orderedScan: true,
});

const nothing = async (): Promise<void> => {};

/** PostgreSQL without an extension. */
export const plain: Dialect = {
  name: 'postgres',
  capabilities: POSTGRES_CAPABILITIES,
  lateral: true,
  countsUpserts: true,
  readsTogether: true,
  takesTurns: false,
  settings: {},
  ingestSettings: {},
  isPlaced: async () => true,
  prepare: nothing,
  begin: nothing,
  distribute: nothing,
  replicate: nothing,
};

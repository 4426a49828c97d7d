import type { BackendLogger } from '../context.ts';
import type { Capabilities } from '../contract.ts';
import type { Backend } from '../tables.ts';
import { type CassandraConfig, WRITE_LEVELS } from './config.ts';
import { CassandraDevices } from './devices.ts';
import { CassandraReadings } from './readings.ts';
import { CassandraRecords } from './records.ts';
import { migrate } from './schema.ts';
import { Session } from './session.ts';

const CAPABILITIES: Capabilities = Object.freeze({
  countsDuplicates: false,
  atomicBatches: false,
  maxBatch: 5000,
  writers: 2,
  serverAggregates: false,
  orderedScan: false,
  updateIsUpsert: true,
  insertIsUpsert: true,
  ttl: true,
  consistencyLevels: Object.freeze([...WRITE_LEVELS]),
  maxReplicationFactor: 9,
  groupTables: true,
  rollups: false,
});

/** Cassandra 5, one keyspace per store. */
export class CassandraBackend implements Backend {
  readonly name = 'cassandra';
  readonly capabilities = CAPABILITIES;
  readonly readings: CassandraReadings;
  readonly devices: CassandraDevices;
  readonly records: CassandraRecords;
  readonly #session: Session;

  constructor(config: CassandraConfig, logger: BackendLogger) {
    this.#session = new Session(config, logger);
    this.devices = new CassandraDevices(this.#session);
    this.readings = new CassandraReadings(this.#session, this.devices);
    this.records = new CassandraRecords(this.#session);
  }

  open(): Promise<void> {
    return this.#session.open();
  }

  migrate(): Promise<void> {
    return migrate(this.#session);
  }

  health(): Promise<void> {
    return this.#session.probe();
  }

  close(): Promise<void> {
    return this.#session.close();
  }
}

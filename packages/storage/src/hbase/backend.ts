import type { Capabilities } from '../contract.ts';
import type { Backend } from '../tables.ts';
import type { HbaseConfig } from './config.ts';
import { HbaseDevices } from './devices.ts';
import { HbaseReadings } from './readings.ts';
import { HbaseRecords } from './records.ts';
import { checkSchema, migrate } from './schema.ts';
import { Session } from './session.ts';

const CAPABILITIES: Capabilities = Object.freeze({
  countsDuplicates: false,
  atomicBatches: false,
  maxBatch: 5000,
  writers: 2,
  serverAggregates: false,
  orderedScan: true,
  updateIsUpsert: true,
  insertIsUpsert: true,
  ttl: true,
  consistencyLevels: Object.freeze([]),
  maxReplicationFactor: 1,
  groupTables: true,
  rollups: false,
});

/** HBase 2.4 or later, one namespace per store. */
export class HbaseBackend implements Backend {
  readonly name = 'hbase';
  readonly capabilities = CAPABILITIES;
  readonly readings: HbaseReadings;
  readonly devices: HbaseDevices;
  readonly records: HbaseRecords;
  readonly #session: Session;

  constructor(config: HbaseConfig) {
    this.#session = new Session(config);
    this.devices = new HbaseDevices(this.#session);
    this.readings = new HbaseReadings(this.#session, this.devices);
    this.records = new HbaseRecords(this.#session);
  }

  open(): Promise<void> {
    return this.#session.open();
  }

  migrate(): Promise<void> {
    return migrate(this.#session);
  }

  /** Checks every region of readings, because only one server serves each region. */
  async health(): Promise<void> {
    await this.#session.run(async () => {
      await checkSchema(this.#session);
      await this.readings.probe();
    });
  }

  async close(): Promise<void> {
    this.#session.close();
  }
}

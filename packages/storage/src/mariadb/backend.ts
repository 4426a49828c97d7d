import { type Backend, capabilities } from '../backend.ts';
import type { BackendLogger } from '../context.ts';
import { StoreError } from '../errors.ts';
import type { MariadbConfig } from './config.ts';
import { Database } from './database.ts';
import { MariadbDevices } from './devices.ts';
import { Partitions } from './partitions.ts';
import { MariadbReadings } from './readings.ts';
import { MariadbRecords } from './records.ts';
import { MariadbRollups } from './rollups.ts';
import { migrate } from './schema.ts';

const CAPABILITIES = capabilities({
  countsDuplicates: true,
  atomicBatches: true,
  maxBatch: 5000,
  writers: 2,
  serverAggregates: true,
  orderedScan: true,
});

// The server assigns from left to right, so the second assignment compares the new holder.
const LEASE = `
  insert into tidegauge_leases (name, holder, expires)
  values (?, ?, utc_timestamp(6) + interval ? microsecond)
  on duplicate key update
    holder = if(expires <= utc_timestamp(6), values(holder), holder),
    expires = if(holder = values(holder), values(expires), expires)`;

/** MariaDB with InnoDB. Several processes can share a database. */
export class MariadbBackend implements Backend {
  readonly name = 'mariadb';
  readonly capabilities = CAPABILITIES;
  readonly readings: MariadbReadings;
  readonly devices: MariadbDevices;
  readonly records: MariadbRecords;
  readonly rollups: MariadbRollups;
  readonly #config: MariadbConfig;
  readonly #db: Database;
  readonly #partitions: Partitions;

  constructor(config: MariadbConfig, logger: BackendLogger) {
    this.#config = config;
    this.#db = new Database(config);
    this.#partitions = new Partitions(this.#db, config.partition, logger);
    this.devices = new MariadbDevices(this.#db);
    this.readings = new MariadbReadings(this.#db, this.#partitions);
    this.records = new MariadbRecords(this.#db);
    this.rollups = new MariadbRollups(this.#db);
  }

  open(): Promise<void> {
    return this.#db.open();
  }

  async migrate(): Promise<void> {
    await migrate(this.#db, this.#config);
    await this.#partitions.extend();
  }

  async health(): Promise<void> {
    const { host, port } = this.#config;
    const [row] = await this.#db.rows('select @@global.read_only as readOnly', []);
    if (row?.readOnly === 0) return;
    throw new StoreError('UNAVAILABLE', `mariadb ${host}:${port}: the server is read-only`, {
      hint: 'make it writable, or use its primary',
    });
  }

  /** Compares the clock of the server. */
  async lease(name: string, holder: string, ms: number): Promise<boolean> {
    await this.#db.change(LEASE, [name, holder, ms * 1000]);
    const [row] = await this.#db.rows('select holder from tidegauge_leases where name = ?', [name]);
    return row?.holder === holder;
  }

  close(): Promise<void> {
    return this.#db.close();
  }
}

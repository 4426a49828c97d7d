import { type Backend, capabilities } from '../backend.ts';
import type { MongodbConfig } from './config.ts';
import { Database } from './database.ts';
import { MongodbDevices } from './devices.ts';
import { isDuplicateKey } from './errors.ts';
import { MongodbReadings } from './readings.ts';
import { MongodbRecords } from './records.ts';
import { MongodbRollups } from './rollups.ts';
import { migrate } from './schema.ts';

const CAPABILITIES = capabilities({
  countsDuplicates: true,
  maxBatch: 5000,
  writers: 2,
  serverAggregates: true,
  orderedScan: true,
  consistencyLevels: Object.freeze(['1', 'majority']),
});

/** MongoDB, or a compatible server: one server, a replica set, or the routers of a sharded cluster. */
export class MongodbBackend implements Backend {
  readonly name = 'mongodb';
  readonly capabilities = CAPABILITIES;
  readonly readings: MongodbReadings;
  readonly devices: MongodbDevices;
  readonly records: MongodbRecords;
  readonly rollups: MongodbRollups;
  readonly #db: Database;

  constructor(config: MongodbConfig) {
    this.#db = new Database(config);
    this.devices = new MongodbDevices(this.#db);
    this.readings = new MongodbReadings(this.#db);
    this.records = new MongodbRecords(this.#db);
    this.rollups = new MongodbRollups(this.#db);
  }

  open(): Promise<void> {
    return this.#db.open();
  }

  migrate(): Promise<void> {
    return migrate(this.#db);
  }

  /** Finds a server that accepts writes, and reads there. */
  async health(): Promise<void> {
    await this.#db.run(() => this.#db.schema.findOne({ _id: 'schema' }));
  }

  /** Compares the clocks of the processes. */
  lease(name: string, holder: string, ms: number): Promise<boolean> {
    const now = Date.now();
    const free = { _id: name, $or: [{ holder }, { expires: { $lte: now } }] };
    return this.#db.run(async () => {
      try {
        await this.#db.leases.updateOne(free, { $set: { holder, expires: now + ms } }, { upsert: true });
        return true;
      } catch (error) {
        // Another holder has it, so the server tries to insert a second document of this name.
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    });
  }

  close(): Promise<void> {
    return this.#db.close();
  }
}

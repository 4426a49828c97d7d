import { type Backend, capabilities } from '../backend.ts';
import type { BackendLogger } from '../context.ts';
import { type CassandraConfig, WRITE_LEVELS } from './config.ts';
import { CassandraDevices } from './devices.ts';
import { CassandraReadings } from './readings.ts';
import { CassandraRecords } from './records.ts';
import { CassandraRollups } from './rollups.ts';
import { migrate } from './schema.ts';
import { Session } from './session.ts';

const CAPABILITIES = capabilities({
  maxBatch: 5000,
  writers: 2,
  updateIsUpsert: true,
  insertIsUpsert: true,
  ttl: true,
  consistencyLevels: Object.freeze([...WRITE_LEVELS]),
  maxReplicationFactor: 9,
  groupTables: true,
});

/** Cassandra 5, one keyspace per store. */
export class CassandraBackend implements Backend {
  readonly name = 'cassandra';
  readonly capabilities = CAPABILITIES;
  readonly readings: CassandraReadings;
  readonly devices: CassandraDevices;
  readonly records: CassandraRecords;
  readonly rollups: CassandraRollups;
  readonly #session: Session;

  constructor(config: CassandraConfig, logger: BackendLogger) {
    this.#session = new Session(config, logger);
    this.devices = new CassandraDevices(this.#session);
    this.readings = new CassandraReadings(this.#session);
    this.records = new CassandraRecords(this.#session);
    this.rollups = new CassandraRollups(this.#session);
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

  /** A row that expires by the clocks of the nodes. */
  async lease(name: string, holder: string, ms: number): Promise<boolean> {
    const table = `"${this.#session.keyspace}".tidegauge_schema`;
    const [row, ttl] = [`lease ${name}`, Math.ceil(ms / 1000)];
    const renew = `update ${table} using ttl ${ttl} set value = ? where name = ? if value = ?`;
    if (await this.#session.writeIf({ query: renew, params: [holder, row, holder] })) return true;
    const take = `insert into ${table} (name, value) values (?, ?) if not exists using ttl ${ttl}`;
    if (await this.#session.writeIf({ query: take, params: [row, holder] })) return true;
    // A repeated statement reports its own change as not applied.
    const [held] = await this.#session.readShared(`select value from ${table} where name = ?`, [row]);
    return held?.value === holder;
  }

  close(): Promise<void> {
    return this.#session.close();
  }
}

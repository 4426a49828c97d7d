import type { Backend } from '../backend.ts';
import type { BackendLogger } from '../context.ts';
import type { Capabilities } from '../contract.ts';
import { StoreError } from '../errors.ts';
import type { PostgresConfig } from './config.ts';
import { Database } from './database.ts';
import { PostgresDevices } from './devices.ts';
import type { Dialect } from './dialect.ts';
import { PostgresReadings } from './readings.ts';
import { PostgresRecords } from './records.ts';
import { PostgresRollups } from './rollups.ts';
import { migrate } from './schema.ts';

const LEASE = `
  insert into tidegauge_leases as held (name, holder, expires)
  values ($1, $2, now() + $3::bigint * interval '1 millisecond')
  on conflict (name) do update set holder = excluded.holder, expires = excluded.expires
  where held.holder = excluded.holder or held.expires <= now()`;

/** PostgreSQL with bounded pools of connections. Citus is a dialect of it. */
export class PostgresBackend implements Backend {
  readonly name: string;
  readonly capabilities: Capabilities;
  readonly readings: PostgresReadings;
  readonly devices: PostgresDevices;
  readonly records: PostgresRecords;
  readonly rollups: PostgresRollups;
  readonly #db: Database;
  readonly #dialect: Dialect;

  constructor(config: PostgresConfig, dialect: Dialect, logger: BackendLogger) {
    this.name = dialect.name;
    this.capabilities = dialect.capabilities;
    this.#dialect = dialect;
    this.#db = new Database(config, dialect, logger);
    this.devices = new PostgresDevices(this.#db);
    this.readings = new PostgresReadings(this.#db, dialect);
    this.records = new PostgresRecords(this.#db, dialect);
    this.rollups = new PostgresRollups(this.#db);
  }

  open(): Promise<void> {
    return this.#db.open();
  }

  migrate(): Promise<void> {
    return migrate(this.#db, this.#dialect);
  }

  async health(): Promise<void> {
    const { rows } = await this.#db.run('calls', `select current_setting('transaction_read_only')`);
    if (rows[0]?.[0] === 'off') return;
    throw new StoreError('UNAVAILABLE', `${this.#db.place}: the server is read-only`, {
      hint: 'it is a standby, or default_transaction_read_only is on: connect to the primary',
    });
  }

  /** Compares the clock of the server. */
  async lease(name: string, holder: string, ms: number): Promise<boolean> {
    return (await this.#db.run('calls', LEASE, [name, holder, ms])).count === 1;
  }

  close(): Promise<void> {
    return this.#db.close();
  }
}

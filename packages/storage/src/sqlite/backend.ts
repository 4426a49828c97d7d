import { dirname } from 'node:path';
import { type Backend, capabilities } from '../backend.ts';
import type { StoreSpace } from '../contract.ts';
import type { SqliteConfig } from './config.ts';
import { Database } from './database.ts';
import { SqliteDevices } from './devices.ts';
import { SqliteReadings } from './readings.ts';
import { SqliteRecords } from './records.ts';
import { SqliteRollups } from './rollups.ts';
import { migrate } from './schema.ts';
import { pagesOf, shrinkable } from './shrink.ts';

const CAPABILITIES = capabilities({
  countsDuplicates: true,
  namesDuplicates: true,
  atomicBatches: true,
  maxBatch: 5000,
  writers: 1,
  orderedScan: true,
});

const LEASE = `
  insert into tidegauge_leases as held (name, holder, expires) values (?, ?, ?)
  on conflict (name) do update set holder = excluded.holder, expires = excluded.expires
  where held.holder = excluded.holder or held.expires <= ?`;

/** SQLite in this thread, on a local file in WAL mode. Other processes can use the file too. */
export class SqliteBackend implements Backend {
  readonly name = 'sqlite';
  readonly capabilities = CAPABILITIES;
  readonly readings: SqliteReadings;
  readonly devices: SqliteDevices;
  readonly records: SqliteRecords;
  readonly rollups: SqliteRollups;
  readonly #db: Database;
  readonly #path: string;

  constructor(config: SqliteConfig) {
    this.#path = config.path;
    this.#db = new Database(config);
    this.devices = new SqliteDevices(this.#db);
    this.readings = new SqliteReadings(this.#db);
    this.records = new SqliteRecords(this.#db);
    this.rollups = new SqliteRollups(this.#db);
  }

  open(): Promise<void> {
    return this.#db.open();
  }

  async migrate(): Promise<void> {
    await shrinkable(this.#db);
    await this.#db.transaction(() => migrate(this.#db.connection, this.#path));
  }

  async health(): Promise<void> {
    await this.#db.transaction(() => {});
  }

  /** Compares the clock of this machine, on which all processes run that use the file. */
  lease(name: string, holder: string, ms: number): Promise<boolean> {
    const now = Date.now();
    return this.#db.transaction(
      () => this.#db.statement(LEASE).run(name, holder, now + ms, now).changes === 1,
    );
  }

  compact(): Promise<boolean> {
    return this.readings.compact();
  }

  space(): Promise<StoreSpace> {
    return this.#db.run(() => {
      const { pages, free, pageBytes, shrinks } = pagesOf(this.#db);
      const path = dirname(this.#path);
      return { used: (pages - free) * pageBytes, spare: free * pageBytes, shrinks, path };
    });
  }

  async close(): Promise<void> {
    this.#db.close();
  }
}

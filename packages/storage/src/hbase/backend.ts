import { type Backend, capabilities } from '../backend.ts';
import type { HbaseConfig } from './config.ts';
import { HbaseDevices } from './devices.ts';
import { FAMILY } from './mapping.ts';
import { HbaseReadings } from './readings.ts';
import { HbaseRecords } from './records.ts';
import { HbaseRollups } from './rollups.ts';
import { checkSchema, migrate } from './schema.ts';
import { Session } from './session.ts';

const CAPABILITIES = capabilities({
  maxBatch: 5000,
  writers: 2,
  orderedScan: true,
  updateIsUpsert: true,
  insertIsUpsert: true,
  ttl: true,
  groupTables: true,
});

/** HBase 2.4 or later, one namespace per store. */
export class HbaseBackend implements Backend {
  readonly name = 'hbase';
  readonly capabilities = CAPABILITIES;
  readonly readings: HbaseReadings;
  readonly devices: HbaseDevices;
  readonly records: HbaseRecords;
  readonly rollups: HbaseRollups;
  readonly #session: Session;

  constructor(config: HbaseConfig) {
    this.#session = new Session(config);
    this.devices = new HbaseDevices(this.#session);
    this.readings = new HbaseReadings(this.#session);
    this.records = new HbaseRecords(this.#session);
    this.rollups = new HbaseRollups(this.#session);
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

  /** A row in the table of devices, before every device. Compares the clocks of the processes. */
  lease(name: string, holder: string, ms: number): Promise<boolean> {
    return this.#session.run(async () => {
      const table = this.#session.table('devices');
      const row = `\0lease ${name}`;
      const cell = { family: FAMILY, qualifier: 'lease' } as const;
      const held = (await table.get(row))?.value(FAMILY, 'lease')?.toString() ?? null;
      const now = Date.now();
      const lease = held === null ? null : (JSON.parse(held) as { holder: string; expires: number });
      if (lease !== null && lease.holder !== holder && lease.expires > now) return false;
      const value = JSON.stringify({ holder, expires: now + ms });
      const put = { type: 'put', cells: [{ ...cell, value }] } as const;
      return table.checkAndMutate(row, { ...cell, value: held }, put);
    });
  }

  async close(): Promise<void> {
    this.#session.close();
  }
}

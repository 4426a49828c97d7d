import { type Backend, capabilities } from '../backend.ts';
import { newerSchema } from '../errors.ts';
import { Client } from './client.ts';
import type { InfluxdbConfig } from './config.ts';
import { InfluxdbReadings } from './readings.ts';
import { InfluxdbRecords } from './records.ts';

const CAPABILITIES = capabilities({ maxBatch: 5000, writers: 2, updateIsUpsert: true, insertIsUpsert: true });
const SCHEMA_VERSION = 1;

/** InfluxDB 1.8, one database per store. Devices, units, leases and rollups are derived. */
export class InfluxdbBackend implements Backend {
  readonly name = 'influxdb';
  readonly capabilities = CAPABILITIES;
  readonly readings: InfluxdbReadings;
  readonly records: InfluxdbRecords;
  readonly #client: Client;

  constructor(config: InfluxdbConfig) {
    this.#client = new Client(config);
    this.readings = new InfluxdbReadings(this.#client);
    this.records = new InfluxdbRecords(this.#client);
  }

  open(): Promise<void> {
    return this.#client.connect();
  }

  /** Each statement can be repeated. Shards of 30 days, because a board keeps months of readings. */
  async migrate(): Promise<void> {
    const { database } = this.#client;
    const known = await this.#client.query('show databases');
    if (!known.some(({ name }) => name === database)) {
      const shards = 'duration inf replication 1 shard duration 30d name autogen';
      await this.#client.query(`create database "${database}" with ${shards}`);
    }
    const version = await this.#version();
    if (version === null) await this.#client.write([`tidegauge_schema version=${SCHEMA_VERSION} 0`], 'u');
    else if (version > SCHEMA_VERSION)
      throw newerSchema(`influxdb ${this.#client.place}`, version, SCHEMA_VERSION, 'database');
  }

  async health(): Promise<void> {
    await this.#version();
  }

  async #version(): Promise<number | null> {
    const [row] = await this.#client.query('select version from tidegauge_schema');
    return row === undefined ? null : (row.version as number);
  }
}

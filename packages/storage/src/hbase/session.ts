import { HBaseClient, type Table } from '@tidegauge/hbase-client';
import type { HbaseConfig } from './config.ts';
import { toStoreError } from './errors.ts';

/** The client, and the names of the tables of this store. It maps errors to StoreErrors. */
export class Session {
  readonly config: HbaseConfig;
  readonly client: HBaseClient;

  constructor(config: HbaseConfig) {
    this.config = config;
    const { zookeeper, znode, user, connect, timeout } = config;
    this.client = new HBaseClient({
      ...{ zookeeper, znodeParent: znode, connectTimeoutMs: connect, timeoutMs: timeout },
      ...(user === null ? {} : { user }),
    });
  }

  /** Connects within the connect option, or rejects. */
  async open(): Promise<void> {
    try {
      await this.run(() => this.client.open());
    } catch (error) {
      this.client.close();
      throw error;
    }
  }

  close(): void {
    this.client.close();
  }

  table(name: string): Table {
    return this.client.table(this.nameOf(name));
  }

  /** The full name of a table in HBase. */
  nameOf(table: string): string {
    return `${this.config.namespace}:${table}`;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw toStoreError(error, this.config.place);
    }
  }
}

import { Admin } from './admin.ts';
import { Cluster } from './cluster.ts';
import { type HBaseClientOptions, readOptions } from './options.ts';
import { Table } from './table.ts';

/**
 * A client of one HBase cluster. Connections are opened when they are needed, and all calls share them. A client has no
 * global state.
 */
export class HBaseClient {
  /** Operations on tables, regions and namespaces. */
  readonly admin: Admin;
  readonly #cluster: Cluster;

  /** Does no I/O. @throws {TypeError} for an invalid option. */
  constructor(options: HBaseClientOptions) {
    this.#cluster = new Cluster(readOptions(options));
    this.admin = new Admin(this.#cluster);
  }

  /**
   * Finds the cluster and reads hbase:meta, within `connectTimeoutMs`. Other calls do not require it. It reports
   * early which server cannot be reached.
   */
  open(): Promise<void> {
    return this.#cluster.open();
  }

  table(name: string): Table {
    return new Table(this.#cluster, name);
  }

  /** Ends all connections and timers at once. Calls in progress fail. It can be called more than once. */
  close(): void {
    this.#cluster.close();
  }
}

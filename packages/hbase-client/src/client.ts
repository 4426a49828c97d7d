import { Admin } from './admin.ts';
import { Cluster } from './cluster.ts';
import { type HBaseClientOptions, readOptions } from './options.ts';
import { Table } from './table.ts';

/**
 * A client of one HBase cluster. Connections are made as they are needed and shared by all calls; nothing is kept
 * outside of it.
 */
export class HBaseClient {
  /** Tables, regions and namespaces. */
  readonly admin: Admin;
  readonly #cluster: Cluster;

  /** No I/O. @throws {TypeError} for an option that cannot be. */
  constructor(options: HBaseClientOptions) {
    this.#cluster = new Cluster(readOptions(options));
    this.admin = new Admin(this.#cluster);
  }

  /**
   * Finds the cluster and reads hbase:meta, within `connectTimeoutMs`. Not needed before other calls, but says early
   * and by name what is wrong.
   */
  open(): Promise<void> {
    return this.#cluster.open();
  }

  table(name: string): Table {
    return new Table(this.#cluster, name);
  }

  /** Ends all connections and timers at once; calls under way fail. Twice is fine. */
  close(): void {
    this.#cluster.close();
  }
}

import {
  type FamilyMessage,
  MASTER_METHODS,
  type ProcedureMethod,
  type TableMessage,
} from './admin-messages.ts';
import {
  flushTable,
  isEnabled,
  listRegions,
  listServers,
  mergeRegions,
  moveRegion,
  type RegionLocation,
  splitRegion,
} from './admin-regions.ts';
import { snapshotOf, takeSnapshot } from './admin-snapshots.ts';
import { type Bytes, toBytes } from './cells.ts';
import type { Cluster } from './cluster.ts';
import type { Method } from './codec.ts';
import { Deadline } from './deadline.ts';
import { HBaseError } from './errors.ts';
import { alteredFamily, type Family, type FamilyOptions, readAttributes, readFamily } from './family.ts';
import { count } from './options.ts';
import { carryOut } from './procedures.ts';
import { tableLabel } from './region.ts';
import type { ServerAddress } from './servers.ts';
import type { CallTimeout } from './table.ts';
import { readTableName, requireNamespace, shortTableName } from './table-name.ts';

const LONGEST_MS = 2 ** 31 - 1;

export interface CreateTableOptions extends CallTimeout {
  /** Column families by name. */
  readonly families: Readonly<Record<string, FamilyOptions>>;
  /** The start keys of all regions except the first: n keys create a table of n + 1 regions. */
  readonly splitKeys?: readonly Bytes[];
  /** Attributes of the table, with names that the caller chooses. HBase stores them and does not interpret them. */
  readonly attributes?: Readonly<Record<string, string>>;
}

/** The current description of a table. */
export interface TableDescription {
  readonly families: readonly Family[];
  /** All its attributes, including those of HBase. */
  readonly attributes: Readonly<Record<string, string>>;
}

/**
 * Operations on tables, regions and namespaces. A call resolves when the operation is complete, not when the master has
 * accepted it. When another master takes over, the call continues with that one.
 */
export class Admin {
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** @throws {HBaseError} NAMESPACE_EXISTS */
  async createNamespace(namespace: string, options?: CallTimeout): Promise<void> {
    requireNamespace(namespace);
    const request = { namespaceDescriptor: { name: Buffer.from(namespace) } };
    const deadline = this.#deadline(options);
    await this.#carryOut(`create namespace ${namespace}`, MASTER_METHODS.createNamespace, request, deadline);
  }

  /** Drops an empty namespace. @throws {HBaseError} NAMESPACE_NOT_FOUND */
  async dropNamespace(namespace: string, options?: CallTimeout): Promise<void> {
    requireNamespace(namespace);
    const request = { namespaceName: namespace };
    const deadline = this.#deadline(options);
    await this.#carryOut(`drop namespace ${namespace}`, MASTER_METHODS.deleteNamespace, request, deadline);
  }

  async namespaces(options?: CallTimeout): Promise<string[]> {
    return [...(await this.#ask(MASTER_METHODS.listNamespaces, {}, this.#deadline(options))).namespaceName];
  }

  /** Resolves when every region has a server. @throws {HBaseError} TABLE_EXISTS, NAMESPACE_NOT_FOUND */
  async createTable(table: string, options: CreateTableOptions): Promise<void> {
    const columnFamilies = Object.entries(options.families).map(([name, how]) => alteredFamily(name, how));
    if (columnFamilies.length === 0) throw new TypeError('a table has at least one column family');
    const attributes = Object.entries(options.attributes ?? {}).map(([name, value]) => ({
      first: Buffer.from(name),
      second: Buffer.from(value),
    }));
    const request = {
      tableSchema: { tableName: readTableName(table), attributes, columnFamilies },
      splitKeys: (options.splitKeys ?? []).map(toBytes),
    };
    await this.#carryOut(
      `create table ${table}`,
      MASTER_METHODS.createTable,
      request,
      this.#deadline(options),
    );
  }

  /** Names of tables, without the tables of HBase itself. */
  async tables(options: CallTimeout & { readonly namespace?: string } = {}): Promise<string[]> {
    const { namespace } = options;
    const request = namespace === undefined ? {} : { namespace };
    const { tableNames } = await this.#ask(MASTER_METHODS.tableNames, request, this.#deadline(options));
    return tableNames.map((name) => tableLabel(name.namespace.toString(), name.qualifier.toString()));
  }

  async hasTable(table: string, options?: CallTimeout): Promise<boolean> {
    try {
      await this.isEnabled(table, options);
      return true;
    } catch (error) {
      if (error instanceof HBaseError && error.code === 'TABLE_NOT_FOUND') return false;
      throw error;
    }
  }

  /** @throws {HBaseError} TABLE_NOT_FOUND */
  isEnabled(table: string, options?: CallTimeout): Promise<boolean> {
    return isEnabled(this.#cluster, table, this.#deadline(options));
  }

  /** @throws {HBaseError} TABLE_NOT_FOUND, TABLE_DISABLED */
  disableTable(table: string, options?: CallTimeout): Promise<void> {
    return this.#change('disable', table, MASTER_METHODS.disableTable, {}, this.#deadline(options));
  }

  /** @throws {HBaseError} TABLE_NOT_FOUND, TABLE_ENABLED */
  enableTable(table: string, options?: CallTimeout): Promise<void> {
    return this.#change('enable', table, MASTER_METHODS.enableTable, {}, this.#deadline(options));
  }

  /** Deletes all rows of a disabled table, and enables it. @throws {HBaseError} TABLE_NOT_FOUND, TABLE_ENABLED */
  truncateTable(
    table: string,
    options: CallTimeout & { /** Default true. */ readonly keepSplits?: boolean } = {},
  ): Promise<void> {
    const request = { preserveSplits: options.keepSplits ?? true };
    return this.#change('truncate', table, MASTER_METHODS.truncateTable, request, this.#deadline(options));
  }

  /** Drops a disabled table. @throws {HBaseError} TABLE_NOT_FOUND, TABLE_ENABLED */
  dropTable(table: string, options?: CallTimeout): Promise<void> {
    return this.#change('drop', table, MASTER_METHODS.deleteTable, {}, this.#deadline(options));
  }

  /** @throws {HBaseError} TABLE_NOT_FOUND */
  async describe(table: string, options?: CallTimeout): Promise<TableDescription> {
    const { columnFamilies, attributes } = await this.#describe(table, this.#deadline(options));
    return { families: columnFamilies.map(readFamily), attributes: readAttributes(attributes) };
  }

  /** @throws {HBaseError} TABLE_NOT_FOUND */
  async families(table: string, options?: CallTimeout): Promise<Family[]> {
    return (await this.#describe(table, this.#deadline(options))).columnFamilies.map(readFamily);
  }

  /** @throws {HBaseError} TABLE_NOT_FOUND, or REJECTED when the family exists. */
  addFamily(table: string, family: string, how: FamilyOptions, options?: CallTimeout): Promise<void> {
    const request = { columnFamilies: alteredFamily(family, how) };
    const verb = `add family ${family} to`;
    return this.#change(verb, table, MASTER_METHODS.addColumn, request, this.#deadline(options));
  }

  /** Changes the options in `how`, and keeps the others. @throws {HBaseError} TABLE_NOT_FOUND, FAMILY_NOT_FOUND */
  async alterFamily(table: string, family: string, how: FamilyOptions, options?: CallTimeout): Promise<void> {
    const deadline = this.#deadline(options);
    const request = {
      columnFamilies: alteredFamily(family, how, await this.#family(table, family, deadline)),
    };
    await this.#change(`alter family ${family} of`, table, MASTER_METHODS.modifyColumn, request, deadline);
  }

  /** Drops a column family and its cells. @throws {HBaseError} TABLE_NOT_FOUND, FAMILY_NOT_FOUND */
  async dropFamily(table: string, family: string, options?: CallTimeout): Promise<void> {
    const deadline = this.#deadline(options);
    const request = { columnName: (await this.#family(table, family, deadline)).name };
    await this.#change(`drop family ${family} of`, table, MASTER_METHODS.deleteColumn, request, deadline);
  }

  /** Regions in key order, read from hbase:meta. @throws {HBaseError} TABLE_NOT_FOUND */
  regions(table: string, options?: CallTimeout): Promise<RegionLocation[]> {
    return listRegions(this.#cluster, table, this.#deadline(options));
  }

  /** The region servers that are running. */
  async servers(options?: CallTimeout): Promise<ServerAddress[]> {
    const servers = await listServers(this.#cluster, this.#deadline(options));
    return servers.map(({ hostName, port }) => ({ host: hostName, port }));
  }

  /** Splits a region in two, at a key or in the middle of its data. */
  splitRegion(region: RegionLocation, at: Bytes | null = null, options?: CallTimeout): Promise<void> {
    return splitRegion(this.#cluster, region, at, this.#deadline(options));
  }

  /** Merges adjacent regions into one. */
  mergeRegions(regions: readonly RegionLocation[], options?: CallTimeout): Promise<void> {
    return mergeRegions(this.#cluster, regions, this.#deadline(options));
  }

  /** Moves a region to one of `servers()`, or to a server that the master selects. */
  moveRegion(
    region: RegionLocation,
    server: ServerAddress | null = null,
    options?: CallTimeout,
  ): Promise<void> {
    return moveRegion(this.#cluster, region, server, this.#deadline(options));
  }

  /** Runs the balancer now. Resolves to false if it did not run: it is off, or regions are moving. */
  async balance(options?: CallTimeout): Promise<boolean> {
    return (await this.#ask(MASTER_METHODS.balance, {}, this.#deadline(options))).balancerRan;
  }

  /** Turns the balancer on or off after a run in progress. Resolves to the previous state. */
  async setBalancer(on: boolean, options?: CallTimeout): Promise<boolean> {
    const request = { on, synchronous: true };
    return (await this.#ask(MASTER_METHODS.setBalancer, request, this.#deadline(options))).prevBalanceValue;
  }

  /** Writes the memory of a table's regions to files. @throws {HBaseError} TABLE_NOT_FOUND */
  flush(table: string, options?: CallTimeout): Promise<void> {
    return flushTable(this.#cluster, table, this.#deadline(options));
  }

  /**
   * Makes a snapshot of a table: writes its memory to files, and keeps the files that it has. Rows that are written
   * meanwhile may be in it.
   *
   * @throws {HBaseError} TABLE_NOT_FOUND, or REJECTED when a snapshot has this name
   */
  snapshot(name: string, table: string, options?: CallTimeout): Promise<void> {
    return takeSnapshot(this.#cluster, snapshotOf(name, table), this.#deadline(options));
  }

  /**
   * Gives a disabled table the rows, regions and families of a snapshot. If the table does not exist, it is created, and
   * is enabled.
   *
   * @throws {HBaseError} TABLE_ENABLED, or REJECTED when there is no snapshot of this name
   */
  async restoreSnapshot(name: string, table: string, options?: CallTimeout): Promise<void> {
    const request = { snapshot: snapshotOf(name, table) };
    const deadline = this.#deadline(options);
    // The master's own refusal looks like a fault that a retry may overcome.
    if ((await this.hasTable(table, options)) && (await isEnabled(this.#cluster, table, deadline))) {
      throw new HBaseError('TABLE_ENABLED', `table ${table} is enabled`, { hint: 'disable the table first' });
    }
    const what = `restore snapshot ${name} as table ${table}`;
    await this.#carryOut(what, MASTER_METHODS.restoreSnapshot, request, deadline);
    this.#cluster.locations.forgetTable(shortTableName(table));
  }

  /** @throws {HBaseError} REJECTED when there is no snapshot of this name */
  async dropSnapshot(name: string, options?: CallTimeout): Promise<void> {
    const request = { snapshot: { name } };
    await this.#cluster.callMaster(MASTER_METHODS.deleteSnapshot, request, this.#deadline(options), true);
  }

  /** Names of complete snapshots. */
  async snapshots(options?: CallTimeout): Promise<string[]> {
    const { snapshots } = await this.#ask(MASTER_METHODS.completedSnapshots, {}, this.#deadline(options));
    return snapshots.map(({ name }) => name);
  }

  async #describe(table: string, deadline: Deadline): Promise<TableMessage> {
    const request = { tableNames: [readTableName(table)] };
    const { tableSchema } = await this.#ask(MASTER_METHODS.tableDescriptors, request, deadline);
    const [found] = tableSchema;
    if (found !== undefined) return found;
    throw new HBaseError('TABLE_NOT_FOUND', `there is no table ${table}`, { hint: 'create the table' });
  }

  async #family(table: string, family: string, deadline: Deadline): Promise<FamilyMessage> {
    const { columnFamilies } = await this.#describe(table, deadline);
    const found = columnFamilies.find(({ name }) => name.toString() === family);
    if (found !== undefined) return found;
    const hint = `it has ${columnFamilies.map(({ name }) => name.toString()).join(', ')}`;
    throw new HBaseError('FAMILY_NOT_FOUND', `table ${table} has no column family ${family}`, { hint });
  }

  async #change<Request>(
    verb: string,
    table: string,
    method: ProcedureMethod<Request & { readonly tableName: ReturnType<typeof readTableName> }>,
    request: Request,
    deadline: Deadline,
  ): Promise<void> {
    const tableName = readTableName(table);
    await this.#carryOut(`${verb} table ${table}`, method, { ...request, tableName }, deadline);
    this.#cluster.locations.forgetTable(shortTableName(table));
  }

  #carryOut<Request>(
    what: string,
    method: ProcedureMethod<Request>,
    request: Request,
    deadline: Deadline,
  ): Promise<void> {
    return carryOut(this.#cluster, what, method, request, deadline);
  }

  /** For calls that change nothing, so that they can be repeated. */
  #ask<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    deadline: Deadline,
  ): Promise<Response> {
    return this.#cluster.callMaster(method, request, deadline, false);
  }

  #deadline({ timeoutMs }: CallTimeout = {}): Deadline {
    if (timeoutMs === undefined) return Deadline.after(this.#cluster.settings.timeoutMs);
    return Deadline.after(count('timeoutMs', timeoutMs, LONGEST_MS));
  }
}

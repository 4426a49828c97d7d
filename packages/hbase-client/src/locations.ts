import { EMPTY } from './cells.ts';
import { type Deadline, settled } from './deadline.ts';
import { HBaseError } from './errors.ts';
import { TABLE_STATES, TableState } from './messages.ts';
import { META_TABLE, type MetaRow, metaRegion, type Region, readMetaRow } from './region.ts';
import { RegionIndex } from './region-index.ts';
import type { Registry } from './registry.ts';
import type { Row } from './row.ts';

/** Scans hbase:meta. It retries failures itself. */
export type ScanMeta = (
  range: {
    readonly start: Buffer;
    readonly stop: Buffer;
    readonly reversed: boolean;
    readonly limit: number;
  },
  deadline: Deadline,
) => AsyncIterable<Row>;

/** `at`: the region that contains the row. `before`: the region with the rows before it, or the last if it is empty. */
export type Side = 'at' | 'before';

/** A look-up also reads regions before the requested one. The number is hbase.client.locate.prefetch.limit. */
const PREFETCH = 10;
/** Ids of regions are milliseconds. These sort after and before all ids of one start key. */
const LAST_ID = '99999999999999';
const FIRST_ID = '00000000000000';

/** A cache of the locations of regions. A caller removes a location after a failure. */
export class Locations {
  readonly #registry: Registry;
  readonly #scanMeta: ScanMeta;
  readonly #tables = new Map<string, RegionIndex>();
  /** The current look-up of each table. The next one waits for it, because it usually finds the same regions. */
  readonly #lookUps = new Map<string, Promise<unknown>>();
  #meta: Region | null = null;
  #findingMeta: Promise<Region> | null = null;

  constructor(registry: Registry, scanMeta: ScanMeta) {
    this.#registry = registry;
    this.#scanMeta = scanMeta;
  }

  /**
   * @throws {HBaseError} TABLE_NOT_FOUND or TABLE_DISABLED, which are final, or UNAVAILABLE while no server has the
   * region.
   */
  async locate(table: string, row: Buffer, side: Side, deadline: Deadline): Promise<Region> {
    if (table === META_TABLE) return this.#locateMeta(deadline);
    const known = this.#tables.get(table)?.find(row, side);
    if (known !== undefined) return known;
    for (let other = this.#lookUps.get(table); other !== undefined; other = this.#lookUps.get(table)) {
      // The other look-up has another deadline.
      if (!(await settled(other, deadline))) throw tooLate(table);
      const found = this.#tables.get(table)?.find(row, side);
      if (found !== undefined) return found;
    }
    const lookUp = this.#lookUp(table, row, side, deadline);
    this.#lookUps.set(table, lookUp);
    try {
      return await lookUp;
    } finally {
      this.#lookUps.delete(table);
    }
  }

  /** The region that contains a row, if its location is cached. */
  known(table: string, row: Buffer): Region | undefined {
    return table === META_TABLE ? (this.#meta ?? undefined) : this.#tables.get(table)?.find(row, 'at');
  }

  /** All regions of a table in key order, read from hbase:meta. `region` is null if no server has the region. */
  async all(table: string, deadline: Deadline): Promise<MetaRow[]> {
    if (table === META_TABLE) {
      const region = await this.#locateMeta(deadline);
      return [{ ...region, isOffline: false, replica: 0, state: 'OPEN', region }];
    }
    const rows: MetaRow[] = [];
    // A table name has no space, so this key sorts after all regions of the table and before those of the next one.
    const [start, stop] = [metaKey(table, EMPTY, ''), metaKey(`${table} `, EMPTY, '')];
    for await (const row of this.#scanMeta({ start, stop, reversed: false, limit: Infinity }, deadline)) {
      const found = readMetaRow(row);
      if (found === null || found.table !== table || found.isOffline || found.replica !== 0) continue;
      rows.push(found);
      this.#remember(found);
    }
    return rows;
  }

  /** Removes a region, so that the next call looks it up again. */
  forget(region: Region): void {
    if (region.table === META_TABLE) {
      if (this.#meta === region) this.#meta = null;
      return;
    }
    this.#tables.get(region.table)?.delete(region);
  }

  /** Removes all regions of a table that was dropped, truncated or disabled. */
  forgetTable(table: string): void {
    this.#tables.delete(table);
  }

  async #locateMeta(deadline: Deadline): Promise<Region> {
    if (this.#meta !== null) return this.#meta;
    this.#findingMeta ??= this.#registry
      .metaServer(deadline)
      .then((server) => {
        this.#meta = metaRegion(server);
        return this.#meta;
      })
      .finally(() => {
        this.#findingMeta = null;
      });
    const finding = this.#findingMeta;
    if (!(await settled(finding, deadline))) throw tooLate(META_TABLE);
    return finding;
  }

  async #lookUp(table: string, row: Buffer, side: Side, deadline: Deadline): Promise<Region> {
    const start = lookUpKey(table, row, side);
    const range = { start, stop: metaKey(table, EMPTY, ''), reversed: true, limit: PREFETCH };
    let first: MetaRow | null = null;
    for await (const metaRow of this.#scanMeta(range, deadline)) {
      const found = readMetaRow(metaRow);
      if (found === null || found.table !== table || found.replica !== 0) continue;
      first ??= found;
      this.#remember(found);
    }
    if (first === null) {
      throw new HBaseError('TABLE_NOT_FOUND', `there is no table ${table}`, { hint: 'create the table' });
    }
    const region = this.#tables.get(table)?.find(row, side);
    if (region !== undefined) return region;
    if (!isOpen(first)) await this.#checkEnabled(table, deadline);
    const why =
      first.isOffline || !covers(first, row, side) ? 'is splitting or merging there' : `is ${first.state}`;
    throw new HBaseError('UNAVAILABLE', `no server has the region of ${table} for this row now: it ${why}`, {
      remedy: 'wait',
    });
  }

  async #checkEnabled(table: string, deadline: Deadline): Promise<void> {
    const key = Buffer.from(table);
    const range = { start: key, stop: Buffer.concat([key, Buffer.from([0])]), reversed: false, limit: 1 };
    for await (const row of this.#scanMeta(range, deadline)) {
      const state = row.value('table', 'state');
      if (!row.key.equals(key) || state === undefined) return;
      const known = TableState.decode(state).state;
      if (known !== TABLE_STATES.disabled && known !== TABLE_STATES.disabling) return;
      throw new HBaseError('TABLE_DISABLED', `table ${table} is disabled`, { hint: 'enable the table' });
    }
  }

  #remember(found: MetaRow): void {
    const { table, region, isOffline, replica } = found;
    if (region === null || isOffline || replica !== 0 || !isOpen(found)) return;
    let index = this.#tables.get(table);
    if (index === undefined) {
      index = new RegionIndex();
      this.#tables.set(table, index);
    }
    index.add(region);
  }
}

function tooLate(table: string): HBaseError {
  return new HBaseError('TIMEOUT', `the region of ${table} was not found in time`, { remedy: 'wait' });
}

function covers({ start, end }: MetaRow, row: Buffer, side: Side): boolean {
  if (side === 'before') return end.length === 0 || (row.length > 0 && row.compare(end) <= 0);
  return row.compare(start) >= 0 && (end.length === 0 || row.compare(end) < 0);
}

/**
 * The key from which the regions of a table are read backwards. The key of a region in hbase:meta is
 * `table,start,id.encoded.`, and HBase compares the three parts one by one.
 */
function lookUpKey(table: string, row: Buffer, side: Side): Buffer {
  if (side === 'at') return metaKey(table, row, LAST_ID);
  if (row.length > 0) return metaKey(table, row, FIRST_ID);
  return Buffer.concat([Buffer.from(table), Buffer.from([0])]);
}

function isOpen({ state }: MetaRow): boolean {
  return state === '' || state === 'OPEN';
}

function metaKey(table: string, row: Buffer, id: string): Buffer {
  return Buffer.concat([Buffer.from(`${table},`), row, Buffer.from(`,${id}`)]);
}

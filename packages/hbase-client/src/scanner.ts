import type { Caller } from './caller.ts';
import { type Cell, CellReader } from './cells.ts';
import type { Int64 } from './codec.ts';
import type { Deadline } from './deadline.ts';
import { HBaseError } from './errors.ts';
import { METHODS, type ScanMessage, type ScanRequest, type ScanResponse } from './messages.ts';
import { type Region, specify } from './region.ts';
import { Retry } from './retry.ts';
import { Row } from './row.ts';

/** The range and the options of a scan. Keys are bytes. */
export interface ScanPlan {
  readonly table: string;
  /** The first key. Empty: the first row, or the last row if reversed. */
  readonly start: Buffer;
  readonly includeStart: boolean;
  /** The last key. Empty: the other end of the table. */
  readonly stop: Buffer;
  readonly includeStop: boolean;
  readonly reversed: boolean;
  /** The most rows. Infinity: all. */
  readonly limit: number;
  /** The most rows of one answer. Infinity: as many as fit its size. */
  readonly pageRows: number;
  readonly message: Omit<
    ScanMessage,
    'startRow' | 'stopRow' | 'includeStartRow' | 'includeStopRow' | 'reversed'
  >;
}

/** An open scanner on a region server. */
interface OpenScanner {
  readonly region: Region;
  readonly id: Int64;
  /** Milliseconds that the server keeps it between calls. */
  readonly ttl: number;
  nextSeq: number;
}

const ALL_ROWS = 0x7fff_ffff;
/** The most renewals for one page, one per third of the lease. After these, the next page needs a new scanner. */
const MAX_RENEWALS = 60;
const CLOSE_MS = 2000;

/**
 * Reads the rows of a key range, page by page, over any number of regions. Each region has a scanner at its server. If
 * the scanner is lost (the region moved or was split, the server crashed, the lease ended), another one continues after
 * the last complete row. So each row that exists during the whole scan is read exactly once. A scan is not a snapshot.
 */
export class Scanner {
  readonly #cluster: Caller;
  readonly #plan: ScanPlan;
  /** The next row is at or after this one. */
  #place: { readonly row: Buffer; readonly inclusive: boolean };
  #open: OpenScanner | null = null;
  /** The cells of an incomplete row. */
  #partial: Cell[] = [];
  #left: number;
  #isDone = false;
  #lease: NodeJS.Timeout | null = null;
  #renewal: Promise<void> | null = null;
  readonly #stopRenewing = () => this.#clearLease();

  constructor(cluster: Caller, plan: ScanPlan) {
    this.#cluster = cluster;
    this.#plan = plan;
    this.#place = { row: plan.start, inclusive: plan.includeStart };
    this.#left = plan.limit;
  }

  /** The next rows, or none at the end. An answer without rows, as with a selective filter, extends the deadline. */
  async next(timeoutMs: number, overall?: Deadline): Promise<Row[]> {
    this.#clearLease();
    await this.#renewal;
    const { pauses } = this.#cluster;
    let deadline = this.#cluster.deadline(timeoutMs, overall);
    let retry = new Retry(deadline, pauses, false);
    while (!this.#isDone) {
      let region: Region | null = this.#open?.region ?? null;
      try {
        region ??= await this.#locate(deadline);
        const rows = await this.#step(region, deadline);
        if (rows.length > 0) {
          this.#keepLease();
          return rows;
        }
        deadline = this.#cluster.deadline(timeoutMs, overall);
        retry = new Retry(deadline, pauses, false);
      } catch (error) {
        this.#open = null;
        this.#partial = [];
        if (region !== null) this.#cluster.lost(region, error);
        await retry.afterFailure(error);
      }
    }
    return [];
  }

  /** Closes the scanner at the server. Does not wait for the answer. */
  close(): void {
    this.#clearLease();
    this.#isDone = true;
    const open = this.#open;
    this.#open = null;
    if (open === null || this.#cluster.pauses.signal.aborted) return;
    const request = { scannerId: open.id, numberOfRows: 0, closeScanner: true };
    const deadline = this.#cluster.deadline(CLOSE_MS);
    // A scanner that is not closed ends with its lease.
    this.#cluster.servers.call(open.region.server, METHODS.scan, request, { deadline }).catch(() => {});
  }

  #locate(deadline: Deadline): Promise<Region> {
    const { table, reversed } = this.#plan;
    const { row, inclusive } = this.#place;
    const side = reversed && (row.length === 0 || !inclusive) ? 'before' : 'at';
    return this.#cluster.locations.locate(table, row, side, deadline);
  }

  async #step(region: Region, deadline: Deadline): Promise<Row[]> {
    const request = this.#open === null ? this.#openRequest(region) : this.#nextRequest(this.#open);
    const answer = await this.#cluster.callRegion(region, METHODS.scan, request, { deadline });
    const { message } = answer;
    const rows = this.#read(message, new CellReader(answer.cells));
    const isRegionDone = !message.moreResultsInRegion;
    if ((isRegionDone || !message.moreResults) && this.#partial.length > 0) {
      rows.push(new Row(this.#partial));
      this.#partial = [];
    }
    this.#advance(rows);
    if (!message.moreResults || this.#left <= 0) {
      this.#isDone = true;
      // The server has closed the scanner, unless the region has more rows than were requested.
      if (message.moreResults && !isRegionDone) this.#retain(region, message);
      this.close();
    } else if (isRegionDone) {
      this.#open = null;
      this.#leave(region);
    } else {
      this.#retain(region, message);
    }
    return rows;
  }

  #openRequest(region: Region): ScanRequest {
    const { stop, includeStop, reversed, message } = this.#plan;
    const { row, inclusive } = this.#place;
    return {
      region: specify(region),
      scan: {
        ...message,
        startRow: row,
        includeStartRow: row.length === 0 || inclusive,
        stopRow: stop,
        includeStopRow: includeStop,
        reversed,
      },
      ...this.#page(),
    };
  }

  #nextRequest({ id, nextSeq }: OpenScanner): ScanRequest {
    return { scannerId: id, nextCallSeq: nextSeq, ...this.#page() };
  }

  #page(): ScanRequest {
    return {
      numberOfRows: Math.min(this.#plan.pageRows, this.#left, ALL_ROWS),
      clientHandlesPartials: true,
      clientHandlesHeartbeats: true,
      ...(this.#left < ALL_ROWS ? { limitOfRows: this.#left } : {}),
    };
  }

  #retain(region: Region, { scannerId, ttl }: ScanResponse): void {
    // The call that opens the scanner has no number.
    if (this.#open === null) this.#open = { region, id: scannerId, ttl, nextSeq: 0 };
    else this.#open.nextSeq += 1;
  }

  /** The complete rows of an answer. Cells of an incomplete row are kept. */
  #read({ cellsPerResult, partialFlagPerResult, results }: ScanResponse, cells: CellReader): Row[] {
    if (results.length > 0) {
      throw new HBaseError('PROTOCOL', 'the server sends cells without the requested codec');
    }
    const rows: Row[] = [];
    for (let index = 0; index < cellsPerResult.length; index += 1) {
      const found = cells.take(cellsPerResult[index]!);
      if (found.length === 0) continue;
      // A partial result that ends exactly at the end of its row is followed by the next row.
      if (this.#partial.length > 0 && !this.#partial[0]!.row.equals(found[0]!.row)) {
        rows.push(new Row(this.#partial));
        this.#partial = [];
      }
      const isPartial = partialFlagPerResult[index] ?? false;
      if (this.#partial.length > 0) this.#partial.push(...found);
      else if (isPartial) this.#partial = found;
      else rows.push(new Row(found));
      if (!isPartial && this.#partial.length > 0) {
        rows.push(new Row(this.#partial));
        this.#partial = [];
      }
    }
    return rows;
  }

  #advance(rows: readonly Row[]): void {
    this.#left -= rows.length;
    const last = rows.at(-1);
    if (last !== undefined) this.#place = { row: Buffer.from(last.key), inclusive: false };
  }

  /** Continues with the next region, or ends after the last one. */
  #leave({ start, end }: Region): void {
    const { stop, includeStop, reversed } = this.#plan;
    const border = reversed ? start : end;
    if (border.length === 0) {
      this.#isDone = true;
      return;
    }
    if (stop.length > 0) {
      const beyond = border.compare(stop);
      // In ascending order, the border is the first row of the next region. In descending order, it is the first row of
      // this region.
      if (reversed ? beyond <= 0 : beyond > 0 || (beyond === 0 && !includeStop)) {
        this.#isDone = true;
        return;
      }
    }
    this.#place = { row: border, inclusive: !reversed };
  }

  /** Renews the lease of the scanner while the consumer processes a page. */
  #keepLease(): void {
    const open = this.#open;
    if (open === null || open.ttl <= 0) return;
    let renewals = 0;
    this.#cluster.pauses.signal.addEventListener('abort', this.#stopRenewing);
    this.#lease = setInterval(() => {
      renewals += 1;
      if (renewals > MAX_RENEWALS) return this.#clearLease();
      const request = { scannerId: open.id, numberOfRows: 0, renew: true };
      const deadline = this.#cluster.deadline(open.ttl / 3);
      this.#renewal = this.#cluster.servers
        .call(open.region.server, METHODS.scan, request, { deadline })
        // An error is reported by the request for the next page.
        .then(
          () => {},
          () => {},
        );
    }, open.ttl / 3);
    this.#lease.unref();
  }

  #clearLease(): void {
    if (this.#lease === null) return;
    clearInterval(this.#lease);
    this.#lease = null;
    this.#cluster.pauses.signal.removeEventListener('abort', this.#stopRenewing);
  }
}

/** Yields rows one by one. Closes the scanner at the end of the loop, also after a `break`. */
export async function* scanRows(
  cluster: Caller,
  plan: ScanPlan,
  timeoutMs: number,
  overall?: Deadline,
): AsyncGenerator<Row> {
  if (plan.limit <= 0) return;
  const scanner = new Scanner(cluster, plan);
  try {
    for (let rows = await scanner.next(timeoutMs, overall); rows.length > 0; ) {
      yield* rows;
      rows = await scanner.next(timeoutMs, overall);
    }
  } finally {
    scanner.close();
  }
}

/** A plan for a range of hbase:meta, which has few rows. */
export function metaPlan(range: {
  readonly start: Buffer;
  readonly stop: Buffer;
  readonly reversed: boolean;
  readonly limit: number;
}): Omit<ScanPlan, 'table'> {
  return {
    ...range,
    includeStart: true,
    includeStop: range.reversed,
    pageRows: 1000,
    message: { column: [], maxResultSize: 2 * 1024 * 1024, cacheBlocks: true },
  };
}

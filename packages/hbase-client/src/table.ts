import { runBatch } from './batch.ts';
import type { Bytes, Cell } from './cells.ts';
import { EMPTY, toBytes } from './cells.ts';
import type { Cluster } from './cluster.ts';
import { Deadline } from './deadline.ts';
import { HBaseError } from './errors.ts';
import {
  type Condition,
  type Delete,
  type Durability,
  type Get,
  type Mutation,
  type NewCell,
  type Operation,
  type Put,
  prepare,
  type ReadOptions,
  readMessage,
  rowKey,
} from './operations.ts';
import { count } from './options.ts';
import { type Row, toRow } from './row.ts';
import { scanRows } from './scanner.ts';
import { checkAndMutateRow, conditionMessage, getRow, mutateRow, rowExists } from './single.ts';

export interface CallTimeout {
  /** For the whole call, with all its tries. Default: the client's. */
  readonly timeoutMs?: number;
}

export interface WriteOptions extends CallTimeout {
  readonly durability?: Durability;
}

export interface ScanOptions extends ReadOptions {
  /** The first row. Default: the first of the table, or the last if reversed. */
  readonly start?: Bytes;
  /** Default true. */
  readonly includeStart?: boolean;
  /** The last row. Default: the other end of the table. */
  readonly stop?: Bytes;
  /** Default false. */
  readonly includeStop?: boolean;
  /** From the last row to the first. */
  readonly reversed?: boolean;
  /** The most rows. Default: all. */
  readonly limit?: number;
  /** The most rows of one answer. Default: as many as fit into `pageBytes`. */
  readonly pageRows?: number;
  /** The approximate largest size of one answer, in bytes. Default 2 MiB. */
  readonly pageBytes?: number;
  /** For each page: the longest time without an answer from the servers. Default: the client's. */
  readonly timeoutMs?: number;
}

export type DeleteOptions = Omit<Delete, 'type' | 'row'> & CallTimeout;

const PAGE_BYTES = 2 * 1024 * 1024;
const MAX_COUNT = 0x7fff_ffff;

/** The rows of a table. The constructor does no I/O and does not check that the table exists. */
export class Table {
  /** `name`, or `namespace:name`. */
  readonly name: string;
  readonly #cluster: Cluster;

  constructor(cluster: Cluster, name: string) {
    if (!/^([A-Za-z0-9_]+:)?[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(name)) {
      throw new TypeError(`a table is called name or namespace:name, not ${JSON.stringify(name)}`);
    }
    this.#cluster = cluster;
    this.name = name.replace(/^default:/, '');
  }

  /** Resolves to null if the row does not exist or has no matching cells. */
  async get(row: Bytes, options: ReadOptions & CallTimeout = {}): Promise<Row | null> {
    const prepared = prepare({ ...options, type: 'get', row });
    return toRow(await getRow(this.#cluster, this.name, prepared, this.#deadline(options)));
  }

  async exists(row: Bytes, options: ReadOptions & CallTimeout = {}): Promise<boolean> {
    const prepared = prepare({ ...options, type: 'get', row });
    return rowExists(this.#cluster, this.name, prepared, this.#deadline(options));
  }

  /** Reads many rows. The result has the order of `rows`, with null for a missing row. Rejects if a read fails. */
  async getAll(
    rows: readonly (Bytes | Omit<Get, 'type'>)[],
    options: CallTimeout = {},
  ): Promise<(Row | null)[]> {
    const gets = rows.map((row): Get => (isBytes(row) ? { type: 'get', row } : { ...row, type: 'get' }));
    const answers = await this.batch(gets, options);
    return whole(answers, this.name);
  }

  async put(row: Bytes, cells: readonly NewCell[], options: WriteOptions = {}): Promise<void> {
    await this.#mutate({ type: 'put', row, cells, ...durability(options) }, options);
  }

  /** Deletes the whole row, or the given columns. */
  async delete(row: Bytes, options: DeleteOptions = {}): Promise<void> {
    const { timeoutMs: _, ...rest } = options;
    await this.#mutate({ type: 'delete', row, ...rest }, options);
  }

  /** Puts and deletes on any rows, not atomic as a whole. Rejects if one fails, with all failures in `failures`. */
  async mutateAll(mutations: readonly (Put | Delete)[], options: CallTimeout = {}): Promise<void> {
    whole(await this.batch(mutations, options), this.name);
  }

  /**
   * Any operations on any rows, in calls to all servers at the same time. Operations on one row are applied in their
   * order, unless one must be retried. Resolves to an answer per operation: a row, null for no row, or an error.
   */
  async batch(
    operations: readonly Operation[],
    options: CallTimeout = {},
  ): Promise<(Row | null | HBaseError)[]> {
    const prepared = operations.map(prepare);
    const deadline = this.#deadline(options);
    const answers = await runBatch(this.#cluster, this.name, prepared, this.#cluster.nonces, deadline);
    return answers.map((answer) => (answer instanceof HBaseError ? answer : toRow(answer)));
  }

  /** Adds to a column that contains a long (8 bytes). An absent column is 0. Resolves to the sum. */
  async increment(
    row: Bytes,
    family: Bytes,
    qualifier: Bytes,
    amount: number | bigint,
    options: WriteOptions = {},
  ): Promise<bigint> {
    const amounts = [{ family, qualifier, amount }];
    const [cell] = await this.#mutate({ type: 'increment', row, amounts, ...durability(options) }, options);
    if (cell === undefined) throw new HBaseError('PROTOCOL', `no sum came back from ${this.name}`);
    return cell.value.readBigInt64BE();
  }

  /** Appends to the value of a column. Resolves to the new value. */
  async append(
    row: Bytes,
    family: Bytes,
    qualifier: Bytes,
    value: Bytes,
    options: WriteOptions = {},
  ): Promise<Buffer> {
    const cells = [{ family, qualifier, value }];
    const [cell] = await this.#mutate({ type: 'append', row, cells, ...durability(options) }, options);
    if (cell === undefined) throw new HBaseError('PROTOCOL', `no value came back from ${this.name}`);
    return cell.value;
  }

  /**
   * Puts and deletes on one row, atomically and only if the condition is true for it. Resolves to whether it was true.
   * A call without an answer is not retried: it is OUTCOME_UNKNOWN.
   */
  async checkAndMutate(
    row: Bytes,
    condition: Condition,
    mutations: Mutations | readonly Mutations[],
    options: CallTimeout = {},
  ): Promise<boolean> {
    const list = Array.isArray(mutations) ? (mutations as readonly Mutations[]) : [mutations as Mutations];
    if (list.length === 0) throw new TypeError('checkAndMutate has nothing to do');
    const key = rowKey(row);
    const prepared = list.map((mutation) => prepare({ ...mutation, row: key } as Mutation));
    const message = conditionMessage(key, condition);
    return checkAndMutateRow(this.#cluster, this.name, message, prepared, this.#deadline(options));
  }

  /**
   * Rows in ascending or descending key order. A page is read when the loop needs it. A `break` ends the scan. A scan
   * is not a snapshot: it can contain rows that are written during it. Rows that exist all the time occur once each.
   */
  scan(options: ScanOptions = {}): AsyncGenerator<Row, void, undefined> {
    const { start = EMPTY, includeStart = true, stop = EMPTY, includeStop = false } = options;
    const { reversed = false, limit = Infinity, pageRows = Infinity, pageBytes = PAGE_BYTES } = options;
    if (limit !== Infinity && !(Number.isInteger(limit) && limit >= 0)) {
      throw new TypeError(`limit is a whole number of rows, not ${limit}`);
    }
    const plan = {
      table: this.name,
      ...{ start: toBytes(start), includeStart, stop: toBytes(stop), includeStop, reversed, limit },
      pageRows: pageRows === Infinity ? pageRows : count('pageRows', pageRows, MAX_COUNT),
      message: { ...readMessage(options), maxResultSize: count('pageBytes', pageBytes, MAX_COUNT) },
    };
    return scanRows(this.#cluster, plan, this.#timeout(options));
  }

  #mutate(mutation: Mutation, options: CallTimeout): Promise<Cell[]> {
    const deadline = this.#deadline(options);
    return mutateRow(this.#cluster, this.name, prepare(mutation), this.#cluster.nonces, deadline);
  }

  #timeout({ timeoutMs }: CallTimeout): number {
    if (timeoutMs === undefined) return this.#cluster.settings.timeoutMs;
    return count('timeoutMs', timeoutMs, MAX_COUNT);
  }

  #deadline(options: CallTimeout): Deadline {
    return Deadline.after(this.#timeout(options));
  }
}

/** A put or delete on the row that `checkAndMutate` names. */
export type Mutations = Omit<Put, 'row'> | Omit<Delete, 'row'>;

function isBytes(row: Bytes | object): row is Bytes {
  return typeof row === 'string' || row instanceof Uint8Array;
}

function durability({ durability }: WriteOptions): { readonly durability?: Durability } {
  return durability === undefined ? {} : { durability };
}

/** @throws {HBaseError} the error of one failed operation, with all failures in `failures`. */
function whole(answers: readonly (Row | null | HBaseError)[], table: string): (Row | null)[] {
  const failures = answers.flatMap((error, index) => (error instanceof HBaseError ? [{ index, error }] : []));
  if (failures.length === 0) return answers as (Row | null)[];
  // An unknown outcome takes precedence, because the caller must handle it.
  const { error } = failures.find(({ error: { code } }) => code === 'OUTCOME_UNKNOWN') ?? failures[0]!;
  const { code, host, region, hint, exception, remedy } = error;
  const message = `${failures.length} of ${answers.length} operations on ${table} failed: ${error.message}`;
  throw new HBaseError(code, message, {
    ...{ cause: error, failures, remedy },
    maybeApplied: failures.some((failure) => failure.error.maybeApplied),
    ...(host === null ? {} : { host }),
    ...(region === null ? {} : { region }),
    ...(hint === null ? {} : { hint }),
    ...(exception === null ? {} : { exception }),
  });
}

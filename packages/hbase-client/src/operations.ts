import { type Bytes, CELL_TYPES, EMPTY, type RawCell, toBytes } from './cells.ts';
import { fromBigInt } from './codec.ts';
import type { Comparison, Filter } from './filters.ts';
import {
  type ColumnMessage,
  DURABILITIES,
  type GetMessage,
  MUTATION_TYPES,
  type MutationMessage,
} from './messages.ts';

/** A column family, or some of its columns. */
export interface Columns {
  readonly family: Bytes;
  readonly qualifiers?: readonly Bytes[];
}

/** Restricts what a read returns. */
export interface ReadOptions {
  /** Default: all families. */
  readonly columns?: readonly Columns[];
  readonly filter?: Filter;
  /** Cells with timestamps in [from, to). */
  readonly timeRange?: TimeRange;
  /** Versions per column, newest first. Default 1. */
  readonly maxVersions?: number;
  /** False: the server does not cache the blocks. Use it for data that is read once. Default true. */
  readonly cacheBlocks?: boolean;
}

export interface TimeRange {
  readonly from: number;
  readonly to: number;
}

export interface Get extends ReadOptions {
  readonly type: 'get';
  readonly row: Bytes;
}

export interface NewCell {
  readonly family: Bytes;
  readonly qualifier: Bytes;
  readonly value: Bytes;
  /** Milliseconds since the epoch. Default: when the server receives the cell. */
  readonly timestamp?: number;
}

/** Whether a write is in the server's log when it resolves. Default: the setting of the table, usually `sync`. */
export type Durability = keyof typeof DURABILITIES;

export interface Put {
  readonly type: 'put';
  readonly row: Bytes;
  /** At least one cell. */
  readonly cells: readonly NewCell[];
  readonly durability?: Durability;
}

/** Without `qualifier`: all columns of the family. With `timestamp`: only versions up to it. */
export interface DeletedColumn {
  readonly family: Bytes;
  readonly qualifier?: Bytes;
  readonly timestamp?: number;
  /** Deletes only the version with exactly `timestamp`, or without a timestamp the newest version. */
  readonly oneVersion?: boolean;
}

export interface Delete {
  readonly type: 'delete';
  readonly row: Bytes;
  /** Default: the whole row. */
  readonly columns?: readonly DeletedColumn[];
  /** For the whole row: deletes only cells that are not newer. Default: when the server receives the call. */
  readonly timestamp?: number;
  readonly durability?: Durability;
}

export interface Increment {
  readonly type: 'increment';
  readonly row: Bytes;
  readonly amounts: readonly {
    readonly family: Bytes;
    readonly qualifier: Bytes;
    readonly amount: number | bigint;
  }[];
  readonly durability?: Durability;
}

export interface Append {
  readonly type: 'append';
  readonly row: Bytes;
  readonly cells: readonly NewCell[];
  readonly durability?: Durability;
}

export type Mutation = Put | Delete | Increment | Append;
export type Operation = Get | Mutation;

/** The condition of `checkAndMutate`. */
export interface Condition {
  readonly family: Bytes;
  readonly qualifier: Bytes;
  /** Default `equal`. */
  readonly comparison?: Comparison;
  /** Null: the column is absent. In a condition, HBase treats an empty value as absent. */
  readonly value: Bytes | null;
  readonly timeRange?: TimeRange;
}

/** An operation in the form that is sent. Its cells are sent in the cell block. */
export interface Prepared {
  readonly row: Buffer;
  readonly get: GetMessage | null;
  readonly mutation: MutationMessage | null;
  readonly cells: readonly RawCell[];
  /** Whether the operation must not be applied twice: increments and appends. */
  readonly isDelicate: boolean;
}

/** @throws {TypeError} for an operation that HBase cannot store. */
export function prepare(operation: Operation): Prepared {
  const row = rowKey(operation.row);
  if (operation.type === 'get') {
    return { row, get: getMessage(row, operation), mutation: null, cells: [], isDelicate: false };
  }
  const cells = cellsOf(row, operation);
  if (cells.length === 0 && operation.type !== 'delete') {
    throw new TypeError(`${operation.type} of ${JSON.stringify(row.toString())} has no cells`);
  }
  const isDelicate = operation.type === 'increment' || operation.type === 'append';
  const mutation: MutationMessage = {
    row,
    mutateType: MUTATION_TYPES[operation.type],
    associatedCellCount: cells.length,
    ...(operation.durability === undefined ? {} : { durability: DURABILITIES[operation.durability] }),
    ...(operation.type === 'delete' && operation.timestamp !== undefined
      ? { timestamp: checkTimestamp(operation.timestamp) }
      : {}),
  };
  return { row, get: null, mutation, cells, isDelicate };
}

export function getMessage(row: Buffer, options: ReadOptions): GetMessage {
  return { row, ...readMessage(options) };
}

/** The fields that gets and scans have in common. */
export function readMessage(options: ReadOptions): Omit<GetMessage, 'row'> {
  const { columns, filter, timeRange, maxVersions, cacheBlocks } = options;
  return {
    column: columns === undefined ? [] : columns.map(columnMessage),
    ...(filter === undefined ? {} : { filter }),
    ...(timeRange === undefined ? {} : { timeRange }),
    ...(maxVersions === undefined ? {} : { maxVersions }),
    ...(cacheBlocks === undefined ? {} : { cacheBlocks }),
  };
}

/** @throws {TypeError} */
export function rowKey(row: Bytes): Buffer {
  const bytes = toBytes(row);
  if (bytes.length === 0) throw new TypeError('a row key has at least one byte');
  return bytes;
}

function columnMessage({ family, qualifiers }: Columns): ColumnMessage {
  return { family: toBytes(family), qualifier: qualifiers === undefined ? [] : qualifiers.map(toBytes) };
}

function cellsOf(row: Buffer, mutation: Mutation): RawCell[] {
  switch (mutation.type) {
    case 'put':
    case 'append':
      return mutation.cells.map(({ family, qualifier, value, timestamp }) => ({
        ...{ row, family: toBytes(family), qualifier: toBytes(qualifier) },
        timestamp: timestamp === undefined ? null : checkTimestamp(timestamp),
        type: CELL_TYPES.put,
        value: toBytes(value),
      }));
    case 'increment':
      return mutation.amounts.map(({ family, qualifier, amount }) => ({
        ...{ row, family: toBytes(family), qualifier: toBytes(qualifier) },
        ...{ timestamp: null, type: CELL_TYPES.put, value: longBytes(amount) },
      }));
    case 'delete':
      return (mutation.columns ?? []).map(({ family, qualifier, timestamp, oneVersion = false }) => ({
        ...{ row, family: toBytes(family), qualifier: qualifier === undefined ? EMPTY : toBytes(qualifier) },
        timestamp: timestamp === undefined ? null : checkTimestamp(timestamp),
        type: deleteType(qualifier !== undefined, oneVersion),
        value: EMPTY,
      }));
  }
}

function deleteType(isColumn: boolean, oneVersion: boolean): number {
  if (isColumn) return oneVersion ? CELL_TYPES.delete : CELL_TYPES.deleteColumn;
  return oneVersion ? CELL_TYPES.deleteFamilyVersion : CELL_TYPES.deleteFamily;
}

function longBytes(amount: number | bigint): Buffer {
  const { low, high } = fromBigInt(BigInt(amount));
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeInt32BE(high, 0);
  bytes.writeInt32BE(low, 4);
  return bytes;
}

function checkTimestamp(timestamp: number): number {
  if (Number.isSafeInteger(timestamp) && timestamp >= 0) return timestamp;
  throw new TypeError(`a timestamp is a whole number from 0 on, not ${timestamp}`);
}

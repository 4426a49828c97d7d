export { Admin, type CreateTableOptions, type TableDescription } from './admin.ts';
export type { RegionLocation } from './admin-regions.ts';
export { type Bytes, Cell } from './cells.ts';
export { HBaseClient } from './client.ts';
export { type BatchFailure, HBASE_ERROR_CODES, HBaseError, type HBaseErrorCode } from './errors.ts';
export type { Family, FamilyOptions } from './family.ts';
export { type Comparison, type Filter, filters } from './filters.ts';
export type {
  Append,
  Columns,
  Condition,
  Delete,
  DeletedColumn,
  Durability,
  Get,
  Increment,
  Mutation,
  NewCell,
  Operation,
  Put,
  ReadOptions,
  TimeRange,
} from './operations.ts';
export type { HBaseClientOptions } from './options.ts';
export { Row } from './row.ts';
export type { ServerAddress } from './servers.ts';
export type { CallTimeout, DeleteOptions, ScanOptions, Table, WriteOptions } from './table.ts';

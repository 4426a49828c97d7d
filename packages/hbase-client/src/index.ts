export { type BatchFailure, HBASE_ERROR_CODES, HBaseError, type HBaseErrorCode } from './errors.ts';
export type { HBaseClientOptions } from './options.ts';

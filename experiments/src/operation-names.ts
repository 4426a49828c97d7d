import type { MeasuredOperation } from '@tidegauge/loadtests/drivers/record-driver';
import type { DeviceOperationType } from '@tidegauge/loadtests/operations/plan';

/** Types of operations of all workloads. */
export type OperationType = MeasuredOperation | DeviceOperationType | 'query';

/**
 * Names of operations in metrics. The archive has them in capital letters, as YCSB prints them. The order is that of
 * reports.
 */
export const OPERATION_NAMES: Readonly<Record<OperationType, string>> = {
  read: 'read',
  update: 'update',
  insert: 'insert',
  scan: 'scan',
  readModifyWrite: 'read-modify-write',
  selectOne: 'select-one',
  selectSome: 'select-some',
  updateSome: 'update-some',
  query: 'query',
};

export const OPERATION_TYPES = Object.keys(OPERATION_NAMES) as readonly OperationType[];

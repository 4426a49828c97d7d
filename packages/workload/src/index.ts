export * from './errors.ts';
export { fieldNames, isIntact, type Values } from './field-values.ts';
export * from './generators.ts';
export { type InsertOrder, keyName } from './keys.ts';
export * from './operations.ts';
export { parseProperties } from './properties.ts';
export { type Random, type SeededRandom, seeded } from './random.ts';
export {
  RECORD_OPERATIONS,
  REQUEST_DISTRIBUTIONS,
  type ReadFile,
  type RecordOperationType,
  type RecordWorkload,
  type RequestDistribution,
} from './records.ts';
export { deterministicValue, randomValue } from './values.ts';
export { type ParseOptions, parseWorkload } from './workload.ts';
export { YCSB_PROPERTIES } from './ycsb-properties.ts';

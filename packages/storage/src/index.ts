export * from './arguments.ts';
export { type Backend, capabilities } from './backend.ts';
export * from './context.ts';
export * from './contract.ts';
export { type CheckPace, checkTables, type Damage, type LostReadings } from './damage.ts';
export { NATIVE_CALLS, type NativeCall } from './derived/complete.ts';
export { STORE_DRIVERS } from './drivers.ts';
export * from './errors.ts';
export { type Observe, STORE_OPERATIONS, type StoreGuard, type StoreOperation } from './gate.ts';
export { isMatch } from './groups.ts';
export { compareText } from './merge.ts';
export { decodeReading, encodeReading, seriesPrefix } from './reading-lines.ts';
export {
  checkStore,
  createStore,
  nativeCalls,
  type OpenOptions,
  openStore,
  optionsOf,
  STORE_SCHEMES,
  storeOf,
} from './registry.ts';
export { PERIOD_US, ROLLUP_PERIODS } from './rollups/periods.ts';
export { type BackendRecords, MissingTable } from './tables.ts';
export { parseUrl, type StoreHost, type StoreUrl } from './url.ts';

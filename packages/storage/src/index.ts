export * from './arguments.ts';
export * from './context.ts';
export * from './contract.ts';
export * from './errors.ts';
export { compareText } from './merge.ts';
export { createStore, type OpenOptions, openStore, optionsOf, STORE_SCHEMES } from './registry.ts';
export { MissingTable } from './tables.ts';
export { parseUrl, type StoreHost, type StoreUrl } from './url.ts';
export { type Observe, STORE_OPERATIONS, type StoreOperation } from './wrapper.ts';

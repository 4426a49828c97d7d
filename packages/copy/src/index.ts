export type { Sides } from './compare-device.ts';
export { COPY_TABLE, type CopyState, isEmptyStore, placeOf, readState, writeState } from './copy-record.ts';
export { type CopyResult, copyStore } from './copy-store.ts';
export type { DayDifference, Differences } from './differences.ts';
export { openExisting, READABLE, withSides } from './open-sides.ts';
export { duration, number, Progress, type ProgressOutput } from './progress.ts';
export { type VerifyResult, verifyStore } from './verify-store.ts';

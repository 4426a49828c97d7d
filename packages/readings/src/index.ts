export * from './codec.ts';
export * from './device.ts';
export * from './documents.ts';
export * from './reading.ts';
export * from './time.ts';

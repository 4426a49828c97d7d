export * from './codec.ts';
export * from './device.ts';
export * from './documents.ts';
export * from './formats.ts';
export { MAX_READINGS_PER_PAYLOAD } from './make-reading.ts';
export { quote } from './quote.ts';
export * from './reading.ts';
export * from './time.ts';
export * from './topic-template.ts';

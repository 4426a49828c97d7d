export * from './codec.ts';
export {
  type InfluxOptions,
  type InfluxPrecision,
  influxDecoder,
  influxPrecision,
  type SplitLines,
  splitLines,
} from './codecs/influx.ts';
export { compileInfluxNames, INFLUX_DEVICE, INFLUX_METRIC, type InfluxNames } from './codecs/influx-names.ts';
export * from './device.ts';
export * from './documents.ts';
export * from './formats.ts';
export { MAX_READINGS_PER_PAYLOAD } from './make-reading.ts';
export * from './notes.ts';
export { quote } from './quote.ts';
export * from './reading.ts';
export * from './time.ts';
export * from './topic-template.ts';

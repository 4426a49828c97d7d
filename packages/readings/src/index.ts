export * from './annotation.ts';
export * from './codec.ts';
export { autoDecoder } from './codecs/auto.ts';
export { unreadForm } from './codecs/forms/unread.ts';
export {
  decodePoint,
  type InfluxOptions,
  type InfluxPrecision,
  influxDecoder,
  influxPrecision,
  type SplitLines,
  splitLines,
  splitLinesInSteps,
} from './codecs/influx.ts';
export { findLines, type Point, parsePoint } from './codecs/influx-line.ts';
export { compileInfluxNames, INFLUX_DEVICE, INFLUX_METRIC, type InfluxNames } from './codecs/influx-names.ts';
export { type JsonBounds, jsonTooLarge } from './codecs/json-bounds.ts';
export { SparkplugDecoder } from './codecs/sparkplug.ts';
export * from './device.ts';
export * from './documents.ts';
export * from './formats.ts';
export { MAX_READINGS_PER_PAYLOAD } from './make-reading.ts';
export { checkMapping, type MappingProblem, templateNames } from './mapping/check-mapping.ts';
export { cleanName, restoreName } from './mapping/clean-name.ts';
export { compileMapping, Mapping } from './mapping/compile-mapping.ts';
export { wholeNumber } from './mapping/numbers.ts';
export { type MappingOptions, mergeMappings, withZone } from './mapping/options.ts';
export { isTable } from './mapping/paths.ts';
export { writtenUnit } from './mapping/units.ts';
export { zoneProblem } from './mapping/zones.ts';
export * from './notes.ts';
export { presetNames, presets } from './presets/index.ts';
export { type Preset, type PresetRoute, presetMapping, presetTopic } from './presets/preset.ts';
export { quote } from './quote.ts';
export * from './reading.ts';
export * from './time.ts';
export * from './topic-template.ts';
export * from './wrong-value.ts';

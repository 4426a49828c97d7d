export {
  type ClientOptions,
  type DeleteQuery,
  type Device,
  type DevicesQuery,
  type LatestQuery,
  type ReadingsQuery,
  TidegaugeClient,
} from './client.ts';
export type { ExportQuery } from './export.ts';
export type { components, operations, paths } from './generated/api.ts';
export { KeptReadings } from './kept-readings.ts';
export type { LiveEvent, LiveOptions, Reading } from './live.ts';
export type { NewReading } from './new-reading.ts';
export { dataOf, type Problem, ProblemError } from './problem-error.ts';
export type { RetryOptions } from './retry.ts';
export { type Delivery, SendError, type SendMissingOptions, type SendOptions } from './send.ts';
export type { Time } from './time.ts';

/**
 * The operations that a key with a limit of devices may use: their handlers limit what they read and write with
 * `limitOf` and `demandWithin`. All other operations answer 403 to such a key, so that a new operation is safe.
 */
export const DEVICE_OPERATIONS: ReadonlySet<string> = new Set([
  'listReadings',
  'latestReadings',
  'aggregateReadings',
  'aggregateSeries',
  'groupReadings',
  'exportReadings',
  'deliverReadings',
  'deleteReadings',
  'listDevices',
  'getDevice',
  'putDevice',
  'updateDevice',
  'deleteDevice',
  'listAlerts',
  'live',
  'getSession',
  'beginSession',
  'endSession',
  'tsdbVersion',
  'tsdbAggregators',
  'tsdbFilters',
  'tsdbSuggest',
  'tsdbLookUp',
  'tsdbQuery',
  'tsdbPostQuery',
]);

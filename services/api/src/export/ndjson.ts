import { type Reading, toReadingDocumentWithUnit } from '@tidegauge/readings';
import { type ExportFormat, numberText } from './format.ts';

/**
 * A line of JSON for each reading, as in the answers of the API. The last line is `{"complete":true,"rows":…}`, or
 * `{"complete":false,"rows":…,"error":…}`.
 */
export const ndjson: ExportFormat = {
  mediaType: 'application/x-ndjson',
  extension: 'ndjson',
  isText: true,
  trailer: true,
  bytes: 512 * 1024,
  write: ({ trailer }) => ({
    head: () => '',
    rows: (readings, unitOf) => readings.map((reading) => lineOf(reading, unitOf(reading))).join(''),
    end: (count) => (trailer ? `${JSON.stringify({ complete: true, rows: count })}\n` : ''),
    failure: (count, why) => `${JSON.stringify({ complete: false, rows: count, error: why })}\n`,
  }),
};

function lineOf(reading: Reading, unit: string | null): string {
  const text = JSON.stringify(toReadingDocumentWithUnit(reading, unit));
  // JSON.stringify writes -0 as 0.
  return `${Object.is(reading.value, -0) ? text.replace('"value":0,', `"value":${numberText(-0)},`) : text}\n`;
}

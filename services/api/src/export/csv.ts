import { formatTime, type Reading } from '@tidegauge/readings';
import { type ExportFormat, numberText } from './format.ts';

const COLUMNS = ['device', 'metric', 'time', 'value', 'text', 'received', 'quality', 'boot', 'seq', 'unit'];

/**
 * RFC 4180. A reading has a number in `value` or a text in `text`. With `trailer`, the last line is the comment
 * `# complete: 12 rows`; programs that read tables take it for a row. After a failure it is `# failed after 12 rows: …`.
 */
export const csv: ExportFormat = {
  mediaType: 'text/csv',
  extension: 'csv',
  isText: true,
  trailer: false,
  bytes: 512 * 1024,
  write: ({ continues, trailer }) => ({
    head: () => (continues ? '' : lineOf(COLUMNS)),
    rows: (readings, unitOf) => readings.map((reading) => rowOf(reading, unitOf(reading))).join(''),
    end: (count) => (trailer ? `# complete: ${count} rows\r\n` : ''),
    failure: (count, why) => `# failed after ${count} rows: ${why.replaceAll(/\s+/g, ' ')}\r\n`,
  }),
};

function rowOf(
  { device, metric, time, value, received, quality, boot, seq }: Reading,
  unit: string | null,
): string {
  const [number, text] = typeof value === 'number' ? [numberText(value), null] : ['', value];
  return lineOf([
    device,
    metric,
    formatTime(time),
    number,
    field(text),
    formatTime(received),
    quality,
    field(boot),
    seq === null ? '' : String(seq),
    field(unit),
  ]);
}

function lineOf(fields: readonly string[]): string {
  return `${fields.join(',')}\r\n`;
}

/** A text in quotes, so that an empty text is not the same as none. */
function field(text: string | null): string {
  return text === null ? '' : `"${text.replaceAll('"', '""')}"`;
}

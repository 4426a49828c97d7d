import type { Reading } from '@tidegauge/readings';
import { Problem } from '@tidegauge/service';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { ExportFormat, ExportWriter, UnitOf } from './format.ts';

/** A row group is written at this number of readings, or this length of texts. Its columns are in memory. */
const GROUP_ROWS = 10_000;
const GROUP_LENGTH = 512 * 1024;
/** The footer of the file has about 2 KiB for each row group, and is in memory too. */
const MAX_GROUPS = 2000;

const TEXT = { type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const;
const TIME = {
  type: 'INT64',
  converted_type: 'TIMESTAMP_MICROS',
  logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
} as const;
const [REQUIRED, OPTIONAL] = [{ repetition_type: 'REQUIRED' }, { repetition_type: 'OPTIONAL' }] as const;

/** The columns of the file, in the order of those of CSV. */
const SCHEMA: ConstructorParameters<typeof ParquetWriter>[0]['schema'] = [
  { name: 'reading', num_children: 10 },
  { name: 'device', ...TEXT, ...REQUIRED },
  { name: 'metric', ...TEXT, ...REQUIRED },
  { name: 'time', ...TIME, ...REQUIRED },
  { name: 'value', type: 'DOUBLE', ...OPTIONAL },
  { name: 'text', ...TEXT, ...OPTIONAL },
  { name: 'received', ...TIME, ...REQUIRED },
  { name: 'quality', ...TEXT, ...REQUIRED },
  { name: 'boot', ...TEXT, ...OPTIONAL },
  { name: 'seq', type: 'INT64', ...OPTIONAL },
  { name: 'unit', ...TEXT, ...OPTIONAL },
];

/** Apache Parquet, compressed with Snappy. A file without its footer cannot be read, so it never looks complete. */
export const parquet: ExportFormat = {
  mediaType: 'application/vnd.apache.parquet',
  extension: 'parquet',
  isText: false,
  trailer: false,
  bytes: 4 * 1024 * 1024,
  write: () => new ParquetExport(),
};

class ParquetExport implements ExportWriter {
  readonly #bytes = new ByteWriter();
  readonly #file = new ParquetWriter({ writer: this.#bytes, schema: SCHEMA, createdBy: 'tidegauge' });
  #rows: Reading[] = [];
  #units: (string | null)[] = [];
  #length = 0;
  #groups = 0;

  head(): Uint8Array {
    return this.#written();
  }

  rows(readings: readonly Reading[], unitOf: UnitOf): Uint8Array {
    for (const reading of readings) {
      this.#rows.push(reading);
      this.#units.push(unitOf(reading));
      this.#length += reading.device.length + (typeof reading.value === 'string' ? reading.value.length : 0);
      if (this.#rows.length === GROUP_ROWS || this.#length >= GROUP_LENGTH) this.#writeGroup();
    }
    return this.#written();
  }

  end(): Uint8Array {
    this.#writeGroup();
    void this.#file.finish();
    return this.#written();
  }

  failure(): string {
    return '';
  }

  #writeGroup(): void {
    if (this.#rows.length === 0) return;
    if (this.#groups === MAX_GROUPS) {
      const detail = `A Parquet file has at most ${MAX_GROUPS} row groups here: export a shorter time, or fewer devices.`;
      throw new Problem(422, 'The export is too large', detail);
    }
    this.#groups += 1;
    const column = <T>(name: string, of: (reading: Reading) => T) => ({
      name,
      data: this.#rows.map(of),
      offsetIndex: false,
    });
    void this.#file.write({
      columnData: [
        column('device', ({ device }) => device),
        column('metric', ({ metric }) => metric),
        column('time', ({ time }) => BigInt(time)),
        column('value', ({ value }) => (typeof value === 'number' ? value : null)),
        column('text', ({ value }) => (typeof value === 'string' ? value : null)),
        column('received', ({ received }) => BigInt(received)),
        column('quality', ({ quality }) => quality),
        column('boot', ({ boot }) => boot),
        column('seq', ({ seq }) => (seq === null ? null : BigInt(seq))),
        { name: 'unit', data: this.#units, offsetIndex: false },
      ],
      rowGroupSize: GROUP_ROWS,
    });
    this.#rows = [];
    this.#units = [];
    this.#length = 0;
  }

  /** The bytes since the last call. The offsets in the file go on. */
  #written(): Uint8Array {
    const bytes = this.#bytes.getBytes().slice();
    this.#bytes.index = 0;
    return bytes;
  }
}

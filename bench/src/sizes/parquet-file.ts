import { closeSync, openSync, writeSync } from 'node:fs';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { Reading } from '@tidegauge/readings';
import { asyncBufferFromFile, parquetMetadataAsync, parquetRead } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';

/** A row group has one series, so that its times and values are neighbours. */
const GROUP_ROWS = 100_000;

const TEXT = { type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const;
const TIME = { type: 'INT64', converted_type: 'TIMESTAMP_MICROS' } as const;
const [REQUIRED, OPTIONAL] = [{ repetition_type: 'REQUIRED' }, { repetition_type: 'OPTIONAL' }] as const;
/** The columns of an export, without texts and units, which these readings do not have. */
const SCHEMA: ConstructorParameters<typeof ParquetWriter>[0]['schema'] = [
  { name: 'reading', num_children: 8 },
  { name: 'device', ...TEXT, ...REQUIRED },
  { name: 'metric', ...TEXT, ...REQUIRED },
  { name: 'time', ...TIME, ...REQUIRED },
  { name: 'value', type: 'DOUBLE', ...REQUIRED },
  { name: 'received', ...TIME, ...REQUIRED },
  { name: 'quality', ...TEXT, ...REQUIRED },
  { name: 'boot', ...TEXT, ...OPTIONAL },
  { name: 'seq', type: 'INT64', ...OPTIONAL },
];

/** Writes readings of several series as Parquet, compressed with zstd. Whole numbers are differences to the one before. */
export class ParquetFile {
  readonly #file: number;
  readonly #bytes = new ByteWriter();
  readonly #writer: ParquetWriter;
  readonly #pending = new Map<string, Reading[]>();

  constructor(path: string) {
    this.#file = openSync(path, 'w');
    const compressors = { ZSTD: (bytes: Uint8Array) => zstdCompressSync(bytes) };
    this.#writer = new ParquetWriter({ writer: this.#bytes, schema: SCHEMA, codec: 'ZSTD', compressors });
  }

  write(readings: readonly Reading[]): void {
    for (const reading of readings) {
      const name = `${reading.device} ${reading.metric}`;
      const rows = this.#pending.get(name) ?? [];
      this.#pending.set(name, rows);
      rows.push(reading);
      if (rows.length < GROUP_ROWS) continue;
      this.#writeGroup(rows);
      this.#pending.delete(name);
    }
  }

  /** Writes the rest, and closes the file. */
  close(): void {
    for (const rows of this.#pending.values()) this.#writeGroup(rows);
    this.#pending.clear();
    void this.#writer.finish();
    this.#flush();
    closeSync(this.#file);
  }

  #writeGroup(rows: readonly Reading[]): void {
    const plain = <T>(name: string, of: (reading: Reading) => T) => ({
      name,
      data: rows.map(of),
      offsetIndex: false,
    });
    const whole = <T>(name: string, of: (reading: Reading) => T) => ({
      ...plain(name, of),
      encoding: 'DELTA_BINARY_PACKED' as const,
    });
    void this.#writer.write({
      columnData: [
        plain('device', ({ device }) => device),
        plain('metric', ({ metric }) => metric),
        whole('time', ({ time }) => BigInt(time)),
        plain('value', ({ value }) => value),
        whole('received', ({ received }) => BigInt(received)),
        plain('quality', ({ quality }) => quality),
        plain('boot', ({ boot }) => boot),
        whole('seq', ({ seq }) => (seq === null ? null : BigInt(seq))),
      ],
      rowGroupSize: GROUP_ROWS,
    });
    this.#flush();
  }

  #flush(): void {
    writeSync(this.#file, this.#bytes.getBytes());
    this.#bytes.index = 0;
  }
}

/** Reads the file again, a row group at a time. */
export async function* readParquet(path: string): AsyncGenerator<readonly Reading[]> {
  const file = await asyncBufferFromFile(path);
  const parsers = { timestampFromMicroseconds: Number };
  const metadata = await parquetMetadataAsync(file, { parsers });
  let rowStart = 0;
  for (const { num_rows: rows } of metadata.row_groups) {
    const rowEnd = rowStart + Number(rows);
    let found: Readonly<Record<string, unknown>>[] = [];
    await parquetRead({
      ...{ file, metadata, rowStart, rowEnd, parsers },
      rowFormat: 'object',
      compressors: { ZSTD: (bytes) => zstdDecompressSync(bytes) },
      onComplete: (complete) => {
        found = complete;
      },
    });
    yield found.map(({ seq, boot, ...rest }) => {
      return { ...rest, boot: boot ?? null, seq: seq == null ? null : Number(seq) } as Reading;
    });
    rowStart = rowEnd;
  }
}

import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { formatTime, MAX_TIME } from '@tidegauge/readings';
import { ConfigError } from '@tidegauge/service/program';
import {
  type AsyncBuffer,
  asyncBufferFromFile,
  type Compressors,
  type FileMetaData,
  type ParquetParsers,
  parquetMetadataAsync,
  parquetRead,
} from 'hyparquet';
import type { ImportSource, SourceReading, Step } from '../import-source.ts';
import type { Tally } from '../tally.ts';
import { fileName, fileVersion } from '../text-reader.ts';
import { type Row, type RowOptions, RowReader } from './rows.ts';

/** Rows that are in memory. Each part reads the columns of its row group again. */
const PART_ROWS = 50_000;
const STEP_ROWS = 5000;

/** Snappy is a part of hyparquet. */
const COMPRESSORS: Compressors = {
  GZIP: (bytes) => gunzipSync(bytes),
  BROTLI: (bytes) => brotliDecompressSync(bytes),
  ZSTD: (bytes) => zstdDecompressSync(bytes),
};

/** Times as texts, because a Date has milliseconds. */
const PARSERS: Partial<ParquetParsers> = {
  timestampFromMilliseconds: (time: bigint) => textOf(time * 1000n),
  timestampFromMicroseconds: (time: bigint) => textOf(time),
  timestampFromNanoseconds: (time: bigint) => textOf(time / 1000n),
  dateFromDays: (days: number) => textOf(BigInt(days) * 86_400_000_000n),
};

/** A time in UTC; before 1970 and after 2255 its microseconds, which are no time of a reading. */
function textOf(time: bigint): string {
  return time >= 0n && time <= BigInt(MAX_TIME) ? formatTime(Number(time)) : `${time} us`;
}

/** An Apache Parquet file: an export of Tidegauge as it is, and other tables by a mapping. */
export function parquetFile(path: string, options: RowOptions, received: number): ImportSource {
  return {
    name: fileName('parquet', path),
    version: fileVersion(path, options),
    steps: (position, tally) => read(path, options, received, position as number | null, tally),
  };
}

async function* read(
  path: string,
  options: RowOptions,
  received: number,
  position: number | null,
  tally: Tally,
): AsyncGenerator<Step> {
  const file = await asyncBufferFromFile(path);
  const metadata = await understood(path, parquetMetadataAsync(file, { parsers: PARSERS }));
  const columns = metadata.schema
    .filter(({ num_children: children }) => children === undefined)
    .map(({ name }) => name);
  const rows = new RowReader(columns, options, received);
  const total = Number(metadata.num_rows);
  let from = position ?? 0;
  let isFirst = true;
  for (const end of partsOf(metadata)) {
    if (end <= from) continue;
    const part = await understood(path, readRows(file, metadata, from, end));
    const found = part.map((row, index) => rowOf(row, from + index, tally));
    if (isFirst) rows.check(found);
    isFirst = false;
    for (let start = 0; start < found.length; start += STEP_ROWS) {
      const readings: SourceReading[] = [];
      const step = found.slice(start, start + STEP_ROWS);
      for (const [index, row] of step.entries())
        rows.read(row, placeOf(from + start + index), readings, tally);
      const next = from + start + step.length;
      yield { readings, position: next, share: next / total };
    }
    from = end;
  }
}

/** @throws {ConfigError} in place of the errors of hyparquet, which do not name the file */
function understood<T>(path: string, result: Promise<T>): Promise<T> {
  return result.catch((error: Error) => {
    if ('code' in error) throw error;
    throw new ConfigError([
      `${path} is damaged, or no Parquet file: write it again, or import it as what it is, such as CSV`,
    ]);
  });
}

/** The ends of parts, which do not cross row groups. */
function* partsOf({ row_groups: groups }: FileMetaData): Generator<number> {
  let first = 0;
  for (const { num_rows: rows } of groups) {
    const end = first + Number(rows);
    for (let part = first + PART_ROWS; part < end; part += PART_ROWS) yield part;
    yield end;
    first = end;
  }
}

async function readRows(
  file: AsyncBuffer,
  metadata: FileMetaData,
  rowStart: number,
  rowEnd: number,
): Promise<Row[]> {
  let rows: Row[] = [];
  await parquetRead({
    file,
    metadata,
    rowStart,
    rowEnd,
    rowFormat: 'object',
    compressors: COMPRESSORS,
    parsers: PARSERS,
    useOffsetIndex: true,
    onComplete: (complete) => {
      rows = complete;
    },
  });
  return rows;
}

/** A row without its empty cells. */
function rowOf(row: Row, index: number, tally: Tally): Row {
  const found: Record<string, unknown> = Object.create(null);
  for (const [column, value] of Object.entries(row)) {
    if (value === null || value === undefined) continue;
    if (typeof value === 'number' && !Number.isFinite(value))
      tally.add('noted', 'the cell is no finite number', `${placeOf(index)}: ${column}`);
    else found[column] = typeof value === 'bigint' ? wholeOf(value) : value;
  }
  return found;
}

/** A whole number that no double represents is a text, as in JSON. */
function wholeOf(value: bigint): number | string {
  return BigInt(Number(value)) === value ? Number(value) : String(value);
}

function placeOf(index: number): string {
  return `row ${index + 1}`;
}

import { type Attributes, type Device, QUALITIES, type Quality, type Reading } from '@tidegauge/readings';
import type { Bucket, DevicePatch, Group, RecordFields } from '../contract.ts';
import { dayKey, type RowGroupKey } from '../groups.ts';
import { float8Array, int2Array, int8Array, textArray } from './arrays.ts';
import type { Result, Row } from './database.ts';

const QUALITY_NUMBERS = new Map(QUALITIES.map((quality, index) => [quality, index]));

/** The number of a quality in the table. */
export function fromQuality(quality: Quality): number {
  return QUALITY_NUMBERS.get(quality) ?? 0;
}

/** Columns of a reading, for `toReading`. */
export const READING_COLUMNS = 'time, value, text, received, boot, seq, quality';

/** Rows of a batch, column by column: series, time, value, text, received, boot, seq, quality. */
export function fromReadings(
  batch: readonly Reading[],
  series: readonly number[],
  rows: readonly number[],
): (Buffer | null)[] {
  const column = <T>(of: (reading: Reading) => T): T[] => rows.map((row) => of(batch[row]!));
  const values = column(({ value }) => value);
  return [
    int8Array(rows.map((row) => series[row]!)),
    int8Array(column(({ time }) => time)),
    float8Array(values),
    textArray(values),
    int8Array(column(({ received }) => received)),
    textArray(column(({ boot }) => boot)),
    int8Array(column(({ seq }) => seq)),
    int2Array(column(({ quality }) => fromQuality(quality))),
  ];
}

export function toReading(device: string, metric: string, row: Row): Reading {
  const [time, value, text, received, boot, seq, quality] = row;
  return {
    device,
    metric,
    time: time as number,
    value: (value ?? text) as number | string,
    received: received as number,
    boot: boot as string | null,
    seq: seq as number | null,
    quality: QUALITIES[quality as number] ?? 'ok',
  };
}

export function toBucket(row: Row): Bucket {
  const [time, count, min, max, mean, sum] = row as readonly number[];
  return { time: time!, count: count!, min: min!, max: max!, mean: mean!, sum: sum! };
}

export function toGroup(by: RowGroupKey, row: Row): Group {
  const [grouped, count, min, max, mean, sum] = row as readonly number[];
  const key = by === 'day' ? dayKey(grouped!) : String(grouped);
  return { key, count: count!, min: min!, max: max!, mean: mean!, sum: sum! };
}

/** Columns of a device, for `toDevice`. */
export const DEVICE_COLUMNS = 'name, site, city, kind, year, attributes';

export function toDevice(row: Row): Device {
  const [name, site, city, kind, year, attributes] = row;
  return {
    name: name as string,
    site: site as string | null,
    city: city as string | null,
    kind: kind as string | null,
    year: year as number | null,
    attributes: attributes as Attributes,
  };
}

/** Columns and values that a patch sets. */
export function fromPatch(patch: DevicePatch): [column: string, value: string | number | null][] {
  const { site, city, kind, year, attributes } = patch;
  const columns = { site, city, kind, year, attributes: attributes && JSON.stringify(attributes) };
  return Object.entries(columns).flatMap(([column, value]) => (value === undefined ? [] : [[column, value]]));
}

/** The column of a record's key. */
export const KEY = 'ycsb_key';

/**
 * The fields of a record's row, without its key. YCSB's JDBC layout has the column FIELD0 without quotes, which
 * PostgreSQL converts to field0, the name in the contract.
 */
export function toFields({ columns }: Result, row: Row): RecordFields {
  const fields: Record<string, string> = {};
  for (const [index, column] of columns.entries()) {
    const value = row[index];
    if (column !== KEY && value !== null) fields[column] = value as string;
  }
  return fields;
}

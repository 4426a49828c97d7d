import { type Attributes, type Device, QUALITIES, type Reading } from '@tidegauge/readings';
import type driver from 'cassandra-driver';
import type { RecordFields } from '../contract.ts';
import { BUCKET_US } from './schema.ts';
import type { Row } from './session.ts';

export { fromPatch } from '../sql-mapping.ts';

// `shape` holds the quality and the columns that are valid. Other columns are unset instead of null, because each
// null would be a tombstone. After a correction, an old cell can stay, but no read uses it.
const QUALITY_BITS = 0b11;
const HAS_STRING = 0b100;
const HAS_BOOT = 0b1000;
const HAS_SEQ = 0b10000;

/** Columns of a reading, in the order of `fromReading`. */
export const READING_COLUMNS =
  'device, metric, bucket, time, number, string, received, boot, seq, shape' as const;

export function bucketOf(time: number): number {
  return Math.floor(time / BUCKET_US);
}

export function fromReading(reading: Reading, bucket: number): unknown[] {
  const { device, metric, time, value, received, boot, seq, quality } = reading;
  const isString = typeof value === 'string';
  const shape =
    QUALITIES.indexOf(quality) |
    (isString ? HAS_STRING : 0) |
    (boot === null ? 0 : HAS_BOOT) |
    (seq === null ? 0 : HAS_SEQ);
  // Undefined means unset.
  const [number, string] = isString ? [undefined, value] : [value, undefined];
  return [device, metric, bucket, time, number, string, received, boot ?? undefined, seq ?? undefined, shape];
}

export function toReading(device: string, metric: string, row: Row): Reading {
  const shape = row.shape as number;
  return {
    device,
    metric,
    time: toNumber(row.time),
    value: toReadingValue(row),
    received: toNumber(row.received),
    boot: shape & HAS_BOOT ? (row.boot as string) : null,
    seq: shape & HAS_SEQ ? toNumber(row.seq) : null,
    quality: QUALITIES[shape & QUALITY_BITS] ?? 'ok',
  };
}

/** The value of a row with number, string and shape. */
export function toReadingValue(row: Row): number | string {
  return (row.shape as number) & HAS_STRING ? (row.string as string) : (row.number as number);
}

export function toNumber(value: driver.types.Long): number {
  return value.toNumber();
}

export function toDevice(row: Row): Device {
  return {
    name: row.name as string,
    site: row.site as string | null,
    city: row.city as string | null,
    kind: row.kind as string | null,
    year: row.year as number | null,
    attributes: JSON.parse((row.attributes as string | null) ?? '{}') as Attributes,
  };
}

export function toFields(row: Row): RecordFields {
  const fields: Record<string, string> = {};
  for (const column of row.keys()) {
    const value = row[column] as string | null;
    if (column !== 'y_id' && value !== null) fields[column] = value;
  }
  return fields;
}

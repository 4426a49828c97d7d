import { type Attributes, type Device, QUALITIES, type Quality, type Reading } from '@tidegauge/readings';
import type { Bucket, DevicePatch, RecordFields } from '../contract.ts';
import type { Row } from './database.ts';

/** Columns of a reading as `toReading` takes them, of `readings r left join boots b`. */
export const READING_COLUMNS = 'r.time, r.value, r.text, r.received, b.boot, r.seq, r.quality';

const QUALITY_NUMBERS = new Map(QUALITIES.map((quality, index) => [quality, index]));

// MariaDB stores -0 as 0; the sign is kept beside the quality.
const NEGATIVE_ZERO = 8;

/** A reading's quality, and whether its value is -0, as one small number. */
export function fromQuality(quality: Quality, value: number | string): number {
  return (QUALITY_NUMBERS.get(quality) ?? 0) + (Object.is(value, -0) ? NEGATIVE_ZERO : 0);
}

export function toReading(device: string, metric: string, row: Row): Reading {
  const time = row.time as number;
  const quality = row.quality as number;
  const isNegativeZero = quality >= NEGATIVE_ZERO;
  return {
    device,
    metric,
    time,
    value: isNegativeZero ? -0 : ((row.text ?? row.value) as number | string),
    received: time + (row.received as number),
    boot: row.boot as string | null,
    seq: row.seq as number | null,
    quality: QUALITIES[quality % NEGATIVE_ZERO] ?? 'ok',
  };
}

export function toBucket(row: Row): Bucket {
  const { time, count, min, max, mean, sum } = row as Record<string, number>;
  return { time: time!, count: count!, min: min!, max: max!, mean: mean!, sum: sum! };
}

export function toDevice(row: Row): Device {
  return {
    name: row.name as string,
    site: row.site as string | null,
    city: row.city as string | null,
    kind: row.kind as string | null,
    year: row.year as number | null,
    attributes: JSON.parse(row.attributes as string) as Attributes,
  };
}

/** Columns and values that a patch sets. */
export function fromPatch(patch: DevicePatch): [column: string, value: string | number | null][] {
  const { site, city, kind, year, attributes } = patch;
  const columns = { site, city, kind, year, attributes: attributes && JSON.stringify(attributes) };
  return Object.entries(columns).flatMap(([column, value]) => (value === undefined ? [] : [[column, value]]));
}

/** YCSB's JDBC layout names columns FIELD0; the contract and its other bindings name fields field0. */
export function fromField(field: string): string {
  return field.toUpperCase();
}

export function toFields(row: Row): RecordFields {
  const fields: Record<string, string> = {};
  for (const [column, value] of Object.entries(row)) {
    if (column !== 'YCSB_KEY' && value !== null) fields[column.toLowerCase()] = value as string;
  }
  return fields;
}

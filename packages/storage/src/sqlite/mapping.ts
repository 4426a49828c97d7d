import { type Attributes, type Device, QUALITIES, type Quality, type Reading } from '@tidegauge/readings';
import type { Bucket, DevicePatch, RecordFields } from '../contract.ts';

type Row = Record<string, unknown>;

/** Columns of a reading as `toReading` takes them, of a table that is `readings` or `recent`. */
export function readingColumns(table: string): string {
  const boot = `(select boots.boot from boots where boots.id = ${table}.boot)`;
  return `${table}.time, ${table}.value, ${table}.received, ${boot} as boot, ${table}.seq, ${table}.quality`;
}

const QUALITY_NUMBERS = new Map(QUALITIES.map((quality, index) => [quality, index]));

export function fromQuality(quality: Quality): number {
  return QUALITY_NUMBERS.get(quality) ?? 0;
}

export function toReading(device: string, metric: string, row: Row): Reading {
  const time = row.time as number;
  return {
    device,
    metric,
    time,
    value: row.value as number | string,
    received: time + (row.received as number),
    boot: row.boot as string | null,
    seq: row.seq as number | null,
    quality: QUALITIES[row.quality as number] ?? 'ok',
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

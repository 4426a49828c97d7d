import type { Attributes, Device } from '@tidegauge/readings';
import type { Bucket, DevicePatch, Group, RecordFields } from './contract.ts';
import { dayKey, type RowGroupKey } from './groups.ts';

// Converts rows to the types of the contract, for SQL engines with the same columns: attributes as JSON text,
// records in the layout of YCSB's JDBC binding.

type Row = Readonly<Record<string, unknown>>;

export function toBucket(row: Row): Bucket {
  const { time, count, min, max, mean, sum } = row as Record<string, number>;
  return { time: time!, count: count!, min: min!, max: max!, mean: mean!, sum: sum! };
}

export function toGroup(by: RowGroupKey, row: Row): Group {
  const { grouped, count, min, max, mean, sum } = row as Record<string, number>;
  const key = by === 'day' ? dayKey(grouped!) : String(grouped);
  return { key, count: count!, min: min!, max: max!, mean: mean!, sum: sum! };
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

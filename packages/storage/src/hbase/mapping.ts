import type { NewCell, Row } from '@tidegauge/hbase-client';
import { type Attributes, type Device, QUALITIES, type Reading } from '@tidegauge/readings';
import type { DeviceFilter, DevicePatch, RecordFields } from '../contract.ts';
import { timeOf } from './keys.ts';

/** The column family of readings and of devices. */
export const FAMILY = 'd';
/** The column family of YCSB's binding. */
export const RECORD_FAMILY = 'family';

// A reading is one cell: a byte with the quality and the parts that follow (text, boot, seq), received as its
// difference to the time, the value and seq as doubles, boot after its length, and text up to the end.
const QUALITY_BITS = 0b11;
const HAS_STRING = 0b100;
const HAS_BOOT = 0b1000;
const HAS_SEQ = 0b10000;

export const READING_FAMILY: Buffer = Buffer.from(FAMILY);
export const READING_QUALIFIER: Buffer = Buffer.from('r');

export function fromReading({ time, value, received, boot, seq, quality }: Reading): Buffer {
  const isText = typeof value === 'string';
  const bootBytes = boot === null ? 0 : Buffer.byteLength(boot);
  const textBytes = isText ? Buffer.byteLength(value) : 8;
  const size = 1 + 8 + (seq === null ? 0 : 8) + (boot === null ? 0 : 2 + bootBytes) + textBytes;
  const bytes = Buffer.allocUnsafe(size);
  const shape =
    QUALITIES.indexOf(quality) |
    (isText ? HAS_STRING : 0) |
    (boot === null ? 0 : HAS_BOOT) |
    (seq === null ? 0 : HAS_SEQ);
  let at = bytes.writeUInt8(shape);
  at = bytes.writeDoubleBE(received - time, at);
  if (seq !== null) at = bytes.writeDoubleBE(seq, at);
  if (boot !== null) {
    at = bytes.writeUInt16BE(bootBytes, at);
    at += bytes.write(boot, at);
  }
  if (isText) bytes.write(value, at);
  else bytes.writeDoubleBE(value, at);
  return bytes;
}

/** The number in the cell of a reading, or null if it is a text. */
export function numberOf(cell: Buffer): number | null {
  return cell.readUInt8() & HAS_STRING ? null : cell.readDoubleBE(cell.length - 8);
}

/** Converts a row of the table of readings. */
export function toReading(device: string, metric: string, row: Row): Reading {
  const cell = row.cells[0]!;
  const [time, bytes] = [timeOf(cell.row), cell.value];
  const shape = bytes.readUInt8();
  const received = time + bytes.readDoubleBE(1);
  let at = 9;
  let seq: number | null = null;
  let boot: string | null = null;
  if (shape & HAS_SEQ) {
    seq = bytes.readDoubleBE(at);
    at += 8;
  }
  if (shape & HAS_BOOT) {
    const end = at + 2 + bytes.readUInt16BE(at);
    boot = bytes.toString('utf8', at + 2, end);
    at = end;
  }
  const value = shape & HAS_STRING ? bytes.toString('utf8', at) : bytes.readDoubleBE(at);
  return {
    device,
    metric,
    time,
    value,
    received,
    boot,
    seq,
    quality: QUALITIES[shape & QUALITY_BITS] ?? 'ok',
  };
}

/** Every device has this column. A row without it is not a device. */
export const DEVICE_MARK = 'attributes';

/** Columns of a device, as JSON. Null is a value too, so columns are never deleted from a row. */
export function fromPatch(patch: DevicePatch): NewCell[] {
  const { site, city, kind, year, attributes } = patch;
  return Object.entries({ site, city, kind, year, attributes }).flatMap(([qualifier, value]) =>
    value === undefined ? [] : [{ family: FAMILY, qualifier, value: JSON.stringify(value) }],
  );
}

/** Null if the row is not a device. */
export function toDevice(row: Row): Device | null {
  const attributes = parse(row, DEVICE_MARK) as Attributes | undefined;
  if (attributes === undefined) return null;
  return {
    name: row.key.toString(),
    site: parse(row, 'site') as string | null,
    city: parse(row, 'city') as string | null,
    kind: parse(row, 'kind') as string | null,
    year: parse(row, 'year') as number | null,
    attributes,
  };
}

/** Columns and their required values, as stored. */
export function fromFilter(filter: DeviceFilter): [column: string, value: string][] {
  const { year, city, site, kind } = filter;
  return Object.entries({ year, city, site, kind }).flatMap(([column, value]) =>
    value === undefined ? [] : [[column, JSON.stringify(value)]],
  );
}

function parse(row: Row, qualifier: string): unknown {
  const value = row.value(FAMILY, qualifier);
  return value === undefined ? undefined : JSON.parse(value.toString());
}

export function fromFields(fields: RecordFields): NewCell[] {
  return Object.entries(fields).map(([qualifier, value]) => ({ family: RECORD_FAMILY, qualifier, value }));
}

export function toFields(row: Row): RecordFields {
  return Object.fromEntries(
    row.cells.map(({ qualifier, value }) => [qualifier.toString(), value.toString()]),
  );
}

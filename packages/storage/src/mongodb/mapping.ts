import type { Attributes, Device, Quality, Reading } from '@tidegauge/readings';
import { type Binary, Double } from 'mongodb';
import type { DevicePatch, RecordFields, RollupPeriod } from '../contract.ts';

/** Series and time in this order, because documents are compared field by field. */
export interface ReadingKey {
  readonly s: number;
  readonly t: number;
}

/** A reading. Null and default values are left out. */
export interface ReadingDocument {
  readonly _id: ReadingKey;
  /** The value. Numbers are always doubles. */
  readonly v: Double | number | string;
  /** `received` as its difference to the time. */
  readonly r: number;
  readonly b?: string;
  readonly q?: number;
  readonly g?: Exclude<Quality, 'ok'>;
}

export interface SeriesDocument {
  readonly _id: number;
  readonly d: string;
  readonly m: string;
  /** The unit, if it is known. Version 0.2.0 and earlier have none. */
  readonly u?: string;
}

/** Attributes as pairs, because their names can have dots and dollar signs. */
export interface DeviceDocument extends Omit<Device, 'name' | 'attributes'> {
  readonly _id: string;
  readonly attributes: readonly { readonly k: string; readonly v: Attributes[string] }[];
}

/** Device, metric and hour in this order, because documents are compared field by field. */
export interface MarkDocument {
  readonly _id: { readonly d: string; readonly m: string; readonly h: number };
  readonly due: number;
  readonly erased: number;
}

/** A row of rollups: device, metric, period, start. */
export interface RollupDocument {
  readonly _id: { readonly d: string; readonly m: string; readonly p: RollupPeriod; readonly s: number };
  readonly f: Binary | Buffer;
}

export interface StateDocument {
  readonly _id: string;
  readonly value: string;
}

export interface SchemaDocument {
  readonly _id: 'schema';
  readonly version: number;
}

/** A collection of records that Tidegauge created. No other collection has its UUID. */
export interface TableDocument {
  /** The UUID of the collection, in hexadecimal. */
  readonly _id: string;
  /** Its name at creation, for people. */
  readonly table: string;
}

export function fromReading(series: number, reading: Reading): ReadingDocument {
  const { time, value, received, boot, seq, quality } = reading;
  const document: { -readonly [K in keyof ReadingDocument]: ReadingDocument[K] } = {
    _id: { s: series, t: time },
    v: typeof value === 'number' ? new Double(value) : value,
    r: received - time,
  };
  if (boot !== null) document.b = boot;
  if (seq !== null) document.q = seq;
  if (quality !== 'ok') document.g = quality;
  return document;
}

export function toReading(device: string, metric: string, document: ReadingDocument): Reading {
  const time = document._id.t;
  return {
    device,
    metric,
    time,
    value: document.v as number | string,
    received: time + document.r,
    boot: document.b ?? null,
    seq: document.q ?? null,
    quality: document.g ?? 'ok',
  };
}

export function fromDevice({ name, site, city, kind, year, attributes }: Device): DeviceDocument {
  return { _id: name, site, city, kind, year, attributes: fromAttributes(attributes) };
}

export function toDevice({ _id, site, city, kind, year, attributes }: DeviceDocument): Device {
  const named = Object.fromEntries(attributes.map(({ k, v }) => [k, v]));
  return { name: _id, site, city, kind, year, attributes: named };
}

/** Fields that a patch sets. */
export function fromPatch(patch: DevicePatch): Partial<Omit<DeviceDocument, '_id'>> {
  const { site, city, kind, year, attributes } = patch;
  const fields = { site, city, kind, year, attributes: attributes && fromAttributes(attributes) };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function fromAttributes(attributes: Attributes): DeviceDocument['attributes'] {
  return Object.entries(attributes).map(([k, v]) => ({ k, v }));
}

/** YCSB's binding stores fields as bytes, and ignores other types. */
export function fromFields(fields: RecordFields): Record<string, Buffer> {
  return Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, Buffer.from(text)]));
}

export function toFields(document: Readonly<Record<string, unknown>>): RecordFields {
  const fields: Record<string, string> = {};
  for (const [name, value] of Object.entries(document)) {
    if (name !== '_id') fields[name] = Buffer.isBuffer(value) ? value.toString() : String(value);
  }
  return fields;
}

export interface LeaseDocument {
  readonly _id: string;
  readonly holder: string;
  /** Milliseconds since the epoch. */
  readonly expires: number;
}

import {
  type Attributes,
  type Device,
  isTable,
  QUALITIES,
  type Reading,
  type ReadingValue,
} from '@tidegauge/readings';
import type { RecordFields } from '../contract.ts';

// Lines of day files: compact JSON objects with the keys in this order. Default values are left out.

/** The beginning of a line up to the time. It is the same for all readings of a series. */
export function seriesPrefix(device: string, metric: string): string {
  return `{"device":${JSON.stringify(device)},"metric":${JSON.stringify(metric)},"time":`;
}

/** The rest of a line after the prefix, with its newline. */
export function encodeReading(reading: Reading): string {
  const { time, value, received, boot, seq, quality } = reading;
  let line = `${time},"value":${encodeValue(value)},"received":${received}`;
  if (boot !== null) line += `,"boot":${JSON.stringify(boot)}`;
  if (seq !== null) line += `,"seq":${seq}`;
  if (quality !== 'ok') line += `,"quality":"${quality}"`;
  return `${line}}\n`;
}

function encodeValue(value: ReadingValue): string {
  if (typeof value === 'string') return JSON.stringify(value);
  return Object.is(value, -0) ? '-0' : String(value);
}

/** The object of a line, or null if it is invalid. */
export function parseLine(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isTable(value) ? value : null;
  } catch {
    return null;
  }
}

export function decodeReading(text: string): Reading | null {
  const line = parseLine(text);
  if (line === null) return null;
  const { device, metric, time, value, received, boot = null, seq = null, quality = 'ok' } = line;
  if (typeof device !== 'string' || typeof metric !== 'string') return null;
  if (!isTime(time) || !isTime(received)) return null;
  if (typeof value !== 'number' && typeof value !== 'string') return null;
  if (boot !== null && typeof boot !== 'string') return null;
  if (seq !== null && !isTime(seq)) return null;
  const known = QUALITIES.find((candidate) => candidate === quality);
  if (known === undefined) return null;
  return { device, metric, time, value, received, boot, seq, quality: known };
}

/** The fields of a device in `devices.jsonl`. */
export type DeviceFacts = Omit<Device, 'name'>;

export function isDeviceFacts(value: unknown): value is DeviceFacts {
  if (!isTable(value)) return false;
  const { site, city, kind, year, attributes } = value;
  const texts = [site, city, kind].every((text) => text === null || typeof text === 'string');
  return texts && (year === null || Number.isInteger(year)) && isTable(attributes);
}

/** A copy of the device, so that no caller can change the index. */
export function toDevice(name: string, facts: DeviceFacts): Device {
  const { site, city, kind, year, attributes } = facts;
  return { name, site, city, kind, year, attributes: { ...attributes } };
}

export function toFacts(device: DeviceFacts): DeviceFacts {
  const { site, city, kind, year, attributes } = device;
  return { site, city, kind, year, attributes: { ...(attributes satisfies Attributes) } };
}

/** Whether a value is a document of texts by name: a record, or the units of a device. */
export function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  return isTable(value) && Object.values(value).every((field) => typeof field === 'string');
}

/** The named fields, or all fields for null. */
export function pickFields(all: RecordFields, names: readonly string[] | null): RecordFields {
  if (names === null) return all;
  return Object.fromEntries(
    names.filter((name) => Object.hasOwn(all, name)).map((name) => [name, all[name]!]),
  );
}

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

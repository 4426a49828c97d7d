import { type Attributes, type Device, isTable } from '@tidegauge/readings';
import type { RecordFields } from '../contract.ts';

export { decodeReading, encodeReading, parseLine, seriesPrefix } from '../reading-lines.ts';

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

import { isTable, QUALITIES, type Reading, type ReadingValue } from '@tidegauge/readings';

// Readings as lines of text: compact JSON objects with the keys in this order. Default values are left out. The files of
// days of the JSON store have them, and backups.

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

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

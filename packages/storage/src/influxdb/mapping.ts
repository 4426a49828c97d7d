import { createHash } from 'node:crypto';
import { QUALITIES, type Reading } from '@tidegauge/readings';
import type { YcsbRecord } from '../contract.ts';
import type { Row } from './client.ts';

// A reading is a point with the tags `device` and `metric`. Its field `n` is a number, for Grafana and other tools too. Field
// `m` is a JSON array: received - time, boot, seq, quality, and the value if it is a text. A point keeps its field `n` after a
// correction to a text, so `m` decides.

export function fromReading({ device, metric, time, value, received, boot, seq, quality }: Reading): string {
  const isText = typeof value === 'string';
  const meta = [received - time, boot, seq, QUALITIES.indexOf(quality), ...(isText ? [value] : [])];
  const number = isText ? '' : `n=${Object.is(value, -0) ? '-0' : value},`;
  return `readings,device=${tag(device)},metric=${tag(metric)} ${number}m=${quoted(JSON.stringify(meta))} ${time}`;
}

export function toReading(device: string, metric: string, row: Row): Reading {
  const { time, n, m } = row as { readonly time: number; readonly n: number; readonly m: string };
  const [delay, boot, seq, quality, text] = JSON.parse(m);
  const rest = { received: time + delay, boot, seq, quality: QUALITIES[quality]! };
  return { device, metric, time, value: text ?? n, ...rest };
}

// A record is a point whose place follows from its key: one of some series, and a time. So a table has few series, which the
// server keeps in memory, and a scan is a range of times.

const PARTS = 1024n;
/** The length of a shard, so that a table has one or two: 30 days in nanoseconds. */
export const PLACES = 30n * 86_400_000_000_000n;

export function placeOf(key: string): { readonly part: string; readonly time: bigint } {
  const hash = createHash('sha256').update(key).digest();
  return { part: String(hash.readBigUInt64BE(0) % PARTS), time: hash.readBigUInt64BE(8) % PLACES };
}

export function fromRecord(table: string, { key, fields }: YcsbRecord): string {
  const { part, time } = placeOf(key);
  const values = Object.entries({ key, ...fields }).map(([name, text]) => `${name}=${quoted(text)}`);
  return `${table},part=${part} ${values.join(',')} ${time}`;
}

export function toRecord(row: Row): YcsbRecord {
  const fields = Object.entries(row).filter(([name, text]) => name.startsWith('field') && text !== null);
  return { key: row.key as string, fields: Object.fromEntries(fields) as Record<string, string> };
}

/** A name, which has no backslash and no line break. */
const tag = (text: string): string => text.replace(/[,= ]/g, '\\$&');
const quoted = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`;

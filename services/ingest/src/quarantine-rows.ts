import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import type { QuarantineDocument } from '@tidegauge/readings';
import { decodePart, encodePart } from './part.ts';
import { senderOfTopic } from './quarantine-shares.ts';
import type { RawMessage, Source } from './raw-message.ts';

/**
 * A message, or some of its readings, that cannot be stored, with everything that is needed to inspect and replay it.
 */
export interface QuarantineEntry extends RawMessage {
  /** Microseconds since the epoch. */
  readonly received: number;
  readonly reason: string;
  readonly detail: string;
  readonly position: string | null;
  /** The number of readings that it counts as in the ledger. */
  readonly readings: number;
  /** The login or address of its sender. Absent: the source and the topic show it. */
  readonly client?: string | undefined;
}

/** An item with its sender. */
export type SentItem = QuarantineEntry & { readonly client: string };

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS quarantine (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    received INTEGER NOT NULL,
    topic TEXT NOT NULL,
    format TEXT NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    position TEXT,
    readings INTEGER NOT NULL,
    source TEXT NOT NULL DEFAULT 'mqtt',
    part BLOB,
    client TEXT NOT NULL DEFAULT '',
    share INTEGER NOT NULL DEFAULT 0,
    crc INTEGER,
    payload BLOB NOT NULL
  ) STRICT;
`;
/**
 * Files of version 0.1.0 have no source and no part. The topic of a message from HTTP was its request line, and its
 * format was never one that only a route can have.
 */
const UPGRADE = `
  ALTER TABLE quarantine ADD COLUMN source TEXT NOT NULL DEFAULT 'mqtt';
  ALTER TABLE quarantine ADD COLUMN part BLOB;
  UPDATE quarantine SET source = 'http'
   WHERE (topic = 'POST /readings' OR topic GLOB 'POST /readings[?]*')
     AND format IN ('json', 'senml-json', 'plain') AND reason <> 'unknown_topic';
`;
/** Files of version 0.2.0 do not have the senders of their items, which are in no share then. */
const UPGRADE_SHARES = `
  ALTER TABLE quarantine ADD COLUMN client TEXT NOT NULL DEFAULT '';
  ALTER TABLE quarantine ADD COLUMN share INTEGER NOT NULL DEFAULT 0;
`;
/** Items of versions before 0.3.0 have no checksum. */
const UPGRADE_CHECKSUM = 'ALTER TABLE quarantine ADD COLUMN crc INTEGER';
export const INSERT = `
  INSERT INTO quarantine
    (received, source, topic, format, reason, detail, position, readings, part, client, share, crc, payload)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const COLUMNS = 'id, received, source, format, reason, position, readings, octet_length(payload) AS size';
export const WHOLE = `${COLUMNS}, topic, detail`;
/** Length of a topic and of a detail in a list, characters. */
const LISTED_LENGTH = 500;
export const SHORTENED = `${COLUMNS}, substr(topic, 1, ${LISTED_LENGTH + 1}) AS topic, substr(detail, 1, ${LISTED_LENGTH + 1}) AS detail`;
/** Columns of an item with its payload and its checksum. */
export const ITEM = `${WHOLE}, payload, part, client, crc`;
/** Bytes of a row's variable columns. */
export const CONTENT = `octet_length(topic) + octet_length(format) + octet_length(reason) + octet_length(detail)
  + octet_length(source) + octet_length(client) + ifnull(octet_length(position), 0) + ifnull(octet_length(part), 0) + octet_length(payload) AS content`;
/** The longest detail that is kept. The details of ingest are shorter; those of a store can have any length. */
const MAX_DETAIL_LENGTH = 2000;

/** Creates the table of items, or upgrades that of an earlier version. */
export function createTable(db: DatabaseSync): void {
  const columns = db.prepare("SELECT name FROM pragma_table_info('quarantine')").all();
  const has = (column: string) => columns.some(({ name }) => name === column);
  if (columns.length === 0) db.exec(SCHEMA);
  else {
    if (!has('source')) db.exec(`BEGIN; ${UPGRADE} COMMIT;`);
    if (!has('share')) db.exec(`BEGIN; ${UPGRADE_SHARES} COMMIT;`);
    if (!has('crc')) db.exec(UPGRADE_CHECKSUM);
  }
  db.exec('CREATE INDEX IF NOT EXISTS quarantine_share ON quarantine (share)');
}

/** The CRC-32 of everything that replays of an item use. */
export function checksumOf(item: SentItem): number {
  const { received, source, topic, format, reason, detail, position, readings, part, client, payload } = item;
  const fields = [received, source, topic, format, reason, detail, position, readings, part, client];
  return crc32(payload, crc32(JSON.stringify(fields)));
}

/** The item of a row with the columns `ITEM`; null when its checksum differs. */
export function soundItem(row: Record<string, SQLOutputValue>): SentItem | null {
  const item: SentItem = {
    source: row.source as Source,
    topic: String(row.topic),
    part: row.part === null ? null : decodePart(row.part as Uint8Array),
    reason: String(row.reason),
    detail: String(row.detail),
    position: row.position === null ? null : String(row.position),
    format: String(row.format),
    payload: row.payload as Uint8Array,
    received: Number(row.received),
    readings: Number(row.readings),
    client: String(row.client),
  };
  return row.crc === null || row.crc === checksumOf(item) ? item : null;
}

/** The item with its sender, and with a detail of bounded length. */
export function sentItem(item: QuarantineEntry): SentItem {
  const { source, topic, client = source === 'http' ? 'http' : senderOfTopic(topic) } = item;
  return { ...item, detail: cut(item.detail, MAX_DETAIL_LENGTH), client };
}

/** The item for a list. */
export function shorten(item: QuarantineDocument): QuarantineDocument {
  const topic = cut(item.topic, LISTED_LENGTH);
  const detail = cut(item.detail, LISTED_LENGTH);
  const isWhole = topic === item.topic && detail === item.detail;
  return isWhole ? item : { ...item, topic, detail, shortened: true };
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`;
}

/** The same number as `CONTENT`, for an item that is not in the table yet. */
export function contentBytes({
  source,
  topic,
  format,
  reason,
  detail,
  position,
  part,
  client,
  payload,
}: SentItem): number {
  const texts = [source, topic, format, reason, detail, position ?? '', client];
  const bytes = payload.length + (part === null ? 0 : encodePart(part).length);
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), bytes);
}

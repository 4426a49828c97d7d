import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { formatTime, type QuarantineDocument } from '@tidegauge/readings';
import { ConfigError } from '@tidegauge/service';
import { diskBytes, PAGE_BYTES } from './disk-bytes.ts';
import type { Parcel, Source } from './parcels.ts';
import { decodePart, encodePart } from './part.ts';

/** A message or a reading that cannot be stored, with all that is needed to look at it and try it again. */
export interface Poison extends Parcel {
  /** Microseconds since the epoch. */
  readonly received: number;
  readonly reason: string;
  readonly detail: string;
  readonly position: string | null;
  /** Readings it stands for in the ledger. */
  readonly readings: number;
}

export interface QuarantinePage {
  readonly items: readonly QuarantineDocument[];
  /** Give it as `after` for the next page; null at the end. */
  readonly next: number | null;
  /** How many items have the reason asked for. */
  readonly total: number;
  /** How many items there are with each reason. */
  readonly reasons: Readonly<Record<string, number>>;
}

/** Items that a change of many applies to. */
export interface Selection {
  readonly reason: string | null;
  /** Received at this time at the latest, microseconds. */
  readonly until: number | null;
}

/** Where a walk through the items stands: behind `after`, and not beyond `upTo`, which was the newest when it began. */
export interface Walk {
  readonly after: number;
  readonly upTo: number;
}

type Journal = 'WAL' | 'TRUNCATE';

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
    payload BLOB NOT NULL
  ) STRICT;
`;
/**
 * Files of version 0.1.0 have neither source nor part. What came by HTTP had its request line as its topic, and
 * never a format that only a route can have.
 */
const UPGRADE = `
  ALTER TABLE quarantine ADD COLUMN source TEXT NOT NULL DEFAULT 'mqtt';
  ALTER TABLE quarantine ADD COLUMN part BLOB;
  UPDATE quarantine SET source = 'http'
   WHERE (topic = 'POST /readings' OR topic GLOB 'POST /readings[?]*')
     AND format IN ('json', 'senml-json', 'plain') AND reason <> 'unknown_topic';
`;
const COLUMNS = 'id, received, source, format, reason, position, readings, octet_length(payload) AS size';
const WHOLE = `${COLUMNS}, topic, detail`;
/** Characters of a topic and of an explanation in a list. */
const LISTED_LENGTH = 500;
const SHORTENED = `${COLUMNS}, substr(topic, 1, ${LISTED_LENGTH + 1}) AS topic, substr(detail, 1, ${LISTED_LENGTH + 1}) AS detail`;
/** Bytes of a row's variable columns. */
const CONTENT = `octet_length(topic) + octet_length(format) + octet_length(reason) + octet_length(detail)
  + octet_length(source) + ifnull(octet_length(position), 0) + ifnull(octet_length(part), 0) + octet_length(payload) AS content`;
/** Rows that one step of a walk looks at. */
const WALK_ROWS = 10_000;
/** A page of a list ends with the item that brings it to this many bytes. */
const LIST_BYTES = 1024 * 1024;
/** Longest explanation that is kept; those of our own are shorter, a store's can have any length. */
const MAX_DETAIL_LENGTH = 2000;

/** The least bound on the file: tables without rows take some pages too. */
const LEAST_FILE_BYTES = 16 * PAGE_BYTES;
/** The most that the write-ahead log takes between two batches. */
const MAX_LOG_BYTES = 2 * 1024 * 1024;

/**
 * Quarantine: a table in a SQLite file of ingest's own, beside whatever store is in use, because what a store
 * rejects cannot be kept in that store, and because ingest must be able to acknowledge poison while the store
 * is down. Bounded in bytes of the disk, its write-ahead log included; the oldest are dropped to make room, counted
 * and logged.
 */
export class Quarantine {
  readonly #db: DatabaseSync;
  readonly #instance: string;
  readonly #maxBytes: number;
  readonly #logBytes: number;
  readonly #insert: StatementSync;
  #journal: Journal = 'WAL';
  #bytes = 0;
  #total = 0;
  #dropped = 0;
  readonly #reasons = new Map<string, number>();

  /** @throws {ConfigError} when the file cannot be opened or written. */
  constructor(file: string, instance: string, maxBytes: number) {
    this.#instance = instance;
    this.#logBytes = Math.min(MAX_LOG_BYTES, Math.floor(maxBytes / 32));
    this.#maxBytes = maxBytes - this.#logBytes;
    try {
      mkdirSync(dirname(file), { recursive: true });
      this.#db = new DatabaseSync(file);
      this.#db.exec(`
        PRAGMA page_size = ${PAGE_BYTES};
        PRAGMA journal_mode = WAL;
        PRAGMA synchronous = FULL;
        PRAGMA cache_size = -256;
        PRAGMA wal_autocheckpoint = ${Math.max(1, Math.floor((0.4 * this.#logBytes) / PAGE_BYTES))};
        PRAGMA journal_size_limit = ${this.#logBytes};
      `);
      createTable(this.#db);
      this.#insert = this.#db.prepare(
        `INSERT INTO quarantine (received, source, topic, format, reason, detail, position, readings, part, payload)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      );
      this.#takeStock();
    } catch (error) {
      throw new ConfigError([
        `the quarantine ${file} cannot be opened: ${(error as Error).message}: see DATA_DIR`,
      ]);
    }
  }

  get total(): number {
    return this.#total;
  }

  /** Items dropped to keep the bound since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  /**
   * Keeps a batch durably, all or nothing, but for what exceeds the bound.
   *
   * @returns how many items were dropped: old ones, or the first of a batch that has no room as a whole
   */
  add(batch: readonly Poison[]): number {
    const items = batch.map(cutDetail);
    const sizes = items.map((item) => diskBytes(contentBytes(item)));
    let first = items.length - 1;
    let bytes = sizes[first] ?? 0;
    // The newest always stays, however large: it is the one being acknowledged.
    while (first > 0 && bytes + sizes[first - 1]! <= this.#maxBytes) bytes += sizes[--first]!;
    const kept = items.slice(Math.max(first, 0));
    // The log takes a copy of all that is written, a journal only of what is changed.
    this.#setJournal(bytes > this.#logBytes / 2 ? 'TRUNCATE' : 'WAL');
    const room = this.#transaction(() => {
      const made = this.#makeRoom(bytes);
      for (const item of kept) this.#insertItem(item);
      return made;
    });
    const dropped = room.items + items.length - kept.length;
    this.#bytes += bytes - room.bytes;
    this.#total += kept.length - room.items;
    this.#dropped += dropped;
    this.#forget(room.reasons);
    for (const { reason } of kept) count(this.#reasons, reason);
    return dropped;
  }

  /** Newest first, as many as `limit` and a bound in bytes allow. Long topics and explanations are shortened. */
  list(limit: number, after: number | null, reason: string | null): QuarantinePage {
    const rows = this.#db
      .prepare(
        `SELECT ${SHORTENED} FROM quarantine WHERE id < ? AND (? IS NULL OR reason = ?) ORDER BY id DESC LIMIT ?`,
      )
      // Not more than there are, so that nothing is searched for behind the last.
      .iterate(after ?? Number.MAX_SAFE_INTEGER, reason, reason, Math.min(limit + 1, this.#matching(reason)));
    const items: QuarantineDocument[] = [];
    const sums = { total: this.#matching(reason), reasons: Object.fromEntries(this.#reasons) };
    let bytes = 0;
    let last = 0;
    for (const row of rows) {
      if (items.length === limit || bytes >= LIST_BYTES) return { items, next: last, ...sums };
      const item = shorten(this.#document(row));
      items.push(item);
      bytes += Buffer.byteLength(JSON.stringify(item));
      last = Number(row.id);
    }
    return { items, next: null, ...sums };
  }

  /** An item without its payload. */
  find(id: number): QuarantineDocument | null {
    const row = this.#db.prepare(`SELECT ${WHOLE} FROM quarantine WHERE id = ?`).get(id);
    return row === undefined ? null : this.#document(row);
  }

  /** Some bytes of an item's payload; none behind its end, or when the item is gone. */
  read(id: number, from: number, bytes: number): Uint8Array {
    const sql = 'SELECT substr(payload, ?, ?) AS part FROM quarantine WHERE id = ?';
    return (
      (this.#db.prepare(sql).get(from + 1, bytes, id)?.part as Uint8Array | undefined) ?? new Uint8Array()
    );
  }

  /** An item with all that is needed to try it again. */
  get(id: number): { readonly document: QuarantineDocument; readonly poison: Poison } | null {
    const poison = this.poison(id);
    if (poison === null) return null;
    const payload = Buffer.from(poison.payload).toString('base64');
    return { document: { ...this.find(id)!, payload }, poison };
  }

  /** What is needed to try an item again; null when it is gone. */
  poison(id: number): Poison | null {
    const row = this.#db.prepare(`SELECT ${WHOLE}, payload, part FROM quarantine WHERE id = ?`).get(id);
    if (row === undefined) return null;
    const { source, topic, reason, detail, position, readings } = this.#document(row);
    return {
      source,
      topic,
      part: row.part === null ? null : decodePart(row.part as Uint8Array),
      reason,
      detail,
      position,
      format: String(row.format),
      payload: row.payload as Uint8Array,
      received: Number(row.received),
      readings,
    };
  }

  /** A walk through all that is here now, from the oldest to the newest. */
  walk(): Walk {
    const row = this.#db.prepare('SELECT min(id) AS first, max(id) AS last FROM quarantine').get()!;
    return { after: Number(row.first ?? 1) - 1, upTo: Number(row.last ?? 0) };
  }

  /**
   * The next items of a walk that are selected, with the bytes of their payloads; bounded in the rows that it looks
   * at, so there can be none although the walk goes on.
   *
   * @returns `walk` null at the end
   */
  next(
    { after, upTo }: Walk,
    { reason, until }: Selection,
    limit: number,
  ): {
    readonly found: readonly { readonly id: number; readonly size: number }[];
    readonly walk: Walk | null;
  } {
    if (this.#matching(reason) === 0) return { found: [], walk: null };
    const last = Math.min(upTo, after + WALK_ROWS);
    const rows = this.#db
      .prepare(
        `SELECT id, octet_length(payload) AS size FROM quarantine
          WHERE id > ? AND id <= ? AND (? IS NULL OR reason = ?) AND received <= ? ORDER BY id LIMIT ?`,
      )
      .all(after, last, reason, reason, until ?? Number.MAX_SAFE_INTEGER, limit);
    const found = rows.map(({ id, size }) => ({ id: Number(id), size: Number(size) }));
    const reached = found.length === limit ? found[found.length - 1]!.id : last;
    return { found, walk: reached >= upTo ? null : { after: reached, upTo } };
  }

  /** @returns false when there is no such item. */
  discard(id: number): boolean {
    return this.discardAll([id]) === 1;
  }

  /** Discards all of these, or none. @returns how many there were */
  discardAll(ids: readonly number[]): number {
    const statement = this.#db.prepare(`DELETE FROM quarantine WHERE id = ? RETURNING reason, ${CONTENT}`);
    const gone = new Map<string, number>();
    let items = 0;
    let bytes = 0;
    this.#transaction(() => {
      for (const id of ids) {
        const row = statement.get(id);
        if (row === undefined) continue;
        count(gone, String(row.reason));
        bytes += diskBytes(Number(row.content));
        items++;
      }
    });
    this.#bytes -= bytes;
    this.#total -= items;
    this.#forget(gone);
    return items;
  }

  close(): void {
    this.#db.close();
  }

  /** How many items there are with a reason; all of them for null. */
  #matching(reason: string | null): number {
    return reason === null ? this.#total : (this.#reasons.get(reason) ?? 0);
  }

  #forget(gone: ReadonlyMap<string, number>): void {
    for (const [reason, items] of gone) {
      const left = this.#matching(reason) - items;
      if (left > 0) this.#reasons.set(reason, left);
      else this.#reasons.delete(reason);
    }
  }

  #insertItem(item: Poison): void {
    const { received, source, topic, format, reason, detail, position, readings, payload } = item;
    const part = item.part === null ? null : encodePart(item.part);
    this.#insert.run(received, source, topic, format, reason, detail, position, readings, part, payload);
  }

  #setJournal(mode: Journal): void {
    if (mode !== this.#journal) this.#db.exec(`PRAGMA journal_mode = ${mode}`);
    this.#journal = mode;
  }

  /** Some errors, a full disk for one, have undone the transaction already. */
  #transaction<T>(work: () => T): T {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.#db.exec('COMMIT');
      return result;
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  /** Counts what an earlier process left, and brings it below the bound, which may have been lowered. */
  #takeStock(): void {
    for (const row of this.#db.prepare(`SELECT reason, ${CONTENT} FROM quarantine`).iterate()) {
      count(this.#reasons, String(row.reason));
      this.#bytes += diskBytes(Number(row.content));
      this.#total++;
    }
    if (this.#bytes <= this.#maxBytes && this.#fileBytes('page_count') <= this.#maxFileBytes) return;
    const room = this.#transaction(() => this.#makeRoom(0));
    this.#bytes -= room.bytes;
    this.#total -= room.items;
    this.#dropped += room.items;
    this.#forget(room.reasons);
    try {
      this.#db.exec('VACUUM; PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // The disk has no room for a copy: the file keeps its size, and its free pages are used again.
    }
  }

  /** Deletes the oldest until so many bytes have room. To be called within a transaction. */
  #makeRoom(bytes: number): {
    readonly items: number;
    readonly bytes: number;
    readonly reasons: ReadonlyMap<string, number>;
  } {
    const inUse = this.#fileBytes('page_count') - this.#fileBytes('freelist_count');
    const excess = bytes + Math.max(this.#bytes - this.#maxBytes, inUse - this.#maxFileBytes);
    const room = { items: 0, bytes: 0, reasons: new Map<string, number>() };
    if (excess <= 0) return room;
    let upTo = 0;
    for (const row of this.#db
      .prepare(`SELECT id, reason, ${CONTENT} FROM quarantine ORDER BY id`)
      .iterate()) {
      if (room.bytes >= excess || (bytes === 0 && room.items === this.#total - 1)) break;
      upTo = Number(row.id);
      room.bytes += diskBytes(Number(row.content));
      room.items++;
      count(room.reasons, String(row.reason));
    }
    this.#db.prepare('DELETE FROM quarantine WHERE id <= ?').run(upTo);
    return room;
  }

  get #maxFileBytes(): number {
    return Math.max(this.#maxBytes, LEAST_FILE_BYTES);
  }

  #fileBytes(pages: 'page_count' | 'freelist_count'): number {
    return Number(this.#db.prepare(`PRAGMA ${pages}`).get()![pages]) * PAGE_BYTES;
  }

  #document(row: Record<string, SQLOutputValue>): QuarantineDocument {
    return {
      id: `${this.#instance}.${row.id}`,
      received: formatTime(Number(row.received)),
      source: row.source as Source,
      topic: String(row.topic),
      reason: String(row.reason),
      detail: String(row.detail),
      position: row.position === null ? null : String(row.position),
      size: Number(row.size),
      readings: Number(row.readings),
    };
  }
}

function count(items: Map<string, number>, reason: string): void {
  items.set(reason, (items.get(reason) ?? 0) + 1);
}

function createTable(db: DatabaseSync): void {
  const columns = db.prepare("SELECT name FROM pragma_table_info('quarantine')").all();
  if (columns.length === 0) db.exec(SCHEMA);
  else if (!columns.some(({ name }) => name === 'source')) db.exec(`BEGIN; ${UPGRADE} COMMIT;`);
}

function cutDetail(item: Poison): Poison {
  return { ...item, detail: cut(item.detail, MAX_DETAIL_LENGTH) };
}

function shorten(item: QuarantineDocument): QuarantineDocument {
  const topic = cut(item.topic, LISTED_LENGTH);
  const detail = cut(item.detail, LISTED_LENGTH);
  const isWhole = topic === item.topic && detail === item.detail;
  return isWhole ? item : { ...item, topic, detail, shortened: true };
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`;
}

/** As `CONTENT`, of an item that is not in the table yet. */
function contentBytes({ source, topic, format, reason, detail, position, part, payload }: Poison): number {
  const texts = [source, topic, format, reason, detail, position ?? ''];
  const bytes = payload.length + (part === null ? 0 : encodePart(part).length);
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), bytes);
}

import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { formatTime, type QuarantineDocument } from '@tidegauge/readings';
import { ConfigError } from '@tidegauge/service';

/** A message or a reading that cannot be stored, with all that is needed to look at it and try it again. */
export interface Poison {
  readonly topic: string;
  readonly payload: Uint8Array;
  /** Name of the payload format it was read as. */
  readonly format: string;
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
  readonly total: number;
}

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
    payload BLOB NOT NULL
  ) STRICT;
`;
const COLUMNS = 'id, received, topic, format, reason, detail, position, readings, length(payload) AS size';
/** Bytes that a row takes besides its payload, roughly: what the bound counts for it. */
const ROW_OVERHEAD = 256;

/**
 * Quarantine: a table in a SQLite file of ingest's own, beside whatever store is in use, because what a store
 * rejects cannot be kept in that store, and because ingest must be able to acknowledge poison while the store
 * is down. Bounded in bytes; the oldest are dropped to make room, counted and logged.
 */
export class Quarantine {
  readonly #db: DatabaseSync;
  readonly #instance: string;
  readonly #maxBytes: number;
  readonly #insert: StatementSync;
  #bytes: number;
  #total: number;
  #dropped = 0;

  /** @throws {ConfigError} when the file cannot be opened or written. */
  constructor(file: string, instance: string, maxBytes: number) {
    this.#instance = instance;
    this.#maxBytes = maxBytes;
    try {
      mkdirSync(dirname(file), { recursive: true });
      this.#db = new DatabaseSync(file);
      this.#db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -256;');
      this.#db.exec(SCHEMA);
    } catch (error) {
      throw new ConfigError([
        `the quarantine ${file} cannot be opened: ${(error as Error).message}: see DATA_DIR`,
      ]);
    }
    this.#insert = this.#db.prepare(
      `INSERT INTO quarantine (received, topic, format, reason, detail, position, readings, payload)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    const sums = this.#db
      .prepare('SELECT count(*) AS n, total(length(payload)) AS bytes FROM quarantine')
      .get()!;
    this.#total = Number(sums.n);
    this.#bytes = Number(sums.bytes) + this.#total * ROW_OVERHEAD;
  }

  get total(): number {
    return this.#total;
  }

  /** Items dropped to keep the bound since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Keeps a batch durably, all or nothing. @returns how many old items made room for it. */
  add(batch: readonly Poison[]): number {
    const before = { bytes: this.#bytes, total: this.#total, dropped: this.#dropped };
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      for (const item of batch) {
        const { received, topic, format, reason, detail, position, readings, payload } = item;
        this.#insert.run(received, topic, format, reason, detail, position, readings, payload);
        this.#bytes += payload.length + ROW_OVERHEAD;
        this.#total++;
      }
      this.#makeRoom();
      this.#db.exec('COMMIT');
    } catch (error) {
      this.#db.exec('ROLLBACK');
      this.#bytes = before.bytes;
      this.#total = before.total;
      this.#dropped = before.dropped;
      throw error;
    }
    return this.#dropped - before.dropped;
  }

  /** Newest first. */
  list(limit: number, after: number | null, reason: string | null): QuarantinePage {
    const rows = this.#db
      .prepare(
        `SELECT ${COLUMNS} FROM quarantine WHERE id < ? AND (? IS NULL OR reason = ?) ORDER BY id DESC LIMIT ?`,
      )
      .all(after ?? Number.MAX_SAFE_INTEGER, reason, reason, limit + 1);
    const page = rows.slice(0, limit);
    const next = rows.length > limit ? Number(page[page.length - 1]!.id) : null;
    return { items: page.map((row) => this.#document(row)), next, total: this.#total };
  }

  get(id: number): { readonly document: QuarantineDocument; readonly poison: Poison } | null {
    const row = this.#db.prepare(`SELECT ${COLUMNS}, payload FROM quarantine WHERE id = ?`).get(id);
    if (row === undefined) return null;
    const payload = row.payload as Uint8Array;
    const document = { ...this.#document(row), payload: Buffer.from(payload).toString('base64') };
    const { topic, reason, detail, position } = document;
    const format = String(row.format);
    return {
      document,
      poison: {
        topic,
        reason,
        detail,
        position,
        format,
        payload,
        received: Number(row.received),
        readings: document.readings,
      },
    };
  }

  /** @returns false when there is no such item. */
  discard(id: number): boolean {
    const size = this.#db
      .prepare('DELETE FROM quarantine WHERE id = ? RETURNING length(payload) AS size')
      .get(id)?.size;
    if (size === undefined) return false;
    this.#bytes -= Number(size) + ROW_OVERHEAD;
    this.#total--;
    return true;
  }

  close(): void {
    this.#db.close();
  }

  #makeRoom(): void {
    if (this.#bytes <= this.#maxBytes) return;
    const oldest = this.#db
      .prepare('SELECT id, length(payload) AS size FROM quarantine ORDER BY id')
      .iterate();
    let upTo = 0;
    for (const row of oldest) {
      // The newest always stays, however large: it is the one being acknowledged.
      if (this.#bytes <= this.#maxBytes || this.#total === 1) break;
      upTo = Number(row.id);
      this.#bytes -= Number(row.size) + ROW_OVERHEAD;
      this.#total--;
      this.#dropped++;
    }
    this.#db.prepare('DELETE FROM quarantine WHERE id <= ?').run(upTo);
  }

  #document(row: Record<string, SQLOutputValue>): QuarantineDocument {
    return {
      id: `${this.#instance}.${row.id}`,
      received: formatTime(Number(row.received)),
      topic: String(row.topic),
      reason: String(row.reason),
      detail: String(row.detail),
      position: row.position === null ? null : String(row.position),
      size: Number(row.size),
      readings: Number(row.readings),
    };
  }
}

import { accessSync, constants, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { formatTime, type QuarantineDocument } from '@tidegauge/readings';
import { ConfigError, hasSqliteResult, type Logger, Problem, SQLITE_DAMAGED } from '@tidegauge/service';
import { diskBytes, PAGE_BYTES } from './disk-bytes.ts';
import { encodePart } from './part.ts';
import {
  CONTENT,
  checksumOf,
  contentBytes,
  createTable,
  INSERT,
  ITEM,
  type QuarantineEntry,
  type SentItem,
  SHORTENED,
  sentItem,
  shorten,
  soundItem,
  WHOLE,
} from './quarantine-rows.ts';
import { type Share, Shares } from './quarantine-shares.ts';
import type { Source } from './raw-message.ts';

export interface QuarantinePage {
  readonly items: readonly QuarantineDocument[];
  /** The value of `after` for the next page; null on the last page. */
  readonly next: number | null;
  /** The number of items with the requested reason. */
  readonly total: number;
  /** The number of items with each reason. */
  readonly reasons: Readonly<Record<string, number>>;
}

/** Selects the items of a bulk change. */
export interface Selection {
  readonly reason: string | null;
  /** Selects items received at or before this time, microseconds since the epoch. */
  readonly until: number | null;
}

/** The position of a pass over the items: after item `after`, up to item `upTo`, the newest when the pass started. */
export interface Walk {
  readonly after: number;
  readonly upTo: number;
}

type Journal = 'WAL' | 'TRUNCATE';

/** Rows that one step of a pass reads at most. */
const WALK_ROWS = 10_000;
/** A page ends with the item that brings it to this size. */
const LIST_BYTES = 512 * 1024;
/** The smallest bound on the file: empty tables take some pages too. */
const LEAST_FILE_BYTES = 16 * PAGE_BYTES;
/** Bytes of old items that a share loses before the largest one is searched again. */
const ROOM_BYTES = 64 * 1024;
/** The largest size of the write-ahead log between two batches. */
const MAX_LOG_BYTES = 2 * 1024 * 1024;
/** At the start also those of a damaged header: SQLITE_ERROR and, for a file that can be written, SQLITE_READONLY. */
const DAMAGED_AT_START: readonly number[] = [...SQLITE_DAMAGED, 1, 8];

/**
 * Stores messages that cannot be decoded or stored, in ingest's own SQLite file. It is separate from the store,
 * because the store rejected these messages, and because ingest must be able to acknowledge undecodable messages
 * while the store is unavailable. The file is bounded in bytes on disk, including its write-ahead log. When it is
 * full, the oldest items of the sender with the most bytes are dropped, counted and logged.
 *
 * A file that SQLite finds damaged is kept as `….damaged`, and the quarantine begins again, because ingest must go on
 * storing.
 */
export class Quarantine {
  #db: DatabaseSync;
  readonly #file: string;
  readonly #instance: string;
  readonly #logger: Logger | undefined;
  readonly #maxBytes: number;
  readonly #logBytes: number;
  #insert: StatementSync;
  #journal: Journal = 'WAL';
  #bytes = 0;
  #total = 0;
  #dropped = 0;
  #shares = new Shares();
  readonly #reasons = new Map<string, number>();

  /**
   * @param logger gets an error when a damaged file was replaced
   * @throws {ConfigError} when the file cannot be opened or written
   */
  constructor(file: string, instance: string, maxBytes: number, logger?: Logger) {
    this.#file = file;
    this.#instance = instance;
    this.#logger = logger;
    this.#logBytes = Math.min(MAX_LOG_BYTES, Math.floor(maxBytes / 32));
    // Deleted items of one sender leave pages that are not full.
    this.#maxBytes = maxBytes - 2 * this.#logBytes;
    try {
      mkdirSync(dirname(file), { recursive: true });
      [this.#db, this.#insert] = this.#open();
    } catch (error) {
      throw new ConfigError([
        `the quarantine ${file} cannot be opened: ${(error as Error).message}: check DATA_DIR`,
      ]);
    }
  }

  get total(): number {
    return this.#total;
  }

  /** Items dropped since the start because the quarantine was full. */
  get dropped(): number {
    return this.#dropped;
  }

  /**
   * Stores a batch durably and atomically, except for items that exceed the share of their sender.
   *
   * @returns the number of dropped items: old ones, or items of the batch whose sender has no older ones
   */
  add(batch: readonly QuarantineEntry[]): number {
    try {
      return this.#add(batch);
    } catch (error) {
      if (!isDamage(error, SQLITE_DAMAGED)) throw error;
      this.#db.close();
      [this.#db, this.#insert] = this.#replace(error);
      return this.#add(batch);
    }
  }

  #add(batch: readonly QuarantineEntry[]): number {
    const incoming: Incoming[] = [];
    let bytes = 0;
    for (const entry of batch) {
      const item = sentItem(entry);
      const size = diskBytes(contentBytes(item));
      const share = this.#shares.of(item.client, item.topic);
      this.#shares.add(share, size);
      incoming.push({ item, bytes: size, share });
      bytes += size;
    }
    const room = new Room();
    try {
      // The write-ahead log contains all written pages, a rollback journal only the changed ones.
      this.#setJournal(bytes > this.#logBytes / 2 ? 'TRUNCATE' : 'WAL');
      this.#transaction(() => {
        this.#makeRoom(room, incoming, bytes);
        for (const each of incoming) if (!room.left.has(each)) this.#insertItem(each);
      });
    } catch (error) {
      for (const [share, size] of room.shares) this.#shares.add(share, size);
      for (const each of incoming) if (!room.left.has(each)) this.#shares.remove(each.share, each.bytes);
      throw error;
    }
    const dropped = room.items + room.left.size;
    this.#dropped += dropped;
    for (const each of incoming) {
      if (room.left.has(each)) continue;
      const { item, bytes: size } = each;
      this.#bytes += size;
      this.#total++;
      count(this.#reasons, item.reason);
    }
    this.#leave(room);
    return dropped;
  }

  /**
   * Lists items, newest first. `limit` and a bound in bytes limit the page. Long topics and details are shortened.
   */
  list(limit: number, after: number | null, reason: string | null): QuarantinePage {
    const rows = this.#db
      .prepare(
        `SELECT ${SHORTENED} FROM quarantine WHERE id < ? AND (? IS NULL OR reason = ?) ORDER BY id DESC LIMIT ?`,
      )
      // The count limits the query, so that it does not search after the last matching row.
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

  /**
   * Items before another one, the newest first, without a bound in bytes: use it for a few hundred items. Long topics
   * and details are shortened.
   *
   * @param before the number of an item; null for the newest
   */
  newest(limit: number, before: number | null): readonly { id: number; document: QuarantineDocument }[] {
    return this.#db
      .prepare(`SELECT ${SHORTENED} FROM quarantine WHERE id < ? ORDER BY id DESC LIMIT ?`)
      .all(before ?? Number.MAX_SAFE_INTEGER, limit)
      .map((row) => ({ id: Number(row.id), document: shorten(this.#document(row)) }));
  }

  /** Finds an item, without its payload. */
  find(id: number): QuarantineDocument | null {
    const row = this.#db.prepare(`SELECT ${WHOLE} FROM quarantine WHERE id = ?`).get(id);
    return row === undefined ? null : this.#document(row);
  }

  /** Reads bytes of an item's payload. Returns no bytes after its end, or when the item does not exist. */
  read(id: number, from: number, bytes: number): Uint8Array {
    const sql = 'SELECT substr(payload, ?, ?) AS part FROM quarantine WHERE id = ?';
    return (
      (this.#db.prepare(sql).get(from + 1, bytes, id)?.part as Uint8Array | undefined) ?? new Uint8Array()
    );
  }

  /** Finds an item with its document and the entry to replay it. */
  get(id: number): { readonly document: QuarantineDocument; readonly entry: QuarantineEntry } | null {
    const entry = this.entry(id);
    if (entry === null) return null;
    const payload = Buffer.from(entry.payload).toString('base64');
    return { document: { ...this.find(id)!, payload }, entry };
  }

  /**
   * Finds the entry to replay an item; null when it does not exist.
   *
   * @throws {Problem} 422 when the item is damaged
   */
  entry(id: number): QuarantineEntry | null {
    const row = this.#db.prepare(`SELECT ${ITEM} FROM quarantine WHERE id = ?`).get(id);
    if (row === undefined) return null;
    const item = soundItem(row);
    if (item === null) throw damagedItem(this.#instance, id);
    return { ...item, client: item.client === '' ? undefined : item.client };
  }

  /** As `entry`; null also when the item is damaged. It stays in quarantine. */
  soundEntry(id: number): QuarantineEntry | null {
    try {
      return this.entry(id);
    } catch (error) {
      if (error instanceof Problem) return null;
      throw error;
    }
  }

  /** Starts a pass over all current items, from the oldest to the newest. */
  walk(): Walk {
    const row = this.#db.prepare('SELECT min(id) AS first, max(id) AS last FROM quarantine').get()!;
    return { after: Number(row.first ?? 1) - 1, upTo: Number(row.last ?? 0) };
  }

  /**
   * The next selected items of a pass, with the sizes of their payloads. The number of rows read is bounded, so a
   * step can find no items although the pass continues.
   *
   * @returns the items, and the next position; the position is null at the end
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

  /** @returns false when the item does not exist */
  discard(id: number): boolean {
    return this.discardAll([id]) === 1;
  }

  /**
   * Discards all of these items in one transaction.
   *
   * @returns the number of items that existed
   */
  discardAll(ids: readonly number[]): number {
    const statement = this.#db.prepare(
      `DELETE FROM quarantine WHERE id = ? RETURNING reason, share, ${CONTENT}`,
    );
    const room = new Room();
    this.#transaction(() => {
      for (const id of ids) {
        const row = statement.get(id);
        if (row !== undefined) room.add(row, this.#shares.get(Number(row.share)));
      }
    });
    for (const [share, bytes] of room.shares) this.#shares.remove(share, bytes);
    this.#leave(room);
    return room.items;
  }

  close(): void {
    this.#db.close();
  }

  /** The number of items with a reason; of all items for null. */
  #matching(reason: string | null): number {
    return reason === null ? this.#total : (this.#reasons.get(reason) ?? 0);
  }

  /** Counts items that were deleted. */
  #leave({ items, bytes, reasons }: Room): void {
    this.#bytes -= bytes;
    this.#total -= items;
    for (const [reason, items] of reasons) {
      const left = this.#matching(reason) - items;
      if (left > 0) this.#reasons.set(reason, left);
      else this.#reasons.delete(reason);
    }
  }

  #insertItem({ item, share }: Incoming): void {
    const { received, source, topic, format, reason, detail, position, readings, client, payload } = item;
    const part = item.part === null ? null : encodePart(item.part);
    const values = [received, source, topic, format, reason, detail, position, readings, part, client];
    this.#insert.run(...values, share.id, checksumOf(item), payload);
  }

  /** Opens the file and counts its items. A damaged file is replaced. */
  #open(): [DatabaseSync, StatementSync] {
    try {
      return this.#openFile();
    } catch (error) {
      if (!isDamage(error, DAMAGED_AT_START)) throw error;
      accessSync(this.#file, constants.W_OK);
      return this.#replace(error);
    }
  }

  #openFile(): [DatabaseSync, StatementSync] {
    const db = new DatabaseSync(this.#file);
    try {
      db.exec(`
        PRAGMA page_size = ${PAGE_BYTES};
        PRAGMA journal_mode = WAL;
        PRAGMA synchronous = FULL;
        PRAGMA cache_size = -256;
        PRAGMA wal_autocheckpoint = ${Math.max(1, Math.floor((0.4 * this.#logBytes) / PAGE_BYTES))};
        PRAGMA journal_size_limit = ${this.#logBytes};
      `);
      createTable(db);
      // SQLite opens a write-protected file read-only, and reports it at the first write.
      db.exec('BEGIN IMMEDIATE; ROLLBACK');
      this.#db = db;
      this.#takeStock();
      return [db, db.prepare(INSERT)];
    } catch (error) {
      db.close();
      throw error;
    }
  }

  /** Keeps a damaged file under another name, and begins with an empty one. */
  #replace(error: Error): [DatabaseSync, StatementSync] {
    const kept = `${this.#file}.damaged`;
    for (const end of ['', '-wal', '-shm']) {
      rmSync(`${kept}${end}`, { force: true });
      if (existsSync(`${this.#file}${end}`)) renameSync(`${this.#file}${end}`, `${kept}${end}`);
    }
    this.#logger?.error(
      { err: error, file: kept },
      'the quarantine is damaged: it begins again without items, and this file is kept',
    );
    this.#journal = 'WAL';
    this.#bytes = 0;
    this.#total = 0;
    this.#shares = new Shares();
    this.#reasons.clear();
    const opened = this.#openFile();
    // No item gets the number of one in the damaged file: nobody must discard an item by the number of another one.
    const after = Math.floor(Date.now() / 1000);
    opened[0].exec(`INSERT INTO sqlite_sequence (name, seq) VALUES ('quarantine', ${after})`);
    return opened;
  }

  #setJournal(mode: Journal): void {
    if (mode !== this.#journal) this.#db.exec(`PRAGMA journal_mode = ${mode}`);
    this.#journal = mode;
  }

  /** Runs `work` in a transaction. Some errors, such as a full disk, roll back the transaction already. */
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

  /** Counts the items of an earlier process, and reduces them to the bound, which may be lower now. */
  #takeStock(): void {
    const all = `SELECT reason, client, topic, share, ${CONTENT} FROM quarantine`;
    for (const row of this.#db.prepare(all).iterate()) {
      const bytes = diskBytes(Number(row.content));
      count(this.#reasons, String(row.reason));
      this.#bytes += bytes;
      this.#total++;
      this.#shares.add(this.#shares.of(String(row.client), String(row.topic), Number(row.share)), bytes);
    }
    if (this.#bytes <= this.#maxBytes && this.#fileBytes('page_count') <= this.#maxFileBytes) return;
    const room = new Room();
    this.#transaction(() => this.#makeRoom(room, [], 0));
    this.#dropped += room.items;
    this.#leave(room);
    try {
      this.#db.exec('VACUUM; PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // The disk is too full for a copy. The file keeps its size, and its free pages are reused.
    }
  }

  /**
   * Deletes the oldest items of the largest shares until there is room for new ones. New items of a share without older
   * ones are left out. Call it within a transaction.
   *
   * @param room gets what is deleted or left out
   * @param incoming new items, counted in their shares
   * @param bytes of the new items
   */
  #makeRoom(room: Room, incoming: readonly Incoming[], bytes: number): void {
    const inUse = this.#fileBytes('page_count') - this.#fileBytes('freelist_count');
    let excess = bytes + Math.max(this.#bytes - this.#maxBytes, inUse - this.#maxFileBytes);
    while (excess > 0) {
      const share = this.#shares.largest();
      const most = this.#total - (incoming.length === 0 ? 1 : 0) - room.items;
      const deleted = this.#deleteOldest(share, Math.min(excess, ROOM_BYTES), most, room);
      excess -= deleted;
      if (deleted > 0) continue;
      const next = incoming.find((each) => each.share === share && !room.left.has(each));
      if (next === undefined) return;
      room.left.add(next);
      this.#shares.remove(share, next.bytes);
      excess -= next.bytes;
    }
  }

  /** Deletes items of a share with this number of bytes or a little more. Returns how many bytes it has deleted. */
  #deleteOldest(share: Share, bytes: number, most: number, room: Room): number {
    const sql = `SELECT id, reason, ${CONTENT} FROM quarantine WHERE share = ? ORDER BY id LIMIT ?`;
    let deleted = 0;
    let upTo = 0;
    for (const row of this.#db.prepare(sql).iterate(share.id, most)) {
      upTo = Number(row.id);
      const size = room.add(row, share);
      this.#shares.remove(share, size);
      deleted += size;
      if (deleted >= bytes) break;
    }
    if (upTo > 0) this.#db.prepare('DELETE FROM quarantine WHERE share = ? AND id <= ?').run(share.id, upTo);
    return deleted;
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

function isDamage(error: unknown, codes: readonly number[]): error is Error {
  if (!(error instanceof Error)) return false;
  // Node reports this for a number of 64 bits, which was never written.
  return (error as NodeJS.ErrnoException).code === 'ERR_OUT_OF_RANGE' || hasSqliteResult(error, codes);
}

function count(items: Map<string, number>, reason: string): void {
  items.set(reason, (items.get(reason) ?? 0) + 1);
}

/** An item that is not in the table yet. */
interface Incoming {
  readonly item: SentItem;
  readonly bytes: number;
  readonly share: Share;
}

/** What is deleted, or not stored. */
class Room {
  items = 0;
  bytes = 0;
  readonly reasons = new Map<string, number>();
  readonly left = new Set<Incoming>();
  /** Bytes of each deleted item. */
  readonly shares: (readonly [Share, number])[] = [];

  add({ reason, content }: Record<string, SQLOutputValue>, share: Share): number {
    const bytes = diskBytes(Number(content));
    count(this.reasons, String(reason));
    this.items++;
    this.bytes += bytes;
    this.shares.push([share, bytes]);
    return bytes;
  }
}

function damagedItem(instance: string, id: number): Problem {
  const detail = `The quarantined message ${instance}.${id} is not what was stored: the disk has changed it. Discard it.`;
  return new Problem(422, 'Damaged', detail);
}

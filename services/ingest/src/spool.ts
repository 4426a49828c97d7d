import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { type FileHandle, open, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { now } from '@tidegauge/readings';
import { ConfigError, type Logger } from '@tidegauge/service';
import { collectGarbage } from './heap.ts';
import { createDirectory, replaceFile, syncDirectory } from './replace-file.ts';
import { eachEntry, encodeEntry, type SpoolEntry, soundBytes, splitEntries } from './spool-entry.ts';

const NAME = /^\d{12}\.spool$/;
/** A segment is read and deleted as a whole: small enough for memory, large enough that there are few. */
const SEGMENT_BYTES = 4 * 1024 * 1024;
/**
 * Bytes of messages between two collections of garbage. A message that waits for an fsync or a commit lives long enough
 * for V8's old space, which V8 collects seldom while the machine has free memory.
 */
const COLLECT_BYTES = 4 * 1024 * 1024;

export interface Segment {
  readonly file: string;
  /** Segments are numbered in the order of their creation. */
  readonly number: number;
  readonly bytes: number;
  /** Receive time of its first entry, microseconds since the epoch. */
  readonly since: number;
}

interface Append {
  readonly data: Buffer;
  readonly since: number;
  readonly done: (kept: boolean) => void;
}

/**
 * Stores messages on local disk until the store accepts them. Messages are appended to numbered segment files, with
 * one fsync for all waiting callers (group commit). A segment is deleted when all its messages are stored. The spool
 * is bounded in bytes: messages that do not fit are refused, never dropped.
 */
export class Spool {
  readonly #directory: string;
  readonly #maxBytes: number;
  readonly #logger: Logger;
  readonly #sealed: Segment[] = [];
  #active: { handle: FileHandle; file: string; bytes: number; since: number } | null = null;
  #next = 0;
  #bytes = 0;
  #waiting: Append[] = [];
  /** Bytes that wait or are being written. */
  #waitingBytes = 0;
  /** Serializes file operations. */
  #turn: Promise<unknown> = Promise.resolve();
  #trouble: string | null = null;
  /** Bytes that were written or removed since the last collection. */
  #moved = 0;

  constructor(directory: string, maxBytes: number, logger: Logger) {
    this.#directory = directory;
    this.#maxBytes = maxBytes;
    this.#logger = logger;
  }

  /**
   * Opens the spool and yields the entries of an earlier process, in order. A tail that was torn by a power loss, or a
   * damaged entry, is removed; its bytes are kept in a file `….damaged` and reported. Read the generator to its end
   * before any other call.
   *
   * @throws {ConfigError} when the directory cannot be used
   */
  *recover(): Generator<SpoolEntry> {
    try {
      createDirectory(this.#directory);
      // A process that was killed can have removed a segment without a sync: see `remove`.
      syncDirectory(this.#directory);
      const names = readdirSync(this.#directory).filter((name) => NAME.test(name));
      for (const name of names.toSorted()) yield* this.#recoverSegment(name);
    } catch (error) {
      throw new ConfigError([
        `the spool ${this.#directory} cannot be opened: ${(error as Error).message}: check SPOOL_DIR and DATA_DIR`,
      ]);
    }
  }

  /** Bytes of all segments. */
  get bytes(): number {
    return this.#bytes;
  }

  get maxBytes(): number {
    return this.#maxBytes;
  }

  get empty(): boolean {
    return this.#sealed.length === 0 && this.#active === null && this.#waitingBytes === 0;
  }

  /** Receive time of the oldest message, microseconds since the epoch; null when there is none. */
  get since(): number | null {
    return this.#sealed[0]?.since ?? this.#active?.since ?? null;
  }

  /** The number of the newest segment; -1 when there has been none. */
  get newest(): number {
    return this.#next - 1;
  }

  /** Why the spool cannot be written now; null when it can. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /**
   * Stores all of the messages, or none.
   *
   * @returns true when they are fsynced; false when the spool is full or the disk cannot be written
   */
  append(entries: readonly SpoolEntry[]): Promise<boolean> {
    const data = Buffer.concat(entries.map(encodeEntry));
    if (this.#bytes + this.#waitingBytes + data.length > this.#maxBytes) return Promise.resolve(false);
    return new Promise((done) => {
      this.#waiting.push({ data, since: entries[0]!.received, done });
      this.#waitingBytes += data.length;
      if (this.#waiting.length === 1) void this.#inTurn(() => this.#write());
    });
  }

  /** The oldest segment, to read and then remove; null when there is none. */
  oldest(): Promise<Segment | null> {
    return this.#inTurn(async () => {
      if (this.#sealed.length === 0) await this.#seal();
      return this.#sealed[0] ?? null;
    });
  }

  /**
   * Reads a segment. Its entries are decoded when they are used.
   *
   * @throws when the segment is damaged; its complete entries are recovered at the next start
   */
  async read({ file, bytes }: Segment): Promise<Iterable<SpoolEntry>> {
    const data = (await readFile(join(this.#directory, file))).subarray(0, bytes);
    const sound = soundBytes(data);
    if (sound < bytes) throw new Error(`the spool's segment ${file} is damaged at byte ${sound}`);
    return eachEntry(data);
  }

  /** Deletes the oldest segment, after all its messages are settled. */
  remove(segment: Segment): Promise<void> {
    return this.#inTurn(async () => {
      await unlink(join(this.#directory, segment.file)).catch((error: NodeJS.ErrnoException) => {
        // An earlier call removed the file, and then the sync failed.
        if (error.code !== 'ENOENT') throw error;
      });
      // Without this sync a deleted segment could reappear after a power loss, and old values would replace their
      // corrections.
      await this.#syncDirectory();
      this.#sealed.shift();
      this.#bytes -= segment.bytes;
      this.#collect(segment.bytes);
    });
  }

  async close(): Promise<void> {
    await this.#inTurn(() => this.#seal());
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => {});
    return result;
  }

  async #write(): Promise<void> {
    const group = this.#waiting;
    this.#waiting = [];
    const data = Buffer.concat(group.map((append) => append.data));
    let kept = false;
    try {
      this.#active ??= await this.#create(group[0]!.since);
      const { handle, bytes } = this.#active;
      // A disk that becomes full writes a part first, and reports the error for the rest.
      for (let written = 0; written < data.length; )
        written += (await handle.write(data, written, data.length - written, bytes + written)).bytesWritten;
      await handle.datasync();
      kept = true;
      this.#active.bytes += data.length;
      this.#bytes += data.length;
      this.#waitingBytes -= data.length;
      if (this.#trouble !== null) this.#logger.info('the spool can be written again');
      this.#trouble = null;
      if (this.#active.bytes >= SEGMENT_BYTES) await this.#seal();
    } catch (error) {
      if (this.#trouble === null) this.#logger.error({ err: error }, 'the spool cannot be written');
      this.#trouble = `the spool cannot be written: ${(error as Error).message}`;
      // After a failed fsync the contents after the last complete entry are unknown, so a new segment is started.
      if (!kept) {
        await this.#seal().catch(() => {});
        this.#waitingBytes -= data.length;
      }
    }
    for (const { done } of group) done(kept);
    this.#collect(data.length);
  }

  #collect(moved: number): void {
    this.#moved += moved;
    if (this.#moved < COLLECT_BYTES) return;
    this.#moved = 0;
    collectGarbage();
  }

  async #create(since: number) {
    const file = `${String(this.#next++).padStart(12, '0')}.spool`;
    const handle = await open(join(this.#directory, file), 'wx', 0o600);
    try {
      await this.#syncDirectory();
    } catch (error) {
      await handle.close();
      await unlink(join(this.#directory, file)).catch(() => {});
      throw error;
    }
    return { handle, file, bytes: 0, since };
  }

  /** Closes the active segment. */
  async #seal(): Promise<void> {
    const active = this.#active;
    if (active === null) return;
    this.#active = null;
    const { handle, file, bytes, since } = active;
    if (bytes > 0) this.#sealed.push({ file, number: numberOf(file), bytes, since });
    try {
      await handle.truncate(bytes);
    } finally {
      await handle.close();
    }
    if (bytes > 0) return;
    await unlink(join(this.#directory, file));
    // It can contain complete messages that were not kept. Like a removed segment, it must not reappear.
    await this.#syncDirectory();
  }

  async #syncDirectory(): Promise<void> {
    const directory = await open(this.#directory, 'r');
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  }

  #recoverSegment(file: string): readonly SpoolEntry[] {
    const number = numberOf(file);
    this.#next = number + 1;
    const path = join(this.#directory, file);
    const data = readFileSync(path);
    const { sound, damaged } = splitEntries(data);
    const bytes = sound.reduce((sum, run) => sum + run.length, 0);
    if (damaged.length > 0) {
      this.#damaged(file, damaged);
      // A torn tail needs no space, which the disk may not have.
      if (bytes === soundBytes(data)) truncateSync(path, bytes);
      else replaceFile(path, Buffer.concat(sound));
    }
    const entries = sound.flatMap((run) => [...eachEntry(run)]);
    // A segment without a complete entry is removed in its turn. It may contain nothing that was acknowledged.
    this.#sealed.push({ file, number, bytes, since: entries[0]?.received ?? now() });
    this.#bytes += bytes;
    return entries;
  }

  #damaged(file: string, parts: readonly Buffer[]): void {
    const kept = `${file}.damaged`;
    const bytes = Buffer.concat(parts);
    writeFileSync(join(this.#directory, kept), bytes, { mode: 0o600 });
    this.#logger.error(
      { file: kept, bytes: bytes.length },
      'a part of a spool segment cannot be read: it was torn by a power loss or damaged; its bytes are kept in this file, and the other messages are used',
    );
  }
}

function numberOf(file: string): number {
  return Number.parseInt(file, 10);
}

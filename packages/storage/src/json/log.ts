import { randomInt } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { StoreError } from '../errors.ts';
import { generationPath, isMissing, newestGeneration, publish, removeFile, syncFolder } from './files.ts';
import { withoutChecksum } from './line-checksum.ts';
import { Mutex } from './mutex.ts';
import { MAX_FILE, MAX_LINE, offsetOf, type Place, readLines } from './places.ts';
import type { SkippedLines } from './skipped-lines.ts';

/** The owner of the lines, which builds an index of them. */
export interface LogOwner {
  /** All lines so far are invalid: another file starts. */
  reset(): void;
  /**
   * The next complete line without its checksum, with its length in bytes in the file. Returns false if the line is invalid
   * and must be skipped.
   */
  line(text: string, offset: number, length: number): boolean;
  /** Lines with checksums and newlines that contain the whole present state. Only `compact` calls it. */
  live(): AsyncIterable<string>;
}

/** The position up to which a caller needs the file to be durable. */
export interface Mark {
  readonly handle: FileHandle | null;
  readonly end: number;
  /** The number of failed fdatasyncs at that time. */
  readonly failures: number;
}

/** The position of appended lines. */
export interface Landing {
  readonly offset: number;
  /** End of the lines that were known before. */
  readonly since: number;
  /** Whether lines of other processes are in between. The owner has received them. */
  readonly raced: boolean;
}

const SEALS = ['compacted', 'dropped'] as const;
type Seal = (typeof SEALS)[number];

const CHUNK = 256 * 1024;
const SEAL = '{"sealed":';
// Longest wait for the compaction of another process. Then this process does the same work.
const COMPACTION_PATIENCE_MS = 1000;
const COMPACTION_POLL_MS = 10;
const SPARE_BYTES = 16 * 1024 * 1024;

/**
 * An append-only file of lines, which several processes read and append to at the same time. There is no lock: the
 * order in the file decides. Each batch is one write() with O_APPEND, so its lines stay together. A process reads
 * the lines of other processes before its own, so it can determine which of its lines count.
 *
 * Each batch begins with a newline, so that the incomplete line of a crashed writer never joins the next line, and
 * with a unique line of blanks, so that a process never mistakes an equal batch of another for its own. The last
 * valid line of a file that is replaced is a seal. Lines after it do not count: their writer finds the seal before
 * its own lines, and writes them again into the next generation of the file. The first process that needs the next
 * generation creates it from the lines before the seal.
 *
 * A line whose checksum does not match is skipped, and logged. So a damaged line is never read as another value.
 *
 * Call `refresh`, `append`, `compact`, `drop`, `lines` and `soundLines` inside `exclusive` only.
 */
export class Log {
  readonly #folder: string;
  readonly #name: string;
  readonly #owner: LogOwner;
  readonly #skipped: SkippedLines;
  readonly #mutex = new Mutex();
  readonly #signature = signature();
  #handle: FileHandle | null = null;
  #generation = 0;
  #inode = 0;
  #countsLinks = false;
  #seal: Seal | null = null;
  /** Bytes that the owner has received. At most the beginning of a line follows. */
  #read = 0;
  /** Size up to which the file was read. */
  #seen = 0;
  #synced = 0;
  #failures = 0;
  #folderSynced = false;
  #syncing: Promise<void> | null = null;
  #waiting = 0;
  #doubted: { from: number; to: number } | null = null;

  constructor(folder: string, name: string, owner: LogOwner, skipped: SkippedLines) {
    this.#folder = folder;
    this.#name = name;
    this.#owner = owner;
    this.#skipped = skipped;
  }

  get busy(): boolean {
    return this.#mutex.busy || this.#waiting > 0;
  }

  get exists(): boolean {
    return this.#handle !== null && this.#seal !== 'dropped';
  }

  /** Bytes read so far. */
  get size(): number {
    return this.#read;
  }

  /** Identifies the state that was read, as `fingerprintOf` does for the file. */
  get fingerprint(): string {
    return `${this.#inode}:${this.#read}`;
  }

  get mark(): Mark {
    return { handle: this.#handle, end: this.#read, failures: this.#failures };
  }

  exclusive<T>(call: () => Promise<T>): Promise<T> {
    return this.#mutex.run(call);
  }

  /** Passes new lines to the owner. With `create`, creates the file if there is none. */
  async refresh(create: boolean): Promise<void> {
    for (;;) {
      if (this.#handle === null && !(await this.#open(create))) return;
      const there = await this.#tail();
      if (this.#seal !== null) {
        if (!(await this.#moveOn(create))) return;
      } else if (there) return;
      else await this.#release();
    }
  }

  /**
   * Appends complete lines in one write. The owner does not get them by `line`. Returns null if the file was
   * sealed or deleted first: then refresh and append again. Call it directly after `refresh`, when the file exists.
   */
  async append(lines: string): Promise<Landing | null> {
    if (this.#seal !== null) return null;
    const handle = this.#handle!;
    const since = this.#read;
    const bytes = Buffer.from(this.#signature + lines);
    if (since + bytes.length > MAX_FILE) {
      throw new StoreError('UNAVAILABLE', `${this.#path()} has its largest size, ${MAX_FILE} bytes`);
    }
    const { bytesWritten } = await handle.write(bytes);
    if (bytesWritten < bytes.length) {
      // Write one more byte to get the error with the cause.
      await handle.write('\n');
      throw new StoreError('UNAVAILABLE', `${this.#path()}: took ${bytesWritten} of ${bytes.length} bytes`);
    }
    const { size, nlink } = await handle.stat();
    const raced = size !== since + bytes.length;
    let sealedBehind = false;
    if (raced) {
      const between = Buffer.allocUnsafe(size - since);
      await this.#fill(handle, between, since);
      const start = between.indexOf(bytes);
      if (start === -1) throw cutWhileInUse(this.#path());
      // This includes an incomplete line, which our newline has just ended.
      this.#consume(between.subarray(0, start + 1));
      if (this.#seal !== null) return null;
      this.#read = since + start;
      sealedBehind = between.includes(SEAL, start + bytes.length);
    }
    if (!sealedBehind && this.#wasRemoved(nlink)) {
      await this.#release();
      return null;
    }
    const offset = this.#read + this.#signature.length;
    this.#read += bytes.length;
    return { offset, since, raced };
  }

  /** Resolves when everything up to the mark is on the disk. Waiting callers share one fdatasync. */
  async durable(mark: Mark): Promise<void> {
    this.#waiting += 1;
    try {
      // If the file was replaced in the meantime, its successor is already durable.
      while (mark.handle !== null && mark.handle === this.#handle && this.#synced < mark.end) {
        if (mark.failures !== this.#failures) throw this.#unsynced();
        this.#syncing ??= this.#sync().finally(() => {
          this.#syncing = null;
        });
        await this.#syncing;
      }
    } finally {
      this.#waiting -= 1;
    }
  }

  /** True if an fdatasync failed: the data may be in memory only, so it must be written again. */
  isDoubtful(offset: number): boolean {
    return this.#doubted !== null && offset >= this.#doubted.from && offset < this.#doubted.to;
  }

  /**
   * The lines at these places without their checksums.
   *
   * @throws {StoreError} UNAVAILABLE when one was damaged since it was first read. The next process skips it
   */
  async lines(places: readonly Place[]): Promise<string[]> {
    const lines = await this.soundLines(places);
    return lines.map((line, index) => {
      if (line !== null) return line;
      const where = `${this.#path()} at byte ${offsetOf(places[index]!)}`;
      throw new StoreError('UNAVAILABLE', `${where}: the line was damaged while the file was in use`, {
        hint: 'check the disk, and restart this process',
      });
    });
  }

  /** As `lines`, with null for a damaged one. */
  async soundLines(places: readonly Place[]): Promise<(string | null)[]> {
    if (places.length === 0) return [];
    return (await readLines(this.#handle!, places)).map(withoutChecksum);
  }

  /** Starts a new generation with only the present state. Does nothing if that could fill the disk. */
  async compact(): Promise<void> {
    if (!(await hasRoom(this.#folder, this.#read))) return;
    if (await this.#sealAs('compacted')) await this.#publishNext();
    await this.refresh(true);
  }

  /**
   * Deletes the file. Returns what `count` returns at that moment, or null if there was no file. It never creates
   * the next generation of a file that another process has dropped: that one would remain, empty.
   */
  async drop<T>(count: () => T): Promise<T | null> {
    for (;;) {
      await this.refresh(false);
      if (!this.exists) return null;
      // Another process has started to compact the file: the next generation must be dropped.
      if (this.#seal !== null) await this.#moveOn(true);
      else {
        const result = await this.#sealAs('dropped', count);
        if (result === null) continue;
        await removeFile(this.#path());
        await syncFolder(this.#folder);
        return result;
      }
    }
  }

  async close(): Promise<void> {
    await this.#mutex.run(() => this.#release());
  }

  async #sealAs<T = true>(seal: Seal, before: () => T = () => true as T): Promise<T | null> {
    const landing = await this.append(`${lineOf(seal)}\n`);
    if (landing === null) return null;
    const result = before();
    await this.durable(this.mark);
    this.#sealed(seal);
    return result;
  }

  #sealed(seal: Seal): void {
    this.#seal = seal;
    if (seal === 'dropped') this.#owner.reset();
  }

  /** Called after a seal. Returns true if there is another file to read. */
  async #moveOn(create: boolean): Promise<boolean> {
    const newest = await newestGeneration(this.#folder, this.#name);
    if (newest !== null && newest.inode !== this.#inode) {
      await this.#release();
      return true;
    }
    if (!create) return false;
    if (this.#seal === 'dropped') {
      const next = this.#generation + 1;
      await this.#release();
      return this.#open(true, next);
    }
    const deadline = performance.now() + COMPACTION_PATIENCE_MS;
    while (performance.now() < deadline) {
      await pause(COMPACTION_POLL_MS);
      const published = await newestGeneration(this.#folder, this.#name);
      if (published !== null && published.inode !== this.#inode) return true;
    }
    await this.#publishNext();
    return true;
  }

  async #publishNext(): Promise<void> {
    const next = generationPath(this.#folder, this.#name, this.#generation + 1);
    await publish(this.#folder, next, this.#owner.live());
    await removeFile(this.#path());
  }

  async #open(create: boolean, least = 1): Promise<boolean> {
    for (;;) {
      const newest = (await newestGeneration(this.#folder, this.#name))?.number ?? 0;
      if (newest === 0 && !create) return false;
      const generation = Math.max(newest, least);
      const flags = constants.O_RDWR | constants.O_APPEND | (create ? constants.O_CREAT : 0);
      const path = generationPath(this.#folder, this.#name, generation);
      const handle = await open(path, flags, 0o644).catch((error) => {
        if (isMissing(error)) return null;
        throw error;
      });
      if (handle === null) continue;
      const { ino, size, nlink } = await handle.stat();
      // A process that creates the first generation late must not write to it if a second one exists.
      const superseded =
        size === 0 && ((await newestGeneration(this.#folder, this.#name))?.number ?? 0) > generation;
      if (superseded) {
        await handle.close();
        continue;
      }
      this.#handle = handle;
      this.#generation = generation;
      this.#inode = ino;
      this.#countsLinks = nlink > 0;
      if (generation > 1) await removeFile(generationPath(this.#folder, this.#name, generation - 1));
      return true;
    }
  }

  /** Reads new lines. Returns false if the file is no longer in its folder. */
  async #tail(): Promise<boolean> {
    const handle = this.#handle!;
    const { size, nlink } = await handle.stat();
    if (size < this.#read) this.#startOver();
    if (size !== this.#seen) await this.#readTo(handle, size);
    return !this.#wasRemoved(nlink);
  }

  async #readTo(handle: FileHandle, size: number): Promise<void> {
    let buffer = Buffer.allocUnsafe(Math.min(CHUNK, size - this.#read));
    while (this.#read < size && this.#seal === null) {
      const chunk = buffer.subarray(0, Math.min(buffer.length, size - this.#read));
      await this.#fill(handle, chunk, this.#read);
      const consumed = this.#consume(chunk);
      this.#read += consumed;
      if (consumed > 0) continue;
      if (this.#read + chunk.length === size) break;
      if (chunk.length >= MAX_LINE) {
        this.#skipped.add(this.#path(), this.#read, chunk.length);
        this.#read += chunk.length;
      }
      buffer = Buffer.allocUnsafe(Math.min(MAX_LINE, buffer.length * 2));
    }
    this.#seen = size;
  }

  /** Passes the complete lines at `#read` to the owner. Returns their length in bytes. */
  #consume(chunk: Buffer): number {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      const length = end - start;
      const text = length === 0 ? '' : chunk.toString('utf8', start, end);
      if (!isBlank(text)) {
        const seal = sealOf(text);
        if (seal !== null) {
          this.#sealed(seal);
          return end + 1;
        }
        const offset = this.#read + start;
        const line = withoutChecksum(text);
        if (line === null || !this.#owner.line(line, offset, length))
          this.#skipped.add(this.#path(), offset, length);
      }
      start = end + 1;
    }
    return start;
  }

  async #sync(): Promise<void> {
    const handle = this.#handle!;
    const target = this.#read;
    try {
      await handle.datasync();
      if (!this.#folderSynced) await syncFolder(this.#folder);
    } catch (error) {
      if (handle !== this.#handle) return;
      // The kernel reports a lost page once; a second fdatasync would succeed without it.
      const from = Math.min(this.#synced, this.#doubted?.from ?? Number.POSITIVE_INFINITY);
      this.#doubted = { from, to: Math.max(target, this.#doubted?.to ?? 0) };
      this.#failures += 1;
      throw error;
    }
    if (handle !== this.#handle) return;
    this.#folderSynced = true;
    this.#synced = Math.max(this.#synced, target);
  }

  async #fill(handle: FileHandle, buffer: Buffer, position: number): Promise<void> {
    for (let filled = 0; filled < buffer.length; ) {
      const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, position + filled);
      if (bytesRead === 0) throw cutWhileInUse(this.#path());
      filled += bytesRead;
    }
  }

  /** True if another program has deleted the file: appended lines would be lost. */
  #wasRemoved(links: number): boolean {
    return this.#countsLinks && links === 0 && this.#seal === null;
  }

  #unsynced(): StoreError {
    return new StoreError('UNAVAILABLE', `${this.#path()}: fdatasync failed, its outcome is unknown`);
  }

  #startOver(): void {
    this.#owner.reset();
    this.#read = 0;
    this.#seen = 0;
    this.#synced = 0;
    this.#seal = null;
    this.#doubted = null;
  }

  async #release(): Promise<void> {
    const handle = this.#handle;
    this.#handle = null;
    this.#folderSynced = false;
    this.#startOver();
    await handle?.close();
  }

  #path(): string {
    return generationPath(this.#folder, this.#name, this.#generation);
  }
}

/**
 * Seals a file from outside, so that the next process that uses it writes the next generation: without lines that do not
 * count, such as damaged ones. Resolves to false, without a seal, if that could fill the disk.
 */
export async function sealForCompaction(path: string): Promise<boolean> {
  try {
    const handle = await open(path, constants.O_WRONLY | constants.O_APPEND);
    try {
      if (!(await hasRoom(dirname(path), (await handle.stat()).size))) return false;
      await handle.write(`\n${lineOf('compacted')}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    // The next generation is there already.
    if (!isMissing(error)) throw error;
  }
  return true;
}

async function hasRoom(folder: string, bytes: number): Promise<boolean> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize >= bytes + SPARE_BYTES;
}

/** A newline and a line of 16 blanks, which are different for every open log. */
function signature(): string {
  const bits = randomInt(2 ** 16)
    .toString(2)
    .padStart(16, '0');
  return `\n${bits.replaceAll('0', ' ').replaceAll('1', '\t')}\n`;
}

function isBlank(text: string): boolean {
  const first = text.charCodeAt(0);
  return text === '' || ((first === 32 || first === 9) && text.trim() === '');
}

function lineOf(seal: Seal): string {
  return `${SEAL}"${seal}"}`;
}

function sealOf(text: string): Seal | null {
  if (!text.startsWith(SEAL)) return null;
  return SEALS.find((seal) => lineOf(seal) === text) ?? null;
}

function cutWhileInUse(path: string): StoreError {
  return new StoreError('UNAVAILABLE', `${path} was truncated while it was in use`);
}

import { randomInt } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, statfs } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { StoreError } from '../errors.ts';
import { generationPath, isMissing, newestGeneration, publish, removeFile, syncFolder } from './files.ts';
import { Mutex } from './mutex.ts';
import { MAX_FILE, MAX_LINE, type Place, readLines } from './places.ts';
import type { SkippedLines } from './skipped-lines.ts';

/** Whose lines they are: builds its index of them. */
export interface LogOwner {
  /** Everything read so far is void; another file starts. */
  reset(): void;
  /** The next whole line; `length` in bytes. False when it makes no sense and is to be skipped. */
  line(text: string, offset: number, length: number): boolean;
  /** Lines, each with its newline, that say all that is true now; asked for by `compact` only. */
  live(): AsyncIterable<string>;
}

/** Up to where a caller wants its file durable. */
export interface Mark {
  readonly handle: FileHandle | null;
  readonly end: number;
  /** How many fdatasyncs had failed by then. */
  readonly failures: number;
}

/** Where appended lines came to stand. */
export interface Landing {
  readonly offset: number;
  /** End of what was known before. */
  readonly since: number;
  /** Lines of other processes stand between the two and were handed to the owner. */
  readonly raced: boolean;
}

type Seal = 'compacted' | 'dropped';

const CHUNK = 256 * 1024;
const SEAL = '{"sealed":';
// How long another process may take to finish a compaction before this one does the same work itself.
const COMPACTION_PATIENCE_MS = 1000;
const COMPACTION_POLL_MS = 10;
const SPARE_BYTES = 16 * 1024 * 1024;

/**
 * An append-only file of lines that several processes read and append to at once. There is no lock: the
 * order in the file decides. Each batch is one write() to O_APPEND, so the kernel puts it in one place;
 * a process reads what others have put before its own lines and so knows what its lines meant there.
 *
 * It starts each batch with a newline, so that what a crashed writer left behind never joins the next line,
 * and a line of blanks that is its own, so that it never takes an equal batch of another for its own.
 * The last line of a file that goes out of use is a seal. Lines behind it do not count, and their writer,
 * who sees the seal before its own lines, writes them again into the next generation of the file, which
 * whoever needs it first makes from what stands before the seal.
 *
 * `refresh`, `append`, `compact`, `drop` and `lines` are called inside `exclusive`.
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
  /** Bytes handed to the owner; behind it stands at most the beginning of a line. */
  #read = 0;
  /** Size up to which there is nothing more to read. */
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

  /** Names the state that was read, as `fingerprintOf` does of the file. */
  get fingerprint(): string {
    return `${this.#inode}:${this.#read}`;
  }

  get mark(): Mark {
    return { handle: this.#handle, end: this.#read, failures: this.#failures };
  }

  exclusive<T>(call: () => Promise<T>): Promise<T> {
    return this.#mutex.run(call);
  }

  /** Brings the owner up to date with the file; `create` makes one where there is none to append to. */
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
   * Appends whole lines in one write; the owner does not get them as `line`. Null when the file was sealed
   * first, or removed by hand: refresh and append again. Directly after `refresh(true)`.
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
      // One byte more, for the error that says why.
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
      // Also the rest of a line that was cut short: our newline has just ended it.
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

  /** Resolves when everything up to the mark is on the disk; waiting callers share one fdatasync. */
  async durable(mark: Mark): Promise<void> {
    this.#waiting += 1;
    try {
      // A file that was replaced meanwhile was made durable as a whole by its successor.
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

  /** True where an fdatasync failed: what stands there may be in memory only and is to be written again. */
  isDoubtful(offset: number): boolean {
    return this.#doubted !== null && offset >= this.#doubted.from && offset < this.#doubted.to;
  }

  lines(places: readonly Place[]): Promise<string[]> {
    return places.length === 0 ? Promise.resolve([]) : readLines(this.#handle!, places);
  }

  /** Starts a new generation that holds only what is true now; not when that might fill the disk. */
  async compact(): Promise<void> {
    const { bavail, bsize } = await statfs(this.#folder);
    if (bavail * bsize < this.#read + SPARE_BYTES) return;
    if (await this.#sealAs('compacted')) await this.#publishNext();
    await this.refresh(true);
  }

  /** Removes the file; `count` is asked for what it holds at that moment. Null when there was none. */
  async drop<T>(count: () => T): Promise<T | null> {
    await this.refresh(false);
    if (!this.exists) return null;
    await this.refresh(true);
    const result = await this.#sealAs('dropped', count);
    if (result !== null) {
      await removeFile(this.#path());
      await syncFolder(this.#folder);
    }
    return result;
  }

  async close(): Promise<void> {
    await this.#mutex.run(() => this.#release());
  }

  async #sealAs<T = true>(seal: Seal, before: () => T = () => true as T): Promise<T | null> {
    const landing = await this.append(`${SEAL}"${seal}"}\n`);
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

  /** Behind a seal: true when there is another file to read now. */
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
      // A process that is slow to make the first generation must not write into it once there is a second.
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

  /** Reads what is new; false when the file is in its folder no more. */
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

  /** Hands the whole lines of what stands at `#read` to the owner; how many bytes they take. */
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
        if (!this.#owner.line(text, offset, length)) this.#skipped.add(this.#path(), offset, length);
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

  /** True when somebody has removed the file by hand: what is appended to it would be lost. */
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

/** A newline and a line of 16 blanks, different for every log that is opened. */
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

function sealOf(text: string): Seal | null {
  if (!text.startsWith(SEAL)) return null;
  if (text === `${SEAL}"compacted"}`) return 'compacted';
  return text === `${SEAL}"dropped"}` ? 'dropped' : null;
}

function cutWhileInUse(path: string): StoreError {
  return new StoreError('UNAVAILABLE', `${path} was made shorter while it was in use`);
}

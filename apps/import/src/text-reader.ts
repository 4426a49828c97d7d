import { isUtf8 } from 'node:buffer';
import { closeSync, createReadStream, openSync, type ReadStream, readSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';

const BLOCK_BYTES = 256 * 1024;
/** Bytes without an end of a line, or of a record. */
const MOST_PENDING = 16 * 1024 * 1024;
const NEWLINE = 0x0a;

/** The name and the version of a file, for `ImportSource`. @param options what decides how it is read */
export function fileVersion(path: string, options: unknown): string {
  const { dev, ino, size, mtimeMs } = statSync(path);
  return JSON.stringify([dev, ino, size, mtimeMs, options]);
}

export function fileName(kind: string, path: string): string {
  return `${kind}:${resolve(path)}`;
}

/**
 * Reads a text file of any size in parts of complete lines. A gzip file is unpacked; offsets are those of its content. The
 * caller takes a part of the text, at most all of it, and the rest comes again with more.
 */
export class TextReader {
  readonly #path: string;
  readonly #size: number;
  readonly #isGzip: boolean;
  #file: ReadStream | null = null;
  #blocks: AsyncIterator<Buffer> | null = null;
  #start = 0;
  #pending: Buffer = Buffer.alloc(0);
  /** Complete lines, or at the end of the file all that is left. */
  text = '';
  /** Where `text` begins, bytes of the content. */
  offset: number;
  isLast = false;

  /** @param from the offset to begin at: that of the start of a line */
  constructor(path: string, from = 0) {
    this.#path = path;
    this.#size = statSync(path).size;
    this.#isGzip = isGzip(path);
    this.offset = from;
  }

  /** The part of the file that was read, from 0 to 1. */
  get share(): number {
    const read = this.#start + (this.#file?.bytesRead ?? 0);
    return this.#size === 0 ? 1 : Math.min(1, read / this.#size);
  }

  /**
   * Reads on until there is more text than before. False at the end of the file, when nothing is left.
   *
   * @throws {Error} when the file cannot be read, is no UTF-8, or has no lines
   */
  async more(): Promise<boolean> {
    const before = this.text.length;
    this.#blocks ??= this.#open();
    while (!this.isLast) {
      const { done, value } = await this.#blocks.next();
      if (done === true) this.isLast = true;
      else this.#pending = this.#pending.length === 0 ? value : Buffer.concat([this.#pending, value]);
      const end = this.isLast ? this.#pending.length : this.#pending.lastIndexOf(NEWLINE) + 1;
      if (end > 0) this.text = this.#decode(this.#pending.subarray(0, end));
      if (this.text.length > before) break;
      if (this.#pending.length > MOST_PENDING)
        throw new Error(
          `${this.#path}: there is no end of a line in ${MOST_PENDING} bytes from byte ${this.offset} on`,
        );
    }
    // A byte order mark.
    if (this.offset === 0 && this.text.startsWith('\ufeff')) this.take(1);
    return this.text.length > 0;
  }

  /** Removes the beginning of `text`. @param length characters */
  take(length: number): void {
    const bytes = Buffer.byteLength(this.text.slice(0, length));
    this.#pending = this.#pending.subarray(bytes);
    this.offset += bytes;
    this.text = this.text.slice(length);
  }

  close(): void {
    this.#file?.destroy();
  }

  async *#open(): AsyncGenerator<Buffer> {
    const from = this.offset;
    this.#start = this.#isGzip ? 0 : from;
    this.#file = createReadStream(this.#path, { start: this.#start, highWaterMark: BLOCK_BYTES });
    if (!this.#isGzip) {
      yield* this.#file as AsyncIterable<Buffer>;
      return;
    }
    const content = createGunzip({ chunkSize: BLOCK_BYTES });
    pipeline(this.#file, content, () => {});
    let left = from;
    for await (const block of content as AsyncIterable<Buffer>) {
      const skipped = Math.min(left, block.length);
      left -= skipped;
      if (skipped < block.length) yield block.subarray(skipped);
    }
  }

  #decode(bytes: Buffer): string {
    if (!isUtf8(bytes)) {
      const last = this.offset + bytes.length;
      throw new Error(
        `${this.#path}: the bytes from ${this.offset} to ${last} are not UTF-8: convert the file, for example with iconv`,
      );
    }
    return bytes.toString();
  }
}

function isGzip(path: string): boolean {
  const start = Buffer.alloc(2);
  const file = openSync(path, 'r');
  try {
    readSync(file, start, 0, 2, 0);
  } finally {
    closeSync(file);
  }
  return start[0] === 0x1f && start[1] === 0x8b;
}

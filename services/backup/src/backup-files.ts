import { createHash } from 'node:crypto';
import { constants, createReadStream, createWriteStream } from 'node:fs';
import { type FileHandle, lstat, open, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip, type Gzip } from 'node:zlib';
import { ConfigError } from '@tidegauge/service';

/** A file of a backup, in its manifest. */
export interface BackupFile {
  readonly name: string;
  readonly bytes: number;
  /** Of the file as it is, in hexadecimal. */
  readonly sha256: string;
}

/** A file is ended at this size, compressed: file systems of USB sticks have files up to 4 GiB. */
const FILE_BYTES = 2 ** 30;
const TEXT_LENGTH = 64 * 1024;
/** The longest line that is read, UTF-16 code units. A device with all its attributes is shorter. */
const MAX_LINE_LENGTH = 1024 * 1024;

/** Windows has neither: there, a name of a backup is never a pipe. */
const OPEN_PART = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Opens a file of a backup for reading. It must be a regular file: a pipe or a device might never end, and a link can lead
 * to one.
 *
 * @throws {ConfigError} with its name
 */
export async function openPart(path: string): Promise<FileHandle> {
  try {
    // Opening a device can already change it.
    if ((await lstat(path)).isFile()) {
      const handle = await open(path, OPEN_PART);
      if ((await handle.stat()).isFile()) return handle;
      await handle.close();
    }
  } catch (error) {
    throw unreadable(path, error);
  }
  throw new ConfigError([`${path} is not a regular file: use another backup`]);
}

/** The bytes of an open file of a backup. It is closed at the end. */
export async function* bytesOf(
  handle: FileHandle,
  path: string,
  signal?: AbortSignal,
): AsyncGenerator<Buffer> {
  try {
    yield* handle.createReadStream({ signal }) as AsyncIterable<Buffer>;
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** Copies a file of a backup to a new file, which only its owner can read. */
export async function copyPart(path: string, to: string): Promise<void> {
  const bytes = bytesOf(await openPart(path), path);
  await pipeline(bytes, createWriteStream(to, { flags: 'wx', mode: 0o600 }));
}

/** Names the file, which errors of a read do not. */
export function unreadable(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ConfigError || error.name === 'AbortError') return error;
  const { code = '' } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return new ConfigError([`${path} is missing: use another backup`]);
  if (code.startsWith('Z_'))
    return new ConfigError([`${path} is damaged: ${error.message}: use another backup`]);
  return new ConfigError([`${path} cannot be read: ${error.message}`]);
}

/** Writes lines of text to compressed files `name-1.ndjson.gz`, `name-2.ndjson.gz` and so on. */
export class LineFiles {
  readonly #folder: string;
  readonly #name: string;
  readonly #fileBytes: number;
  readonly files: BackupFile[] = [];
  #file: CompressedFile | null = null;
  #text = '';

  constructor(folder: string, name: string, fileBytes = FILE_BYTES) {
    this.#folder = folder;
    this.#name = name;
    this.#fileBytes = fileBytes;
  }

  /** Null, or a promise to wait for. @param line with its newline */
  add(line: string): Promise<void> | null {
    this.#text += line;
    return this.#text.length < TEXT_LENGTH ? null : this.#write();
  }

  /** Makes all files durable. */
  async end(): Promise<readonly BackupFile[]> {
    if (this.#text !== '' || this.files.length === 0) await this.#write();
    await this.#endFile();
    return this.files;
  }

  /** Closes an unfinished file. */
  async abandon(): Promise<void> {
    await this.#file?.abandon();
  }

  async #write(): Promise<void> {
    const text = this.#text;
    this.#text = '';
    this.#file ??= await CompressedFile.create(
      join(this.#folder, `${this.#name}-${this.files.length + 1}.ndjson.gz`),
    );
    await this.#file.write(text);
    if (this.#file.bytes >= this.#fileBytes) await this.#endFile();
  }

  async #endFile(): Promise<void> {
    if (this.#file === null) return;
    this.files.push(await this.#file.end());
    this.#file = null;
  }
}

/** A file that is compressed with gzip, and its digest. */
class CompressedFile {
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #gzip: Gzip = createGzip({ level: 5 });
  readonly #hash = createHash('sha256');
  readonly #written: Promise<void>;
  #failure: unknown = null;
  bytes = 0;

  static async create(path: string): Promise<CompressedFile> {
    return new CompressedFile(path, await open(path, 'wx', 0o600));
  }

  private constructor(path: string, handle: FileHandle) {
    this.#path = path;
    this.#handle = handle;
    this.#written = this.#copy().catch((error: unknown) => {
      this.#failure = error;
      this.#gzip.destroy();
    });
  }

  async #copy(): Promise<void> {
    for await (const part of this.#gzip) {
      const bytes = part as Buffer;
      this.#hash.update(bytes);
      await this.#handle.appendFile(bytes);
      this.bytes += bytes.length;
    }
  }

  async write(text: string): Promise<void> {
    if (this.#failure === null && !this.#gzip.write(text)) {
      await Promise.race([new Promise((resolve) => this.#gzip.once('drain', resolve)), this.#written]);
    }
    if (this.#failure !== null) throw this.#failure;
  }

  async end(): Promise<BackupFile> {
    this.#gzip.end();
    await this.#written;
    try {
      if (this.#failure !== null) throw this.#failure;
      await this.#handle.sync();
    } finally {
      await this.#handle.close();
    }
    return { name: basename(this.#path), bytes: this.bytes, sha256: this.#hash.digest('hex') };
  }

  async abandon(): Promise<void> {
    this.#gzip.destroy();
    await this.#written;
    await this.#handle.close().catch(() => {});
  }
}

/** A line of a file, and where it is, for messages. */
export interface Line {
  readonly text: string;
  readonly file: string;
  /** From 1. */
  readonly number: number;
}

/**
 * The lines of compressed files, in their order. Only a newline ends a line: a text of a
 * reading can have other characters that end lines elsewhere, such as U+2028, which `node:readline` takes for one.
 *
 * @throws {ConfigError} with the name of a file that is not gzip, or has a line that is too long to be of a backup
 */
export async function* linesOf(folder: string, names: readonly string[]): AsyncGenerator<Line> {
  for (const name of names) {
    const file = join(folder, name);
    const input = (await openPart(file)).createReadStream();
    const text = createGunzip().setEncoding('utf8');
    // Errors of the file end the iteration below.
    input.on('error', (error) => text.destroy(error));
    input.pipe(text);
    let rest = '';
    let number = 0;
    try {
      for await (const chunk of text) {
        const lines = (rest + (chunk as string)).split('\n');
        rest = lines.pop()!;
        for (const line of lines) yield { text: line, file, number: ++number };
        if (rest.length > MAX_LINE_LENGTH) throw damagedLine({ file, number: number + 1 }, 'too long');
      }
      if (rest !== '') yield { text: rest, file, number: number + 1 };
    } catch (error) {
      throw unreadable(file, error);
    } finally {
      input.destroy();
    }
  }
}

export function damagedLine({ file, number }: Omit<Line, 'text'>, what: string): ConfigError {
  return new ConfigError([`${file}, line ${number} is ${what}: use another backup`]);
}

/** The entry of a manifest for a file that exists. */
export async function describeFile(path: string): Promise<BackupFile> {
  const hash = createHash('sha256');
  for await (const part of createReadStream(path)) hash.update(part as Buffer);
  return { name: basename(path), bytes: (await stat(path)).size, sha256: hash.digest('hex') };
}

/** Makes a file or the entries of a folder durable. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const SQLITE_FULL = 13;

/** Whether a disk is full, of an error of the file system or of SQLite's `vacuum into`. */
export function isOutOfSpace(error: unknown): boolean {
  const { code, errcode } = error as { readonly code?: unknown; readonly errcode?: unknown };
  return code === 'ENOSPC' || code === 'EDQUOT' || errcode === SQLITE_FULL;
}

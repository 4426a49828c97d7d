import { createHash } from 'node:crypto';
import {
  closeSync,
  createReadStream,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ConfigError, whyFailed } from '@tidegauge/service/program';

/** Ends the name of a file that is not complete. */
export const PART = '.part';

/** Writes a file so that its name never shows a part of it, also after a power failure. An older file is replaced. */
export function writeDurably(path: string, text: string): void {
  const part = `${path}${PART}`;
  const file = openSync(part, 'w', 0o644);
  try {
    writeAll(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(part, path);
  syncDirectory(dirname(path));
}

/** Gives a complete file its name: the file is on disk before its name is. */
export function publish(part: string, path: string): void {
  syncPath(part);
  renameSync(part, path);
  syncDirectory(dirname(path));
}

/** Makes new names in a directory durable. */
export function syncDirectory(directory: string): void {
  syncPath(directory);
}

/** Writes all of a text. The system may write less than it was given, for example when the disk becomes full. */
export function writeAll(file: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
}

/**
 * Reads a text file of a bounded size.
 *
 * @throws {Error} with the size, when the file is larger than `mostBytes`
 */
export function readBounded(path: string, mostBytes: number): string {
  const { size } = statSync(path);
  if (size > mostBytes) throw new Error(`${path} has ${size} bytes: at most ${mostBytes} are read`);
  return readFileSync(path, 'utf8');
}

/**
 * Reads a JSON file of a bounded size.
 *
 * @param advice completes the error: what is wrong with the directory, or how the file is made
 * @throws {ConfigError} when it is missing, too large or not JSON
 */
export function readDocument<T>(path: string, mostBytes: number, advice: string): T {
  try {
    return JSON.parse(readBounded(path, mostBytes)) as T;
  } catch (error) {
    throw new ConfigError([`${path}: it cannot be read: ${whyFailed(error)}: ${advice}`]);
  }
}

/** SHA-256 of a file in hexadecimal digits, or of its first `bytes` bytes. */
export async function sha256OfFile(path: string, bytes?: number): Promise<string> {
  const hash = createHash('sha256');
  if (bytes !== 0)
    await pipeline(createReadStream(path, bytes === undefined ? {} : { end: bytes - 1 }), hash);
  return hash.digest('hex');
}

function syncPath(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Replaces a file in one step: after a power cut it has the old content or the new one. Several processes can do it
 * at the same time.
 */
export function replaceFile(path: string, content: string | Uint8Array): void {
  const draft = `${path}.${process.pid}.new`;
  const file = openSync(draft, 'w', 0o600);
  try {
    writeFileSync(file, content);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
  syncDirectory(dirname(path));
}

/**
 * Creates a directory and those that it is in, which are then durable. The name of one that exists is synced too: a process
 * that was killed can have created it.
 */
export function createDirectory(directory: string): void {
  const path = resolve(directory);
  const first = mkdirSync(path, { recursive: true, mode: 0o700 }) ?? path;
  for (let each = path; each.length >= first.length; each = dirname(each)) syncDirectory(dirname(each));
}

/** Makes names of new and renamed files durable. */
export function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

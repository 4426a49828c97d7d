import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** The files by which a Linux machine describes itself: /proc, /sys, /etc. Absence is a value. */
export interface HostFiles {
  text(path: string): string | null;
  bytes(path: string): Buffer | null;
  /** Names in a directory; null when it is not there. */
  list(path: string): readonly string[] | null;
  /** Where a symbolic link points, as written in it. */
  link(path: string): string | null;
}

/** The real files below `root`: `/`, or in a container the place where the host's root is mounted. */
export function hostFiles(root: string): HostFiles {
  const attempt = <T>(read: (file: string) => T, path: string): T | null => {
    try {
      return read(join(root, path));
    } catch {
      return null;
    }
  };
  return {
    text: (path) => attempt((file) => readFileSync(file, 'utf8'), path),
    bytes: (path) => attempt((file) => readFileSync(file), path),
    list: (path) => attempt((file) => readdirSync(file), path),
    link: (path) => attempt((file) => readlinkSync(file), path),
  };
}

/** The first capture of a pattern in a file, or null. */
export function match(files: HostFiles, path: string, pattern: RegExp): string | null {
  return pattern.exec(files.text(path) ?? '')?.[1] ?? null;
}

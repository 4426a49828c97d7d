import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** Files that describe a Linux machine: /proc, /sys, /etc. A missing file is null. */
export interface HostFiles {
  text(path: string): string | null;
  bytes(path: string): Buffer | null;
  /** The names in a directory; null when it does not exist. */
  list(path: string): readonly string[] | null;
  /** The target of a symbolic link, as written in it. */
  link(path: string): string | null;
}

/** The real files below `root`: `/`, or in a container the mount point of the host's root. */
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

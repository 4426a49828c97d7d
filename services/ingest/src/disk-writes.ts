import { readFileSync } from 'node:fs';

/**
 * Bytes that this process has caused to be written to disks since its start, or null where the kernel does not count
 * them. It includes everything that an embedded store, the spool and the quarantine write. It excludes what a database
 * server writes, and what the file system and the card add. Source: proc_pid_io(5), `write_bytes` without
 * `cancelled_write_bytes`.
 */
export function diskWrites(path = '/proc/self/io'): number | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return null;
  }
  const field = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
  const bytes = field('write_bytes') - field('cancelled_write_bytes');
  return Number.isNaN(bytes) ? null : Math.max(0, bytes);
}

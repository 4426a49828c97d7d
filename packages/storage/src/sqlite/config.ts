import { choice, embeddedPath, integer, type OptionValues, readOptions } from '../options.ts';
import type { StoreUrl } from '../url.ts';

/** Options of `sqlite:path?...`. */
export const SQLITE_OPTIONS = {
  synchronous: choice(
    ['full', 'normal'],
    'full',
    'full: a write resolves when it is on the disk. normal: a power failure can lose the last seconds.',
  ),
  cache: integer(
    1024,
    1_048_576,
    'KiB',
    8192,
    'Page cache. A larger one helps with a thousand or more series.',
  ),
  busy: integer(
    0,
    60_000,
    'ms',
    5000,
    'Longest wait for another process that writes. Then the call fails with OVERLOADED.',
  ),
};

export interface SqliteConfig extends OptionValues<typeof SQLITE_OPTIONS> {
  readonly path: string;
}

export function readConfig(url: StoreUrl): SqliteConfig {
  const path = embeddedPath(url, 'sqlite:./data/tidegauge.db');
  return { path, ...readOptions(url, SQLITE_OPTIONS) };
}

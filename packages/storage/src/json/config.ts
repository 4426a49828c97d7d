import { embeddedPath, integer, readOptions } from '../options.ts';
import type { StoreUrl } from '../url.ts';

/** Options of `json:path?...`. */
export const JSON_OPTIONS = {
  memoryMiB: integer(
    1,
    1_048_576,
    'MiB',
    64,
    'Memory for the indexes of day files, at 12 bytes per reading.',
  ),
};

export interface JsonConfig {
  readonly folder: string;
  /** Most bytes of day indexes in memory. The indexes of days in use stay in memory even above it. */
  readonly memoryBytes: number;
}

/** @throws {StoreError} MISCONFIGURED */
export function readConfig(url: StoreUrl): JsonConfig {
  const { memoryMiB } = readOptions(url, JSON_OPTIONS);
  return { folder: embeddedPath(url, 'json:./data/readings'), memoryBytes: memoryMiB * 1024 * 1024 };
}

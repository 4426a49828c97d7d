import { embeddedPath, integer, readOptions } from '../options.ts';
import type { StoreUrl } from '../url.ts';

export const OPTIONS = {
  memoryMiB: integer(1, 1_048_576, 'MiB', 64, 'memory for the indexes of day files; 12 bytes per reading'),
};

export interface JsonConfig {
  readonly folder: string;
  /** Bytes of day indexes kept; the days in use at the moment stay whatever they take. */
  readonly memoryBytes: number;
}

/** @throws {StoreError} MISCONFIGURED */
export function readConfig(url: StoreUrl): JsonConfig {
  const { memoryMiB } = readOptions(url, OPTIONS);
  return { folder: embeddedPath(url, 'json:./data/readings'), memoryBytes: memoryMiB * 1024 * 1024 };
}

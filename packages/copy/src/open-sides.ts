import { existsSync } from 'node:fs';
import { ConfigError } from '@tidegauge/service/program';
import { openStore, parseUrl, STORE_SCHEMES, type Store } from '@tidegauge/storage';
import type { Sides } from './compare-device.ts';
import { placeOf } from './copy-record.ts';

/** Stores whose data can be read. */
export const READABLE: readonly string[] = STORE_SCHEMES.filter((scheme) => scheme !== 'null');

/** @throws {ConfigError} when the file or folder of a store on this machine does not exist */
export function demandExisting(url: string): void {
  const { hosts, path, masked } = parseUrl(url);
  if (hosts.length === 0 && path !== '' && !path.startsWith(':') && !existsSync(path))
    throw new ConfigError([`${masked}: there is no ${path}: correct the path`]);
}

/**
 * Opens a store that exists.
 *
 * @throws {ConfigError} when its file does not exist, which would be created otherwise
 */
export async function openExisting(url: string): Promise<Store> {
  demandExisting(url);
  return openStore(url);
}

/** Opens both stores, and closes them after `work`. */
export async function withSides<T>(
  from: string,
  to: string,
  { createTarget }: { readonly createTarget: boolean },
  work: (sides: Sides) => Promise<T>,
): Promise<T> {
  if (placeOf(from) === placeOf(to)) throw new ConfigError(['--from and --to are the same store']);
  const source = await openExisting(from);
  try {
    const target = await (createTarget ? openStore(to) : openExisting(to));
    try {
      return await work({ source, target });
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

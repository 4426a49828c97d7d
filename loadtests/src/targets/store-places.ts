import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { STORE_SERVERS, type StoreServer, type StoreServerOptions } from '@tidegauge/lab/stores';

const EMBEDDED: Readonly<Record<string, (folder: string, place: string) => string>> = {
  sqlite: (folder, place) => `sqlite:${join(folder, `${place}.db`)}`,
  json: (folder, place) => `json:${join(folder, place)}`,
};

/** Stores that are available on this machine without a URL. */
export const STORES: readonly string[] = [...Object.keys(EMBEDDED), ...Object.keys(STORE_SERVERS)];

/**
 * Provides empty stores of one kind: in a temporary folder, or on a server from the lab.
 *
 * @throws {Error} for an unknown name; the message lists the valid names
 */
export async function startStorePlaces(
  name: string,
  options?: StoreServerOptions,
  nodes = 1,
): Promise<StoreServer> {
  const embedded = Object.hasOwn(EMBEDDED, name) ? EMBEDDED[name] : undefined;
  if (embedded !== undefined) {
    const folder = mkdtempSync(join(tmpdir(), `tidegauge-bench-${name}-`));
    return {
      create: async (place) => embedded(folder, place),
      stop: async () => rmSync(folder, { recursive: true }),
    };
  }
  if (!Object.hasOwn(STORE_SERVERS, name)) {
    throw new Error(`there is no store ${name} here: there are ${STORES.join(', ')}`);
  }
  return STORE_SERVERS[name]!.start(nodes, options);
}

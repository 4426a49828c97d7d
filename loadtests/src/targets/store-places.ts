import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { STORE_SERVERS, type StoreServer, type StoreServerOptions } from '@tidegauge/lab/stores';
import { temporaryDirectory } from '@tidegauge/process';
import { checkpointSqlite, sqliteCopies } from './sqlite-copies.ts';

/** Stores in the process of their client, by name. Each gets an empty folder. */
const EMBEDDED: Readonly<
  Record<string, (folder: string) => Pick<StoreServer, 'create' | 'versions' | 'flush' | 'copies'>>
> = {
  sqlite(folder) {
    const fileOf = (place: string): string => join(folder, `${place}.db`);
    return {
      create: async (place) => `sqlite:${fileOf(place)}`,
      versions: async () => ({ sqlite: process.versions.sqlite ?? 'unknown' }),
      async flush() {
        for (const name of readdirSync(folder))
          if (name.endsWith('.db')) checkpointSqlite(join(folder, name));
      },
      copies: sqliteCopies(folder, fileOf),
    };
  },
  json: (folder) => ({
    create: async (place) => `json:${join(folder, place)}`,
    versions: async () => ({}),
    flush: null,
    copies: null,
  }),
};

/** Stores that are available on this machine without a URL. */
export const STORES: readonly string[] = [...Object.keys(EMBEDDED), ...Object.keys(STORE_SERVERS)];

/** Whether a store of this name runs in the process of its client. */
export function isEmbedded(name: string): boolean {
  return Object.hasOwn(EMBEDDED, name);
}

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
  if (isEmbedded(name)) {
    const folder = temporaryDirectory(`bench-${name}`);
    return {
      ...EMBEDDED[name]!(folder.path),
      nodes: [],
      endpoints: [],
      directories: [folder.path],
      stop: async () => folder.remove(),
    };
  }
  if (!Object.hasOwn(STORE_SERVERS, name)) {
    throw new Error(`there is no store ${name} here: there are ${STORES.join(', ')}`);
  }
  return STORE_SERVERS[name]!.start(nodes, options);
}

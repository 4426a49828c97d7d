import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { STORE_SERVERS, type StoreServer, type StoreServerOptions } from '@tidegauge/lab/stores';
import { temporaryDirectory } from '@tidegauge/process';
import { jsonCopies } from './json-copies.ts';
import { checkpointSqlite, sqliteCopies } from './sqlite-copies.ts';

/** Stores in the process of their client, by name. Each gets an empty folder, in one that is removed at the end. */
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
  json(folder) {
    const folderOf = (place: string): string => join(folder, place);
    return {
      create: async (place) => `json:${folderOf(place)}`,
      versions: async () => ({}),
      flush: null,
      copies: jsonCopies(`${folder}-copies`, folderOf),
    };
  },
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
    const root = temporaryDirectory(`bench-${name}`);
    const folder = join(root.path, 'data');
    mkdirSync(folder);
    return {
      ...EMBEDDED[name]!(folder),
      nodes: [],
      endpoints: [],
      directories: [folder],
      stop: async () => root.remove(),
    };
  }
  if (!Object.hasOwn(STORE_SERVERS, name)) {
    throw new Error(`there is no store ${name} here: there are ${STORES.join(', ')}`);
  }
  return STORE_SERVERS[name]!.start(nodes, options);
}

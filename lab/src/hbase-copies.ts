import { HBaseClient } from '@tidegauge/hbase-client';
import type { DatabaseCopies } from './database-copies.ts';

const COPY_MS = 300_000;

/**
 * Copies of tables by HBase's snapshots, which keep the files of a table and copy nothing.
 *
 * @param zookeeperPort on 127.0.0.1
 * @param bytes as in `DatabaseCopies`, when there is a copy
 */
export function hbaseCopies(zookeeperPort: number, bytes: DatabaseCopies['bytes']): DatabaseCopies {
  let hasCopy = false;
  const connected = async (act: (admin: HBaseClient['admin']) => Promise<void>): Promise<void> => {
    const client = new HBaseClient({ zookeeper: `127.0.0.1:${zookeeperPort}`, timeoutMs: COPY_MS });
    try {
      await act(client.admin);
    } finally {
      client.close();
    }
  };
  return {
    save: (copy, place, table) =>
      connected(async (admin) => {
        if ((await admin.snapshots()).includes(copy)) await admin.dropSnapshot(copy);
        hasCopy = true;
        await admin.snapshot(copy, `${place}:${table}`);
      }),
    restore: (copy, place, table) =>
      connected(async (admin) => {
        const name = `${place}:${table}`;
        const isThere = await admin.hasTable(name);
        if (isThere && (await admin.isEnabled(name))) await admin.disableTable(name);
        await admin.restoreSnapshot(copy, name);
        if (isThere) await admin.enableTable(name);
      }),
    bytes: async () => (hasCopy ? bytes() : 0),
  };
}

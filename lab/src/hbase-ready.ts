import { HBaseClient } from '@tidegauge/hbase-client';

const READY_MS = 120_000;

/** Resolves when a put into a temporary table succeeds, and drops the table. */
export async function firstPut(zookeeperPort: number): Promise<void> {
  const client = new HBaseClient({ zookeeper: `127.0.0.1:${zookeeperPort}`, timeoutMs: READY_MS });
  const name = 'lab_ready';
  try {
    await client.admin.createTable(name, { families: { f: {} } });
    await client.table(name).put('r', [{ family: 'f', qualifier: 'q', value: '' }]);
    await client.admin.disableTable(name);
    await client.admin.dropTable(name);
  } finally {
    client.close();
  }
}

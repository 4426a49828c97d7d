import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { startHbaseCluster } from '@tidegauge/lab/hbase-cluster';
import { proveHbase } from './hbase-cluster.ts';

await proveHbase('hbase-3', async () => {
  const cluster = await startHbaseCluster({ regionServers: 3, copies: 2 });
  const [first, second] = [1, 2].map((number) => blocksIn(join(cluster.directory, `blocks-${number}`)));
  assert.ok(first!.length > 0, 'the tables of the system are on HDFS');
  assert.deepEqual(first, second, 'each block is on both data nodes');
  return {
    url: (namespace) => cluster.url(namespace),
    stop: () => cluster.stop(),
    restart: () => cluster.regionServers.at(-1)!.restart(),
  };
});

function blocksIn(folder: string): readonly string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.flatMap((name) => /blk_\d+$/.exec(name) ?? []).toSorted();
}

import { startHbaseCluster } from '@tidegauge/lab/hbase-cluster';
import { proveHbase } from './hbase-cluster.ts';

await proveHbase('hbase-3', async () => {
  const cluster = await startHbaseCluster({ regionServers: 3 });
  return {
    url: (namespace) => cluster.url(namespace),
    stop: () => cluster.stop(),
    restart: () => cluster.regionServers.at(-1)!.restart(),
  };
});

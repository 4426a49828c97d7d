import { startCitus } from '@tidegauge/lab/citus';
import { proveServer } from './prove.ts';

await proveServer('citus', startCitus, (cluster) => ({
  async create() {
    // Databases are deleted with their servers.
    const url = `${cluster.url(await cluster.createDatabase())}?rf=2&shards=4`;
    return { url, cleanup: async () => {} };
  },
  async restart() {
    await cluster.coordinator.kill();
    await cluster.coordinator.restart();
  },
}));

import { startPostgres } from '@tidegauge/lab/postgres';
import { proveServer } from './prove.ts';

await proveServer('postgres', startPostgres, (server) => ({
  async create() {
    // Dropping a database waits for a checkpoint. It is deleted with the server.
    return { url: server.url(await server.createDatabase()), cleanup: async () => {} };
  },
  async restart() {
    await server.kill();
    await server.restart();
  },
}));

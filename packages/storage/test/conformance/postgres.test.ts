import { after } from 'node:test';
import { type Postgres, startPostgres } from '@tidegauge/lab/postgres';
import { isAsked, prove } from './prove.ts';

if (isAsked('postgres')) {
  let server: Promise<Postgres> | undefined;
  after(async () => (await server)?.stop());

  prove({
    name: 'postgres',
    async create() {
      server ??= startPostgres();
      const postgres = await server;
      // Dropping a database waits for a checkpoint; it goes with the server anyway.
      return { url: postgres.url(await postgres.createDatabase()), cleanup: async () => {} };
    },
    async restart() {
      const postgres = await server!;
      await postgres.kill();
      await postgres.restart();
    },
  });
}

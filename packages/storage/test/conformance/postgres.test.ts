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
      const database = await postgres.createDatabase();
      return { url: postgres.url(database), cleanup: () => postgres.dropDatabase(database) };
    },
    async restart() {
      const postgres = await server!;
      await postgres.kill();
      await postgres.restart();
    },
  });
}

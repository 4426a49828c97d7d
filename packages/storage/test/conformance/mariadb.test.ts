import { after } from 'node:test';
import { type Mariadb, startMariadb } from '@tidegauge/lab/mariadb';
import { isAsked, prove } from './prove.ts';

// One server, a database per place. The server is started here and not in a hook, since its hooks would run
// with the suite's own.
const server: Mariadb | null = isAsked('mariadb') ? await startMariadb() : null;
after(() => server?.stop());

let last = 0;

prove({
  name: 'mariadb',
  async create() {
    last += 1;
    const database = `conformance_${last}`;
    await server!.query(`create database ${database}`);
    return {
      url: server!.url(database),
      cleanup: async () => void (await server!.query(`drop database ${database}`)),
    };
  },
  async restart() {
    await server!.kill();
    await server!.restart();
  },
});

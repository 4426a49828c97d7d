import { startMariadb } from '@tidegauge/lab/mariadb';
import { proveServer } from './prove.ts';

let last = 0;

await proveServer('mariadb', startMariadb, (server) => ({
  async create() {
    last += 1;
    const database = `conformance_${last}`;
    await server.query(`create database ${database}`);
    return {
      url: server.url(database),
      cleanup: async () => void (await server.query(`drop database ${database}`)),
    };
  },
  async restart() {
    await server.kill();
    await server.restart();
  },
}));

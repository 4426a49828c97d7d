import { createHash } from 'node:crypto';
import { startInfluxDb } from '@tidegauge/lab/influxdb';
import type { Outsider } from '../../conformance/index.ts';
import { parseUrl } from '../../src/index.ts';
import { proveServer } from './prove.ts';

let places = 0;

/** Where docs/influxdb.md has the record of a key. */
function placeOf(key: string): { readonly part: bigint; readonly time: bigint } {
  const hash = createHash('sha256').update(key).digest();
  const days30 = 30n * 86_400n * 1_000_000_000n;
  return { part: hash.readBigUInt64BE(0) % 1024n, time: hash.readBigUInt64BE(8) % days30 };
}

await proveServer('influxdb', startInfluxDb, (server) => {
  return {
    async create() {
      places += 1;
      const database = `conformance_${process.pid}_${places}`;
      const cleanup = async () => void (await server.query(`drop database "${database}"`));
      return { url: `influxdb://127.0.0.1:${server.port}/${database}`, cleanup };
    },
    async restart() {
      await server.kill();
      await server.restart();
    },
    async outsider({ url }): Promise<Outsider> {
      const database = parseUrl(url).path;
      const { part, time } = placeOf('user1');
      const query = (statement: string) => server.query(statement, database);
      const write = async (line: string): Promise<void> => {
        const answer = await fetch(`${server.url}/write?db=${database}`, { method: 'POST', body: line });
        if (!answer.ok) throw new Error(await answer.text());
      };
      return {
        makeOther: (table) => write(`${table},place=here customer="a customer" 1`),
        makeYcsb: (table) => write(`${table},part=${part} key="user1",field0="external" ${time}`),
        async content(table) {
          const rows = await query(`select * from "${table}"`);
          return rows.length === 0 ? null : JSON.stringify(rows);
        },
        drop: async (table) => void (await query(`drop measurement "${table}"`)),
        tables: async () => (await query('show measurements')).map(([name]) => String(name)),
        close: async () => {},
      };
    },
  };
});

import { after } from 'node:test';
import { type Cassandra, startCassandra } from '@tidegauge/lab/cassandra';
import { isAsked, prove } from './prove.ts';

/** Registers the suite on a cluster of its own, a keyspace per place; `restart` kills its last node. */
export function proveCassandra(name: string, nodes: number, query: string): void {
  if (!isAsked(name)) return;
  let starting: Promise<Cassandra> | undefined;
  let last = 0;
  after(async () => (await starting)?.stop());

  prove({
    name,
    async create() {
      starting ??= startCassandra({ nodes });
      const cluster = await starting;
      last += 1;
      const keyspace = `conformance_${last}`;
      return {
        url: `${cluster.url(keyspace)}${query}`,
        cleanup: () => cluster.query(`drop keyspace if exists ${keyspace}`),
      };
    },
    restart: async () => (await starting!).nodes.at(-1)!.restart(),
  });
}

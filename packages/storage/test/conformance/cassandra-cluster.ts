import { type Cassandra, startCassandra } from '@tidegauge/lab/cassandra';
import { proveServer } from './prove.ts';

/**
 * Registers the suite on a separate cluster, with a keyspace per place. `restart` kills the last node.
 *
 * @param more registers tests that run on the same cluster after the suite
 */
export function proveCassandra(
  name: string,
  nodes: number,
  query: string,
  more?: (cluster: Cassandra) => void,
): Promise<void> {
  let last = 0;
  return proveServer(
    name,
    () => startCassandra({ nodes }),
    (cluster) => ({
      async create() {
        last += 1;
        const keyspace = `conformance_${last}`;
        return {
          url: `${cluster.url(keyspace)}${query}`,
          cleanup: () => cluster.query(`drop keyspace if exists ${keyspace}`),
        };
      },
      restart: () => cluster.nodes.at(-1)!.restart(),
    }),
    more,
  );
}

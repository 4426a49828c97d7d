import { type Cassandra, startCassandra } from '@tidegauge/lab/cassandra';
import { proveServer } from './prove.ts';

/**
 * The suite changes the schema hundreds of times. After each change Cassandra writes its tables of the schema to the
 * disk, because it reads them before its log when it starts. Here that is done only before a node is killed. Several nodes
 * could not agree on a schema then, after one of them was killed.
 */
const LATER = '-Dcassandra.test.flush_local_schema_changes=false';

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
    () => startCassandra({ nodes, jvm: nodes === 1 ? [LATER] : [] }),
    (cluster) => ({
      async create() {
        last += 1;
        const keyspace = `conformance_${last}`;
        return {
          url: `${cluster.url(keyspace)}${query}`,
          cleanup: () => cluster.query(`drop keyspace if exists ${keyspace}`),
        };
      },
      prepareRestart: async () => void (await cluster.nodes.at(-1)!.nodetool('flush', 'system_schema')),
      restart: () => cluster.nodes.at(-1)!.restart(),
    }),
    more,
  );
}

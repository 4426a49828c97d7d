import { proveCassandra } from './cassandra-cluster.ts';
import { describeNodes } from './cassandra-nodes.ts';

await proveCassandra('cassandra-3', 3, '?rf=3&write=QUORUM&read=QUORUM', describeNodes);

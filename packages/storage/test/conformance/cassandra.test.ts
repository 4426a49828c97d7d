import { proveCassandra } from './cassandra-cluster.ts';

await proveCassandra('cassandra', 1, '');

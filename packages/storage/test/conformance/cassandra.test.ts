import { proveCassandra } from './cassandra-cluster.ts';

proveCassandra('cassandra', 1, '');
